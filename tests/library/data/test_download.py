"""A corpus arrives intact or not at all, existing files stay, and errors are named."""

import gzip
import os
from contextlib import nullcontext
from hashlib import sha256

import pytest

from minitransformer import InputError
from minitransformer.data import registry
from minitransformer.data.download import download
from minitransformer.tasks import TASKS
from tests.helpers.small_corpus import FILES, POEM


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def downloaded(corpus, folder):
    """What a download says."""
    lines = []
    download(corpus, folder, lines.append)
    return lines


def refused(folder, corpus="small"):
    """The message of a download that fails."""
    with pytest.raises(InputError) as caught:
        downloaded(corpus, folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_download(server, tmp_path):
    assert downloaded("small", tmp_path / "new" / "folder") == [
        f"{name}: downloaded" for name in FILES
    ]
    assert contents(tmp_path / "new" / "folder") == FILES and server.asked == list(FILES)


def test_what_is_there_and_intact_is_kept_and_damage_is_mended(server, tmp_path):
    downloaded("small", tmp_path)
    (tmp_path / "raw/val.en.gz").write_bytes(FILES["raw/val.en.gz"][:1000])
    (tmp_path / "tok/train.en").unlink()
    (tmp_path / "own.txt").write_text("the user's")
    server.asked.clear()
    assert downloaded("small", tmp_path) == [
        "raw/train.en.gz: already there",
        "raw/val.en.gz: downloaded",
        "tok/train.en: downloaded",
    ]
    assert contents(tmp_path) == {**FILES, "own.txt": b"the user's"} and server.asked == [
        "raw/val.en.gz",
        "tok/train.en",
    ]


def test_intact_files_need_no_server_and_no_right_to_write(server, tmp_path, monkeypatch):
    downloaded("small", tmp_path)
    server.asked.clear()
    monkeypatch.setattr("tempfile.NamedTemporaryFile", None)
    downloaded("small", tmp_path)
    assert not server.asked


def test_a_download_that_was_broken_off_resumes(server, tmp_path):
    server.broken.add("raw/val.en.gz")
    message = refused(tmp_path)
    assert (
        f"{tmp_path}/raw/val.en.gz: not downloaded from {server.address}raw/val.en.gz (IncompleteRead"
        in message
    )
    assert contents(tmp_path) == {
        "raw/train.en.gz": FILES["raw/train.en.gz"]
    }  # no half file, whatever its name
    server.broken.clear()
    downloaded("small", tmp_path)
    assert contents(tmp_path) == FILES and server.asked.count("raw/train.en.gz") == 1


def test_offline(server, tmp_path, monkeypatch):
    (tmp_path / "tok").mkdir()
    (tmp_path / "tok/train.en").write_bytes(FILES["tok/train.en"])
    server.shutdown()
    server.server_close()
    message = refused(tmp_path)
    address = server.address + "raw/train.en.gz"
    assert (
        f"{tmp_path}/raw/train.en.gz: not downloaded from {address} (Connection refused)" in message
    )
    assert [path.name for path in tmp_path.iterdir()] == ["tok"]  # no empty folder
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/train.en.gz").write_bytes(b"half")
    assert "train.en.gz: not downloaded" in refused(tmp_path)
    assert (
        tmp_path / "raw/train.en.gz"
    ).read_bytes() == b"half"  # the user's, until there is a better one


def test_the_server_has_no_such_file(server, tmp_path):
    del server.files["tok/train.en"]
    message = refused(tmp_path)
    assert "tok/train.en (the server answered 404 Not Found)" in message
    assert not (tmp_path / "tok/train.en").exists()


def test_another_file_than_expected_is_not_kept(server, tmp_path):
    server.files["raw/val.en.gz"] = b"<html>please log in</html>"
    message = refused(tmp_path)
    assert (
        f"the download from {server.address}raw/val.en.gz is not the expected file (its sha256 differs)"
        in message
    )
    assert contents(tmp_path) == {"raw/train.en.gz": FILES["raw/train.en.gz"]}


def test_folders_that_cannot_be_used(server, tmp_path):
    (tmp_path / "file").write_text("")
    assert refused(tmp_path / "file") == f"{tmp_path}/file: a file, expected a folder"
    assert refused(tmp_path / "file" / "in").endswith(": Not a directory")
    assert "File name too long" in refused(tmp_path / ("a" * 300))
    (tmp_path / "raw/train.en.gz").mkdir(parents=True)
    assert "/raw/train.en.gz: " in refused(tmp_path)
    assert not server.asked


def test_a_folder_that_cannot_be_written(server, tmp_path, monkeypatch):
    def deny(*_, **__):
        raise PermissionError(13, "Permission denied", "tmp5x")

    (tmp_path / "raw").mkdir()
    monkeypatch.setattr(
        "tempfile.NamedTemporaryFile", deny
    )  # a mode of the folder would not stop root
    assert refused(tmp_path) == f"{tmp_path}/raw/train.en.gz: Permission denied"
    assert not server.asked


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk(server, tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.core.temporary_file", lambda path: nullcontext("/dev/full"))
    assert "raw/train.en.gz: No space left on device" in refused(tmp_path)
    assert not contents(tmp_path)


def test_a_text_without_a_split_is_split(server, tmp_path):
    assert downloaded("poem", tmp_path) == [
        "poem.txt: downloaded",
        "train.txt: split off",
        "valid.txt: split off",
    ]
    parts = [(tmp_path / name).read_bytes().decode() for name in ("train.txt", "valid.txt")]
    assert (
        "".join(parts) == POEM
        and len(parts[0]) == int(0.9 * len(POEM))
        and len(contents(tmp_path)) == 3
    )
    (tmp_path / "valid.txt").write_text("half")
    (tmp_path / "train.txt").unlink()
    assert downloaded("poem", tmp_path) == [
        "poem.txt: already there",
        "train.txt: split off",
        "valid.txt: split off",
    ]
    assert [(tmp_path / name).read_bytes().decode() for name in ("train.txt", "valid.txt")] == parts
    assert downloaded("poem", tmp_path) == [
        f"{name}: already there" for name in ("poem.txt", "train.txt", "valid.txt")
    ]


def test_a_split_that_cannot_be_written_leaves_what_was_there(server, tmp_path, monkeypatch):
    (tmp_path / "train.txt").write_text("the user's")
    monkeypatch.setattr(
        os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    assert refused(tmp_path, "poem") == f"{tmp_path}/train.txt: No space left on device"
    assert contents(tmp_path) == {"poem.txt": POEM.encode(), "train.txt": b"the user's"}


def test_the_registry_is_well_formed():
    for corpus in registry.CORPORA.values():
        used = {*corpus.train, *corpus.valid}
        assert used == {*corpus.split(b"")} if corpus.split else used <= corpus.sha256.keys()
        assert (
            corpus.task in TASKS
            and corpus.base.endswith("/")
            and (len(corpus.sha256) == 1 or not corpus.split)
        )
        assert all(len(digits) == 64 and int(digits, 16) for digits in corpus.sha256.values())
        assert len(set(corpus.sha256.values())) == len(corpus.sha256)


def real(multi30k, *parts):
    """A path of the real data, beside that of Multi30K."""
    path = multi30k.with_name(parts[0]).joinpath(*parts[1:])
    if not path.exists():
        pytest.skip(f"{path} does not exist: no real data here")
    return path


@pytest.mark.parametrize("corpus", ["multi30k", "tinyshakespeare", "sst2"])
def test_the_registry_knows_the_real_files(corpus, multi30k):
    """Of Multi30K, the compressed copies of the tokenised text are here, and the raw files beside
    them.
    """
    packed = real(multi30k, "multi30k-tok" if corpus == "multi30k" else corpus).glob("*.gz")
    found = {
        f"{'tok/' * (corpus == 'multi30k')}{path.stem}": gzip.decompress(path.read_bytes())
        for path in packed
    }
    if corpus == "multi30k":
        found |= {
            f"raw/{path.name}": path.read_bytes()
            for path in multi30k.with_name("multi30k").glob("*.gz")
        }
    known = registry.CORPORA[corpus].sha256
    assert (
        found
        and {name: sha256(data).hexdigest() for name, data in found.items()}.items()
        <= known.items()
    )
    assert corpus == "multi30k" or found.keys() == known.keys()


def test_tiny_shakespeare_gets_its_usual_split(server, multi30k, tmp_path, monkeypatch):
    """Downloaded from a server on this machine, and read by its task."""
    text = real(multi30k, "tinyshakespeare", "input.txt.gz")
    corpus = registry.CORPORA["tinyshakespeare"]
    server.files["input.txt"] = gzip.decompress(text.read_bytes())
    monkeypatch.setitem(registry.CORPORA, "tinyshakespeare", corpus._replace(base=server.address))
    downloaded("tinyshakespeare", tmp_path)
    task = TASKS["language"](
        train=[str(tmp_path / corpus.train[0])], valid=[str(tmp_path / corpus.valid[0])]
    )
    assert task.make_vocabulary().size == 65 + 3
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {
        "input.txt": 1_115_394,
        "train.txt": 1_003_854,
        "valid.txt": 111_540,
    }
