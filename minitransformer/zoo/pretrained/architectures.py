"""The architectures that can be imported."""

from types import ModuleType

from minitransformer.errors import InputError
from minitransformer.zoo.pretrained import gpt2, llama

ARCHITECTURES: dict[object, ModuleType] = {"gpt2": gpt2, "llama": llama}


def architecture(name, where) -> ModuleType:
    """The module of an architecture. Raises InputError if it is not known."""
    if name not in list(ARCHITECTURES):
        raise InputError(f"{where}: the architecture is {name!r}, expected {' or '.join(map(repr, ARCHITECTURES))}")
    return ARCHITECTURES[name]
