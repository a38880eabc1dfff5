"""Models around the paper: what it is compared with, and what came after it.

CHOICES are the names that the library's tables find here (lookup.py). What a name stands for is
imported when it is looked up.
"""

# {kind: {name: "module:attribute", of a command its module}}
CHOICES: dict[str, dict[str, str]] = {
    "activation": {
        "geglu": "zoo.modern:GatedFeedForward",
        "swiglu": "zoo.modern:GatedFeedForward",
    },
    "attention": {
        "additive": "zoo.attention.additive:AdditiveKind",
        "grouped": "zoo.modern.grouped_attention:GroupedKind",
        "restricted": "zoo.attention.restricted:RestrictedKind",
        "unscaled": "zoo.attention.unscaled:UnscaledKind",
    },
    "embedding": {"unscaled": "zoo.modern:UnscaledEmbedding"},
    "norm": {"rms": "zoo.modern:RMSNorm"},
    "positions": {"rotary": "zoo.modern:RotaryPositions"},
    "model": {
        "gru": "zoo.recurrent.model:GRUModel",
        "lstm": "zoo.recurrent.model:LSTMModel",
        "lstm-attention": "zoo.recurrent.model:LSTMAttentionModel",
        "rnn": "zoo.recurrent.model:RNNModel",
    },
    "kept attention": {"GroupedQueryAttention": "zoo.modern.grouped_past:CachedGroupedAttention"},
    "vocabulary": {"pretrained": "zoo.pretrained.vocabulary:PretrainedVocabulary"},
    "pretrained model": {"smollm2": "zoo.pretrained.smollm2:fetch_smollm2"},
    "blocks": {"zoo": "zoo.checked_blocks:blocks_of_the_zoo"},
    "kernel": {"next_grouped_position": "zoo.modern.grouped_past:KERNEL"},
    "command": {"import": "zoo.pretrained.command"},
}
