"""metrics.jsonl, the log of a run: each line is an object of numbers, one of them the step."""

import json
import math
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from minitransformer.errors import InputError
from minitransformer.files import check_regular

FILE = "metrics.jsonl"
# in percent for a reader, with or without "valid_" in front
SHARES = ("exact_match", "accuracy", "majority")
CLOCKS = ("seconds", "time")  # in each record: seconds of training so far, and seconds since 1970
Record = dict[str, Any]


class Log:
    """The records of a training run so far."""

    def __init__(self, records: Iterable[Record] = ()):
        self.records = list(records)
        before = self.records[-1].get("seconds", 0) if self.records else 0
        self._began = time.monotonic() - before

    def add(self, step: int, values: Record) -> Record:
        """Add a record, with its CLOCKS."""
        clocks = round(time.monotonic() - self._began, 3), round(time.time(), 3)
        record = {"step": step, **values, **dict(zip(CLOCKS, clocks))}
        self.records.append(record)
        return record

    def to_text(self) -> str:
        return _lines(self.records)


def write_log(run_folder: Path, records: Iterable[Record], mode: str = "a") -> None:
    """Append records, or with mode "w" start a new log with them."""
    path = run_folder / FILE
    if not path.is_char_device():  # /dev/null, for one, keeps no writer waiting
        check_regular(path)
    with path.open(mode, encoding="utf-8") as file:
        file.write(_lines(records))


def _lines(records: Iterable[Record]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def parse_log(text: str) -> list[Record]:
    """The records in the text of a log. Raises ValueError if a line is not a record."""
    records = [json.loads(line) for line in text.splitlines()]
    if not all(map(_is_record, records)):
        raise ValueError("not the log of a run; expected an object of numbers on each line")
    return records


def _is_record(found: object) -> bool:
    return (
        isinstance(found, dict)
        and "step" in found
        and all(isinstance(value, (int, float)) for value in found.values())
    )


def read_metrics(path: str | Path) -> list[Record]:
    """The records of metrics.jsonl in the run folder `path`. Raises InputError if there is none to
    read, or if one is not finite.
    """
    path = Path(path) / FILE
    try:
        check_regular(path)
        records = parse_log(path.read_bytes().decode())
        finite = all(math.isfinite(value) for record in records for value in record.values())
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; give a folder that minitransformer train wrote"
        ) from None
    except InputError:
        raise
    except (ValueError, RecursionError, OverflowError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not records:
        raise InputError(f"{path}: nothing has been logged yet; let it train for a few steps")
    if not finite:
        raise InputError(f"{path}: not the log of a run; expected finite numbers")
    return records


def as_texts(values: Record) -> Iterator[tuple[str, str]]:
    """(name, number) of each, of a record or of an evaluation, as a reader sees them."""
    for name, value in values.items():
        if name.removeprefix("valid_") in SHARES:
            text = f"{value:.1%}"
        else:
            text = str(value) if isinstance(value, (str, int)) else f"{value:.4g}"
        yield name.replace("_", " "), text
