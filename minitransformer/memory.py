"""Whether a model can fit into memory, before it is made: a system kills a process that takes more
than is available.
"""

from pathlib import Path

from minitransformer.errors import InputError

FLOAT32 = 4  # bytes
LAYER = 10_000  # the least bytes of Python objects in a layer of a stack
CONTAINER = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)  # by cgroups 2 and 1
TO_USE, TO_TRAIN = 2, 4  # arrays of the parameters' size: data and grad; and Adam's m and v


def check_fits(config, arrays) -> None:
    """Raise InputError if a model of this configuration needs more than the available memory, by an
    estimate that errs low.
    """
    sizes = vars(config)
    width, layers = sizes.get("d_model", 1), sizes.get("num_layers", 1)
    rows = max(
        sizes.get(name) or 0 for name in ("vocab_size", "source_vocab", "target_vocab")
    )  # both may share one table
    parameters = width * (rows + 2 * layers * sizes.get("d_ff", width))
    needed, available = layers * LAYER + parameters * FLOAT32 * arrays, available_memory()
    if available is not None and needed > available:
        raise InputError(
            f"num_layers is {layers:,} and d_model is {width:,}: such a model needs at least {_gb(needed)} of memory, "
            f"and {_gb(available)} is available; choose a smaller one"
        )


def available_memory() -> float | None:
    """Bytes that this process can take, given swap and its container's limit; None if the system
    (not Linux) does not say.
    """
    lines = read_if_there(Path("/proc/meminfo")).splitlines()
    limits = [
        int(text) for text in map(read_if_there, CONTAINER) if text.strip().isdecimal()
    ]  # not "max"
    try:
        kilobytes = {
            name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)
        }
        return min([1024 * (kilobytes["MemAvailable"] + kilobytes["SwapFree"]), *limits])
    except (ValueError, LookupError):
        return None


def _gb(size) -> str:
    return f"{size / 1e9:,.1f} GB"


def read_if_there(path) -> str:
    """The text of a file of the system, or ""."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # another system, or a container that hides the file
        return ""
