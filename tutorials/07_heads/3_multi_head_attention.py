"""Multi-head self-attention

Everything together: project, split, attend in each head, merge, project. `attend` is the attention of chapter 5, which works on
all heads at once. There is no mask and no bias.
"""

import numpy as np

from minitransformer_course.judge import also_right, edge, mistake
from minitransformer_course.judge.fixtures import attend as chapter_5


# %% reference
def multi_head_attention(attend, x, w_q, w_k, w_v, w_o, num_heads):
    """attend: a function of query and key (B, H, T, d_k) and value (B, H, T, d_v), which returns (B, H, T, d_v).

    x: (B, T, d_model); w_q, w_k: (d_model, H d_k); w_v: (d_model, H d_v); w_o: (H d_v, d_model). Returns y (B, T, d_model).
    """
    # your code: three projections, split into heads; attend; merge, and the last projection
    B, T, _ = x.shape
    q = (x @ w_q).reshape(B, T, num_heads, -1).swapaxes(1, 2)
    k = (x @ w_k).reshape(B, T, num_heads, -1).swapaxes(1, 2)
    v = (x @ w_v).reshape(B, T, num_heads, -1).swapaxes(1, 2)
    heads = attend(q, k, v)
    return heads.swapaxes(1, 2).reshape(B, T, -1) @ w_o
    # end of your code


# %% what it is called with
returns = "y"
section = "Many small questions in place of a large one"
stars, minutes = 2, 15


def case(rng, B, T, H, d_k, d_v):
    d_model = H * d_k + d_v
    weights = (rng.standard_normal((d_model, H * d)) / d_model ** 0.5 for d in (d_k, d_k, d_v))
    return chapter_5, 2 * rng.standard_normal((B, T, d_model)), *weights, rng.standard_normal((H * d_v, d_model)), H


rest = "how the heads are split and merged"


@edge("one head", part="the projections, and what each of them goes into")
def one_head(rng, B, T, d):
    return chapter_5, rng.standard_normal((B, T, d)), *(rng.standard_normal((d, d)) for _ in range(4)), 1


# %% hints
hints = (
    "Which array has H d_k numbers for each position, and which has d_k? So is the split before or after the projection?",
    "In order: three projections, each split to (B, H, T, d); attend; merge to (B, T, H d_v); times W_O.",
    "heads = attend(q, ___)",
)


# %% mistakes
def split(x, H):
    return x.reshape(*x.shape[:2], H, -1).swapaxes(1, 2)


def merge(heads):
    return heads.swapaxes(1, 2).reshape(heads.shape[0], heads.shape[2], -1)


def split_straight(x, H):
    return x.reshape(x.shape[0], H, x.shape[1], -1)


def split_interleaved(x, H):
    return x.reshape(*x.shape[:2], -1, H).transpose(0, 3, 1, 2)


def merge_straight(heads):
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


def made(attend, x, w_q, w_k, w_v, w_o, H, split=split, merge=merge):
    return merge(attend(*(split(x @ w, H) for w in (w_q, w_k, w_v)))) @ w_o


@mistake("the heads are merged without the transpose: a position gets numbers of other positions")
def merged_straight(*all):
    return made(*all, merge=merge_straight)


@mistake("the heads are split without the transpose: a head gets numbers of other positions")
def split_without(*all):
    return made(*all, split=split_straight)


@mistake("split and merge both lack the transpose: each head sees only some of the positions")
def both_straight(*all):
    return made(*all, split=split_straight, merge=merge_straight)


@mistake("the heads are split interleaved: each head's columns lie side by side, (H, d), not (d, H)")
def interleaved(*all):
    return made(*all, split=split_interleaved)


@mistake("the heads are never split: there is only one large head")
def one_large_head(attend, x, w_q, w_k, w_v, w_o, num_heads):
    return made(attend, x, w_q, w_k, w_v, w_o, 1)


@mistake("the keys are made with the queries' weights, W_Q in place of W_K")
def keys_from_queries(attend, x, w_q, w_k, w_v, w_o, num_heads):
    return made(attend, x, w_q, w_q, w_v, w_o, num_heads)


@mistake("queries and keys are swapped: the keys ask")
def keys_ask(attend, x, w_q, w_k, w_v, w_o, num_heads):
    return made(attend, x, w_k, w_q, w_v, w_o, num_heads)


@mistake("the last projection, W_O, is missing")
def without_w_o(attend, x, w_q, w_k, w_v, w_o, num_heads):
    return made(attend, x, w_q, w_k, w_v, np.eye(len(w_o), dtype=x.dtype), num_heads)


@mistake("x is added to the result: the residual connection is around this layer, not in it")
def with_residual(attend, x, w_q, w_k, w_v, w_o, num_heads):
    return x + multi_head_attention(attend, x, w_q, w_k, w_v, w_o, num_heads)


@mistake("every head uses the first head's queries")
def first_queries(attend, x, w_q, w_k, w_v, w_o, num_heads):
    return made(lambda q, k, v: attend(np.repeat(q[:, :1], num_heads, axis=1), k, v), x, w_q, w_k, w_v, w_o, num_heads)


# %% other right solutions
@also_right
def with_einsum(attend, x, w_q, w_k, w_v, w_o, H):
    q, k, v = (np.einsum("btm,mhd->bhtd", x, w.reshape(len(w), H, -1)) for w in (w_q, w_k, w_v))
    return np.einsum("bhqv,hvm->bqm", attend(q, k, v), w_o.reshape(H, -1, w_o.shape[1]))


@also_right
def head_by_head(attend, x, w_q, w_k, w_v, w_o, num_heads):
    y = np.zeros_like(x)
    parts = [np.split(w, num_heads, axis=1) for w in (w_q, w_k, w_v)]
    for a, b, c, d in zip(*parts, np.split(w_o, num_heads)):
        y += attend((x @ a)[:, None], (x @ b)[:, None], (x @ c)[:, None])[:, 0] @ d
    return y
