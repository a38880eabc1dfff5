"""A corpus arrives whole or not at all; what is there stays; what goes wrong is named."""

import gzip
import os
import sys
from contextlib import nullcontext
from hashlib import sha256

import pytest

from minitransformer import InputError
from minitransformer.data import registry
from minitransformer.data.download import download
from tests.small_corpus import FILES


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(folder):
    """The message of a download that fails."""
    with pytest.raises(InputError) as caught:
        download("small", folder, lambda line: None)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_download(server, tmp_path):
    lines = []
    download("small", tmp_path / "new" / "folder", lines.append)
    assert contents(tmp_path / "new" / "folder") == FILES
    assert lines == [f"{name}: downloaded" for name in FILES] and server.asked == list(FILES)


def test_what_is_there_and_whole_is_kept_and_damage_is_mended(server, tmp_path):
    download("small", tmp_path, lambda line: None)
    (tmp_path / "raw/val.en.gz").write_bytes(FILES["raw/val.en.gz"][:1000])
    (tmp_path / "tok/train.en").unlink()
    (tmp_path / "own.txt").write_text("the user's")
    server.asked.clear()
    lines = []
    download("small", tmp_path, lines.append)
    assert contents(tmp_path) == {**FILES, "own.txt": b"the user's"} and server.asked == ["raw/val.en.gz", "tok/train.en"]
    assert lines == ["raw/train.en.gz: already there", "raw/val.en.gz: downloaded again, it was damaged",
                     "tok/train.en: downloaded"]


def test_whole_files_need_no_server_and_no_right_to_write(server, tmp_path, monkeypatch):
    download("small", tmp_path, lambda line: None)
    server.asked.clear()
    monkeypatch.setattr("tempfile.NamedTemporaryFile", None)
    download("small", tmp_path, lambda line: None)
    assert not server.asked


def test_a_download_that_breaks_off_goes_on_where_it_was(server, tmp_path):
    server.broken.add("raw/val.en.gz")
    message = refused(tmp_path)
    assert f"{tmp_path}/raw/val.en.gz: not downloaded from {server.address}raw/val.en.gz (IncompleteRead" in message
    assert "1 of 3 files are there and whole" in message
    assert contents(tmp_path) == {"raw/train.en.gz": FILES["raw/train.en.gz"]}    # no half file, whatever its name
    server.broken.clear()
    download("small", tmp_path, lambda line: None)
    assert contents(tmp_path) == FILES and server.asked.count("raw/train.en.gz") == 1


def test_offline(server, tmp_path, monkeypatch):
    (tmp_path / "tok").mkdir()
    (tmp_path / "tok/train.en").write_bytes(FILES["tok/train.en"])
    server.shutdown()
    server.server_close()
    message = refused(tmp_path)
    address = server.address + "raw/train.en.gz"
    assert f"{tmp_path}/raw/train.en.gz: not downloaded from {address} (Connection refused)" in message
    assert "1 of 3 files are there and whole" in message
    assert f"fetch https://example.org/all.zip elsewhere, copy all/of/* of it into {tmp_path}, and run this" in message
    (tmp_path / "raw/train.en.gz").write_bytes(b"half")
    assert "train.en.gz: damaged, and not downloaded again" in refused(tmp_path)
    assert (tmp_path / "raw/train.en.gz").read_bytes() == b"half"    # the user's, until there is a better one


def test_the_server_has_no_such_file(server, tmp_path):
    del server.files["tok/train.en"]
    message = refused(tmp_path)
    assert "tok/train.en (the server answered 404 Not Found); 2 of 3 files" in message
    assert not (tmp_path / "tok/train.en").exists()


def test_another_file_than_expected_is_not_kept(server, tmp_path):
    server.files["raw/val.en.gz"] = b"<html>please log in</html>"
    message = refused(tmp_path)
    assert f"what came from {server.address}raw/val.en.gz is not the file expected (its sha256 is another)" in message
    assert "1 of 3 files are there and whole" in message
    assert contents(tmp_path) == {"raw/train.en.gz": FILES["raw/train.en.gz"]}


def test_folders_that_cannot_be_used(server, tmp_path):
    (tmp_path / "file").write_text("")
    assert refused(tmp_path / "file") == f"{tmp_path}/file: a file, expected a folder"
    assert refused(tmp_path / "file" / "in").endswith(": Not a directory")
    assert "File name too long" in refused(tmp_path / ("a" * 300))
    assert "null" in refused(tmp_path / "a\0")
    (tmp_path / "raw/train.en.gz").mkdir(parents=True)
    assert refused(tmp_path) == f"{tmp_path}/raw/train.en.gz: not a file; move it away and run this command again"
    assert not server.asked


def test_a_folder_that_cannot_be_written(server, tmp_path, monkeypatch):
    def deny(*_, **__):
        raise PermissionError(13, "Permission denied", "tmp5x")

    (tmp_path / "raw").mkdir()
    monkeypatch.setattr("tempfile.NamedTemporaryFile", deny)    # a mode of the folder would not stop root
    assert refused(tmp_path) == f"{tmp_path}/raw/train.en.gz: Permission denied; 0 of 3 files are there and whole"
    assert not server.asked


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk(server, tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.core.temporary_file", lambda path: nullcontext("/dev/full"))
    assert "raw/train.en.gz: No space left on device; 0 of 3" in refused(tmp_path)
    assert not contents(tmp_path)


def test_an_unknown_corpus(tmp_path):
    with pytest.raises(InputError, match="unknown corpus 'multi30'; did you mean multi30k?"):
        download("multi30", tmp_path, print)


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match="this needs pooch: pip install pooch"):
        download("multi30k", tmp_path, print)


def test_the_registry_is_well_formed():
    for corpus in registry.CORPORA.values():
        assert {*corpus.train, *corpus.valid} <= corpus.sha256.keys() and corpus.base.endswith("/")
        assert all(len(digits) == 64 and int(digits, 16) for digits in corpus.sha256.values())
        assert len(set(corpus.sha256.values())) == len(corpus.sha256)


def test_the_registry_knows_the_real_files(multi30k):
    """The compressed copies of the tokenised text, and the raw files beside them, are what it names."""
    known = registry.CORPORA["multi30k"].sha256
    found = {f"tok/{path.stem}": gzip.decompress(path.read_bytes()) for path in multi30k.glob("*.gz")}
    found |= {f"raw/{path.name}": path.read_bytes() for path in multi30k.with_name("multi30k").glob("*.gz")}
    assert found
    for name, data in found.items():
        assert sha256(data).hexdigest() == known[name], name
