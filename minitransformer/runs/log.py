"""metrics.jsonl, the log of a run: each line is an object of numbers, one of them the step."""

import json
import math
from pathlib import Path
from typing import Any

from minitransformer.errors import InputError
from minitransformer.files import check_regular

FILE = "metrics.jsonl"
SHARES = (
    "exact_match",
    "accuracy",
    "majority",
)  # in percent for a reader, with or without "valid_" in front
CLOCKS = ("seconds", "time")  # in each record: seconds of training so far, and seconds since 1970


def write_log(run_folder, records, mode="a") -> None:
    """Append records, or with mode "w" start a new log with them."""
    path = run_folder / FILE
    if not path.is_char_device():  # /dev/null, for one, keeps no writer waiting
        check_regular(path)
    with path.open(mode, encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def as_text(name, value) -> str:
    """A number of a record or of an evaluation as a reader sees it."""
    if name.removeprefix("valid_") in SHARES:
        return f"{value:.1%}"
    return str(value) if isinstance(value, (str, int)) else f"{value:.4g}"


def parse_log(text) -> list[dict[str, Any]]:
    """The records in the text of a log."""
    return [json.loads(line) for line in text.splitlines()]


def read_metrics(path) -> list[dict[str, Any]]:
    """The records of metrics.jsonl in the run folder `path`. Raises InputError if there is none to
    read.
    """
    path = Path(path) / FILE
    try:
        check_regular(path)
        records = parse_log(path.read_bytes().decode())
        usable = all(
            isinstance(record, dict)
            and "step" in record
            and all(
                isinstance(value, (int, float)) and math.isfinite(value)
                for value in record.values()
            )
            for record in records
        )
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
    if not usable:
        raise InputError(
            f"{path}: not the log of a run; expected an object of finite numbers on each line"
        )
    return records
