"""The architectures that can be imported."""

from types import ModuleType

from minitransformer.zoo.pretrained import gpt2, llama, qwen2

ARCHITECTURES: dict[str, ModuleType] = {"gpt2": gpt2, "llama": llama, "qwen2": qwen2}
