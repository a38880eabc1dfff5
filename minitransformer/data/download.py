"""Download a corpus file by file: intact files are kept, so an interrupted download resumes."""

import os
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from minitransformer.data.registry import CORPORA
from minitransformer.errors import InputError, choices
from minitransformer.extras import require
from minitransformer.files import write_durably

PRETRAINED: dict[str, Callable] = {}    # {a model to import: function(folder, report) that downloads it and returns its file}
_SPLIT = {"intact": "already there", "missing": "split off", "damaged": "split off again, because it was damaged"}


def download(corpus, folder, report) -> None:
    """Download every file of `corpus` into `folder` and check its sha256; `report(text)` is called for each file.

    A damaged file is downloaded again, and stays as it is until the new one is complete. A corpus in one file is then
    split into files to train, validate and test on. Raises InputError if the corpus is unknown, the folder is
    unusable, the library pooch is missing, or a file cannot be downloaded or is not the expected one; files
    downloaded before that are kept.
    """
    if corpus not in CORPORA:
        raise InputError(f"unknown corpus '{corpus}'; {choices(corpus, list(CORPORA))}")
    pooch, requests = require("pooch"), require("requests")
    pooch.get_logger().setLevel("WARNING")    # `report` prints the same information
    fetch = pooch.HTTPDownloader(timeout=30, stream=False)    # an interrupted stream leaves its socket open
    source, folder = CORPORA[corpus], Path(folder)
    if os.path.isfile(folder):
        raise InputError(f"{folder}: a file, expected a folder")
    states = {name: _state(folder / name, digits) for name, digits in source.sha256.items()}
    for name, state in states.items():
        if state == "intact":
            report(f"{name}: already there")
            continue
        path, address = folder / name, source.base + name
        there = f"{list(states.values()).count('intact')} of {len(states)} files are intact"
        offline = (f"without internet access, download {source.archive} elsewhere, copy its {source.archive_folder}/* into "
                   f"{folder}, and run this command again to check them")
        try:
            pooch.retrieve(address, source.sha256[name], path.name, path.parent.absolute(), downloader=fetch)
        except requests.RequestException as error:
            was = "damaged, and not downloaded again" if state == "damaged" else "not downloaded"
            raise InputError(f"{path}: {was} from {address} ({_reason(error)}); {there}; {offline}") from None
        except OSError as error:
            raise InputError(f"{path}: {_reason(error)}; {there}") from None
        except ValueError:    # raised by pooch if the sha256 differs
            raise InputError(f"{path}: the download from {address} is not the expected file (its sha256 differs) and was "
                             f"not kept; {there}; run this command again, or {offline}") from None
        states[name] = "intact"
        report(f"{name}: downloaded{' again, because it was damaged' if state == 'damaged' else ''}")
    if source.split:
        _split(source, folder, report)


def _split(corpus, folder, report) -> None:
    """Split the corpus's single file into files to train, validate and perhaps test on."""
    for name, data in zip(corpus.parts, corpus.divide((folder / corpus.split).read_bytes()), strict=True):
        state = _state(folder / name, sha256(data).hexdigest())
        try:
            if state != "intact":
                write_durably(folder / name, data)
        except OSError as error:
            raise InputError(f"{folder / name}: {_reason(error)}") from None
        report(f"{name}: {_SPLIT[state]}")


def _state(path, digits) -> str:
    """"missing", "damaged" or "intact"."""
    import pooch

    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
        found = is_file and pooch.file_hash(str(path))    # reading a device may never end
    except FileNotFoundError:
        return "missing"
    except (OSError, ValueError) as error:    # ValueError: a NUL in the name
        raise InputError(f"{path}: {_reason(error)}") from None
    if not is_file:
        raise InputError(f"{path}: not a file; move it away and run this command again")
    return "intact" if found == digits else "damaged"


def _reason(error) -> str:
    """The root cause of a wrapped error, in a few words."""
    if getattr(error, "response", None) is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
