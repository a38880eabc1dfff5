"""What came after the paper: the blocks of today's language models, under the same contract.

The core does not know them. A configuration names a norm, positions, an activation, an attention; the table of choices in
minitransformer/zoo/__init__.py says where they are.
"""

from minitransformer.zoo.modern.gated import GatedFeedForward, silu_backward, silu_forward
from minitransformer.zoo.modern.grouped_attention import (
    GroupedQueryAttention, grouped_attention_backward, grouped_attention_forward)
from minitransformer.zoo.modern.grouped_past import CachedGroupedAttention
from minitransformer.zoo.modern.projection import Projection
from minitransformer.zoo.modern.rms_norm import RMSNorm, rms_norm_backward, rms_norm_forward
from minitransformer.zoo.modern.rotary import RotaryPositions, rotary_backward, rotary_forward
from minitransformer.zoo.modern.unscaled_embedding import UnscaledEmbedding
