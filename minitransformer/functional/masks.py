"""The two masks of the Transformer: boolean, True = may attend."""

from minitransformer.backend import module_of


def causal_mask(ids):
    """(T, T): position t may attend to positions up to t (section 3.2.3). ids: (B, T)."""
    xp = module_of(ids)
    positions = xp.arange(ids.shape[1])
    return positions[:, None] >= positions


def padding_mask(ids, padding=0):
    """(B, 1, 1, T): every head and query may attend to real tokens only. ids: (B, T)."""
    return (ids != padding)[:, None, None, :]
