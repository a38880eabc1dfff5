"""Qwen2 (Yang et al. 2024, https://arxiv.org/abs/2407.10671), and Qwen2.5: a Llama whose queries,
keys and values have biases.
"""

from minitransformer.errors import InputError
from minitransformer.models import LanguageModelConfig
from minitransformer.zoo.pretrained import llama
from minitransformer.zoo.pretrained.checkpoint import Options
from minitransformer.zoo.pretrained.llama import BUFFERS, PREFIX, tensors

__all__ = ["BUFFERS", "PREFIX", "configuration", "tensors"]


def configuration(options: Options) -> LanguageModelConfig:
    options.one_of("use_sliding_window", [False], False)
    options.leave_out("sliding_window", "max_window_layers")  # of the window that is not used
    for kind in options.take("layer_types", []):
        if kind != "full_attention":
            raise InputError(f"config.json: layer_types has {kind!r}, expected full_attention only")
    return llama.configuration(options, biases=True)
