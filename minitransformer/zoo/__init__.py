"""Models around the paper: what it is compared with, and what came after it.

CHOICES are the names that the library's tables find here (lookup.py). What a name stands for is
imported when it is looked up.
"""

_ZOO = "minitransformer.zoo"
CHOICES: dict[
    str, dict[str, str]
] = {  # {kind: {name: "module:attribute", of a command its module}}
    "activation": {
        "geglu": f"{_ZOO}.modern:GatedFeedForward",
        "swiglu": f"{_ZOO}.modern:GatedFeedForward",
    },
    "attention": {
        "additive": f"{_ZOO}.attention.additive:AdditiveKind",
        "grouped": f"{_ZOO}.modern.grouped_attention:GroupedKind",
        "restricted": f"{_ZOO}.attention.restricted:RestrictedKind",
        "unscaled": f"{_ZOO}.attention.unscaled:UnscaledKind",
    },
    "embedding": {"unscaled": f"{_ZOO}.modern:UnscaledEmbedding"},
    "norm": {"rms": f"{_ZOO}.modern:RMSNorm"},
    "positions": {"rotary": f"{_ZOO}.modern:RotaryPositions"},
    "model": {
        "gru": f"{_ZOO}.recurrent.model:GRUModel",
        "lstm": f"{_ZOO}.recurrent.model:LSTMModel",
        "lstm-attention": f"{_ZOO}.recurrent.model:LSTMAttentionModel",
        "rnn": f"{_ZOO}.recurrent.model:RNNModel",
    },
    "kept attention": {
        "GroupedQueryAttention": f"{_ZOO}.modern.grouped_past:CachedGroupedAttention"
    },
    "vocabulary": {"pretrained": f"{_ZOO}.pretrained.vocabulary:PretrainedVocabulary"},
    "pretrained model": {"smollm2": f"{_ZOO}.pretrained.smollm2:fetch_smollm2"},
    "blocks": {"zoo": f"{_ZOO}.checked_blocks:blocks_of_the_zoo"},
    "kernel": {"next_grouped_position": f"{_ZOO}.modern.grouped_past:KERNEL"},
    "command": {"import": f"{_ZOO}.pretrained.command"},
}
