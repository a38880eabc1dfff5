"""The architectures that can be imported."""

from types import ModuleType

from minitransformer.zoo.pretrained import gpt2, llama

ARCHITECTURES: dict[str, ModuleType] = {"gpt2": gpt2, "llama": llama}
