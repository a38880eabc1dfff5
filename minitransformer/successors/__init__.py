"""What came after the paper: the blocks of today's language models, under the same contract.

The core does not know them. A configuration names a norm, positions, an activation, an attention; each is found in a table that
the files here extend.
"""

from minitransformer.successors.gated import GatedFeedForward, silu_backward, silu_forward
from minitransformer.successors.grouped_attention import (
    GroupedQueryAttention, grouped_attention_backward, grouped_attention_forward)
from minitransformer.successors.projection import Projection
from minitransformer.successors.rms_norm import RMSNorm, rms_norm_backward, rms_norm_forward
from minitransformer.successors.rotary import RotaryPositions, rotary_backward, rotary_forward
from minitransformer.successors.unscaled_embedding import UnscaledEmbedding
