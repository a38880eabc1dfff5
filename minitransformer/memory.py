"""Whether a model can fit into memory, before it is made: a system kills a process that takes more
than is available.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from minitransformer.errors import InputError

FLOAT32 = 4  # bytes
LAYER = 10_000  # the least bytes of Python objects in a layer of a stack
GROUP, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
TO_USE, TO_TRAIN = 2, 4  # arrays of the parameters' size: data and grad; and Adam's m and v
ADDRESSES = 2**47  # bytes that a process can take if the system does not say how many there are
VOCABULARIES = ("vocab_size", "source_vocab", "target_vocab")
SIZES = (
    "d_ff",
    "d_k",
    "d_v",
    "num_heads",
    "d_model",
    "num_layers",
    "max_length",
    "batch",
    "window",
    "vocab_size",
)


def check_fits(sizes: Mapping[str, Any], arrays: int) -> None:
    """Raise InputError if a model of these sizes, and its batch if they contain one, need more than
    the available memory, by an estimate that errs low. The message names the size that is to blame:
    the one without which the least memory would be needed.
    """
    rows = max(sizes.get(name) or 0 for name in VOCABULARIES)  # both sides may share one table
    sizes = {**sizes, "vocab_size": rows}
    needed, available = _needed(sizes, arrays), available_memory() or ADDRESSES
    if needed > available:
        given = [name for name in SIZES if sizes.get(name) is not None]
        blame = min(given, key=lambda name: _needed({**sizes, name: 1}, arrays))
        raise InputError(
            f"{blame} is {sizes[blame]:,}: this needs at least {_gb(needed)} of memory, and "
            f"{_gb(available)} is available; choose a smaller one"
        )


def _needed(sizes: Mapping[str, Any], arrays: int) -> int:
    """Bytes, at least: `arrays` of the size of the parameters, and the hidden states of a batch."""
    width, layers = sizes.get("d_model", 1), sizes.get("num_layers", 1)
    heads = sizes.get("num_heads", 0)
    d_k, d_v = (sizes.get(name) or width // max(heads, 1) for name in ("d_k", "d_v"))
    rows = sizes["vocab_size"]
    if sizes.get("positions") == "learned":
        rows += sizes["max_length"]
    inside = 2 * sizes.get("d_ff", width) + 2 * heads * (d_k + d_v)  # columns of a layer's weights
    parameters = width * (rows + layers * inside)
    states = sizes.get("batch", 0) * sizes.get("window", 1) * layers * (width + d_k * heads)
    return layers * LAYER + FLOAT32 * (arrays * parameters + states)


def available_memory() -> float | None:
    """Bytes that this process can take, given swap and its container's limit; None if the system
    (not Linux) does not say.
    """
    lines = _read_if_there(Path("/proc/meminfo")).splitlines()
    old = _read_if_there(GROUPS / "memory" / "memory.limit_in_bytes").strip()  # control groups 1
    found = [*container_limits("memory.max"), old]
    limits = [int(text) for text in found if text.isdecimal()]  # not "max"
    try:
        kilobytes = {
            name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)
        }
        return min([1024 * (kilobytes["MemAvailable"] + kilobytes["SwapFree"]), *limits])
    except (ValueError, LookupError):
        return None


def _gb(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"


def container_limits(name: str) -> Iterator[str]:
    """What the file `name` of each Linux control group (version 2) that this process is in says.

    A group is bound by the limits of the groups around it, too. A container may name a path of its
    host; then GROUPS is its group.
    """
    for line in _read_if_there(GROUP).splitlines():  # 0::/path
        group = GROUPS / line.rpartition(":")[2].strip("/")
        texts = (_read_if_there(folder / name).strip() for folder in (group, *group.parents))
        yield from filter(None, texts)


def _read_if_there(path: Path) -> str:
    """The text of a file of the system, or ""."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # another system, or a container that hides the file
        return ""
