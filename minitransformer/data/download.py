"""Download a corpus file by file: intact files are kept, so an interrupted download resumes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minitransformer.data.registry import CORPORA
from minitransformer.errors import InputError, choices
from minitransformer.extras import require
from minitransformer.files import no_empty_folders, write_durably
from minitransformer.lookup import Table

# {a model to import: function(folder, report) that downloads it and returns its file}
PRETRAINED = Table("pretrained model", {})


def download(corpus: str, folder: str | Path, report: Callable[[str], Any]) -> None:
    """Download every file of `corpus` into `folder` and check its sha256; `report(text)` is called
    for each file.

    A damaged file stays as it is until a new one is complete. A corpus in one file is then split.
    Raises InputError if the corpus is unknown, the folder is unusable, the library pooch is
    missing, or a file cannot be downloaded or is not the expected one; files downloaded before that
    are kept.
    """
    if corpus not in CORPORA:
        raise InputError(f"unknown corpus '{corpus}'; {choices(corpus, list(CORPORA))}")
    pooch, requests = require("pooch"), require("requests")
    pooch.get_logger().setLevel("WARNING")  # `report` prints the same information
    # an interrupted stream leaves its socket open
    fetch = pooch.HTTPDownloader(timeout=30, stream=False)
    source, folder = CORPORA[corpus], Path(folder)
    if os.path.isfile(folder):
        raise InputError(f"{folder}: a file, expected a folder")
    for name, digits in source.sha256.items():
        path, address = folder / name, source.base + name
        if os.path.isfile(path) and pooch.file_hash(str(path)) == digits:
            report(f"{name}: already there")
            continue
        try:
            with no_empty_folders(path):
                pooch.retrieve(address, digits, path.name, path.parent.absolute(), downloader=fetch)
        except requests.RequestException as error:
            raise InputError(f"{path}: not downloaded from {address} ({_reason(error)})") from None
        except OSError as error:
            raise InputError(f"{path}: {_reason(error)}") from None
        except ValueError:  # raised by pooch if the sha256 differs
            raise InputError(
                f"{path}: the download from {address} is not the expected file (its sha256 differs) and was "
                "not kept; run this command again"
            ) from None
        report(f"{name}: downloaded")
    if source.split:
        (whole,) = source.sha256
        _split(folder / whole, source.split, report)


def _split(
    whole: Path, split: Callable[[bytes], dict[str, bytes]], report: Callable[[str], Any]
) -> None:
    """Split a corpus's single file."""
    for name, data in split(whole.read_bytes()).items():
        path = whole.parent / name
        intact = os.path.isfile(path) and path.read_bytes() == data
        try:
            if not intact:
                write_durably(path, data)
        except OSError as error:
            raise InputError(f"{path}: {_reason(error)}") from None
        report(f"{name}: {'already there' if intact else 'split off'}")


def _reason(error: BaseException) -> str:
    """The root cause of a wrapped error, in a few words."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    while cause := error.__cause__ or error.__context__:
        error = cause
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
