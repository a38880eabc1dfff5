"""The whole paper in one file: Attention Is All You Need (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762).

    python tutorials/one_file.py

checks every gradient, trains a Transformer to copy letters, and shows it words that it has never seen. That takes about
half a minute. The only library is NumPy. Read the file from top to bottom: it follows one batch of words from letters to
token ids, to vectors, through attention, encoder and decoder to the loss, and back again with the gradients.

There is no autograd. Every function `..._forward` has its `..._backward` directly below it, and both keep one contract:

    y, cache = forward(x)           the cache holds what backward needs, and nothing is remembered anywhere else
    dx = backward(dy, cache)        dx is the gradient of the loss with respect to x, and dy the one with respect to y

A layer is a pair of the same kind with parameters. Its backward also adds to the gradient of each parameter. A backward
is its forward, read from the bottom up, line for line. Each of its lines names the rule that it applies. There are five:

    [sum]    y = a + b                  da = dy and db = dy
    [copy]   x is used several times    dx is the sum of the gradients of all uses (broadcasting is copying, too)
    [chain]  y = f(x), number by number dx = f'(x) dy; for y = c x this is dx = c dy
    [matmul] Y = A B                    dA = dY B^T and dB = A^T dY
    [move]   y is x in another order    dx is dy, moved back to where its numbers came from

Shapes are at the ends of lines. B is the number of words in a batch and T the number of tokens in each (T_q where they
ask, T_k where they are asked). D = d_model is the number of numbers that stand for a token, H the number of heads,
d_k = D / H the width of a head, and V the size of the vocabulary.
"""

import math
import string

import numpy as np

# ---------------------------------------------------------------------------------------------------------------------
# 1. From words to numbers

PAD, BOS, EOS = 0, 1, 2                  # padding, beginning and end of a sequence; the letters follow
LETTERS = string.ascii_lowercase
VOCAB_SIZE = 3 + len(LETTERS)


def to_ids(word):
    return [3 + LETTERS.index(letter) for letter in word]


def to_word(ids):
    return "".join(LETTERS[i - 3] for i in ids)


def pad(sequences):
    """Lists of ids -> one array (B, T), in which the shorter ones are filled up with PAD."""
    longest = max(map(len, sequences))
    return np.array([[*ids, *[PAD] * (longest - len(ids))] for ids in sequences])


def make_batch(pairs):
    """Pairs of lists (source ids, target ids) -> the three arrays that training needs.

    The decoder reads `target` and learns to predict `next_target`, the same sequence one step ahead. At position t it
    has read the target up to t and predicts token t + 1. All positions are learned at the same time.
    """
    source = pad([[*source, EOS] for source, _ in pairs])            # (B, T_k)  c a b EOS
    target = pad([[BOS, *target] for _, target in pairs])            # (B, T_q)  BOS c a b
    next_target = pad([[*target, EOS] for _, target in pairs])       # (B, T_q)  c a b EOS
    return source, target, next_target


# A mask says who may look at whom: True means "may attend". Its last two axes are T_q, who asks, and T_k, who is asked.

def padding_mask(ids):
    """Nobody may attend to padding."""
    return (ids != PAD)[:, None, None, :]                            # (B, 1, 1, T_k)


def causal_mask(length):
    """Position t may attend to positions up to t, else it would see the token that it has to predict (section 3.2.3)."""
    return np.tril(np.ones((length, length), bool))                  # (T, T)


# ---------------------------------------------------------------------------------------------------------------------
# 2. Layers: parameters, the linear layer, the embedding

class Parameter:
    """Numbers to learn, and the gradient of the loss with respect to each of them."""

    def __init__(self, data):
        self.data = data
        self.grad = np.zeros_like(data)


class Layer:
    """What all layers share: they can list the parameters inside them."""

    def parameters(self):
        """{path: Parameter}, such as "encoder.0.feed_forward.inner.weight"."""
        found = {}
        for name, value in vars(self).items():
            if isinstance(value, Parameter):
                found[name] = value
            elif isinstance(value, Layer):
                found |= {f"{name}.{path}": parameter for path, parameter in value.parameters().items()}
            elif isinstance(value, list):
                for i, layer in enumerate(value):
                    found |= {f"{name}.{i}.{path}": parameter for path, parameter in layer.parameters().items()}
        return found


def rows(x):
    """All positions of all words, one below the other: (..., D) -> (N, D)."""
    return x.reshape(-1, x.shape[-1])


class Linear(Layer):
    """y = x W + b, at every position."""

    def __init__(self, d_in, d_out, rng):
        limit = math.sqrt(6 / (d_in + d_out))    # keeps the size of activations and gradients (Glorot and Bengio 2010)
        self.weight = Parameter(rng.uniform(-limit, limit, (d_in, d_out)))
        self.bias = Parameter(np.zeros(d_out))

    def forward(self, x):                                            # (..., d_in)
        y = x @ self.weight.data + self.bias.data                    # (..., d_out)
        return y, x

    def backward(self, dy, x):
        self.bias.grad += rows(dy).sum(axis=0)                       # [copy] b is added at every position
        self.weight.grad += rows(x).T @ rows(dy)                     # [matmul] x^T dy
        return dy @ self.weight.data.T                               # [matmul] dy W^T


def dropout_forward(x, dropout_rate, rng):
    """Set some numbers to zero and scale up the others, so that the mean stays (section 5.4). Only in training: with rng."""
    if rng is None:
        return x, 1.0
    mask = (rng.random(x.shape) >= dropout_rate) / (1 - dropout_rate)
    return x * mask, mask


def dropout_backward(dy, mask):
    return dy * mask                                                 # [chain] with the mask of the forward


def positional_encoding(length, d_model):
    """Sines and cosines of different wavelengths tell position t from the others (section 3.5); nothing is learned."""
    rates = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)         # (D / 2,)
    angles = np.arange(length)[:, None] * rates                      # (T, D / 2)
    encoding = np.empty((length, d_model))                           # (T, D)
    encoding[:, 0::2], encoding[:, 1::2] = np.sin(angles), np.cos(angles)
    return encoding


class Embedding(Layer):
    """One vector for each token of the vocabulary. The model uses this one matrix in three places (section 3.4).

    It turns source ids into vectors, it turns target ids into vectors, and it turns the decoder's output into logits.
    Each use adds to `weight.grad`, so the gradient of the tied weight is the sum of three: that is the rule [copy].
    """

    def __init__(self, vocab_size, d_model, dropout, rng):
        self.weight = Parameter(rng.standard_normal((vocab_size, d_model)) / math.sqrt(d_model))     # (V, D)
        self.dropout = dropout

    def forward(self, ids, rng=None):                                # (B, T)
        d_model = self.weight.data.shape[1]
        x = math.sqrt(d_model) * self.weight.data[ids]               # (B, T, D)
        x = x + positional_encoding(ids.shape[1], d_model)           # (B, T, D)
        y, mask = dropout_forward(x, self.dropout, rng)
        return y, (ids, mask)

    def backward(self, dy, cache):
        ids, mask = cache
        dx = dropout_backward(dy, mask)
        # [sum] The positional encoding is a constant, so dx passes it unchanged.
        dx = math.sqrt(dx.shape[-1]) * dx                            # [chain]
        np.add.at(self.weight.grad, ids, dx)                         # [move] and [copy]: `grad[ids] += dx` loses repeats

    def logits_forward(self, x):                                     # (B, T_q, D)
        logits = x @ self.weight.data.T                              # (B, T_q, V) how well each token fits
        return logits, x

    def logits_backward(self, dlogits, x):
        self.weight.grad += rows(dlogits).T @ rows(x)                # [matmul] of the transposed weight
        return dlogits @ self.weight.data                            # [matmul]


# ---------------------------------------------------------------------------------------------------------------------
# 3. Attention

def softmax_forward(x):
    """Any numbers -> positive numbers whose sum over the last axis is 1. Subtracting the largest avoids overflow."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p, p


def softmax_backward(dp, p):
    """Each x_i moves all of p: dp_j / dx_i = p_j ((i == j) - p_i). [copy] adds this up over j, times dp_j."""
    return p * (dp                                                   # [chain] x_i in the numerator of p_i
                - (dp * p).sum(axis=-1, keepdims=True))              # [chain] x_i in the denominator of every p_j


def attention_forward(query, key, value, mask):
    """Scaled dot-product attention (section 3.2.1, equation 1): a weighted mean of values.

    Each query is compared with all keys. The better a key fits, the more of its value the answer contains. The dot
    product of d_k random numbers grows with sqrt(d_k); divided by that, the scores do not saturate the softmax.
    """
    d_k = query.shape[-1]                                            # query (B, H, T_q, d_k), key (B, H, T_k, d_k)
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(d_k)           # (B, H, T_q, T_k)
    scores = np.where(mask, scores, -np.inf)                         # exp(-inf) = 0: weight 0 for what is masked
    weights, p = softmax_forward(scores)                             # (B, H, T_q, T_k) each row has sum 1
    y = weights @ value                                              # (B, H, T_q, d_k)
    return y, (query, key, value, p)


def attention_backward(dy, cache):
    query, key, value, p = cache
    dvalue = p.swapaxes(-1, -2) @ dy                                 # [matmul]
    dweights = dy @ value.swapaxes(-1, -2)                           # [matmul]
    dscores = softmax_backward(dweights, p)                          # 0 for what is masked, because p = 0 there
    dscores = dscores / math.sqrt(query.shape[-1])                   # [chain]
    dkey = dscores.swapaxes(-1, -2) @ query                          # [matmul] the key is transposed, and so is its gradient
    dquery = dscores @ key                                           # [matmul]
    return dquery, dkey, dvalue


def split_heads(x, num_heads):
    """(B, T, D) -> (B, H, T, d_k). It only moves numbers; its backward is merge_heads."""
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model // num_heads).swapaxes(1, 2)


def merge_heads(x):
    """(B, H, T, d_k) -> (B, T, D). Its backward is split_heads."""
    batch, num_heads, length, d_k = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, num_heads * d_k)


class MultiHeadAttention(Layer):
    """Several attentions side by side (section 3.2.2): each head may look for something else.

    The heads share the width D: the matrices W_Q of all heads are side by side in one (D, D) matrix, `query`.
    """

    def __init__(self, d_model, num_heads, rng):
        self.query = Linear(d_model, d_model, rng)
        self.key = Linear(d_model, d_model, rng)
        self.value = Linear(d_model, d_model, rng)
        self.output = Linear(d_model, d_model, rng)
        self.num_heads = num_heads

    def forward(self, query, key, value, mask):                      # (B, T_q, D), (B, T_k, D), (B, T_k, D)
        q, query_cache = self.query.forward(query)
        k, key_cache = self.key.forward(key)
        v, value_cache = self.value.forward(value)
        q, k, v = (split_heads(x, self.num_heads) for x in (q, k, v))        # (B, H, T, d_k)
        heads, attention_cache = attention_forward(q, k, v, mask)    # (B, H, T_q, d_k)
        heads = merge_heads(heads)                                   # (B, T_q, D)
        y, output_cache = self.output.forward(heads)                 # (B, T_q, D)
        return y, (query_cache, key_cache, value_cache, attention_cache, output_cache)

    def backward(self, dy, cache):
        query_cache, key_cache, value_cache, attention_cache, output_cache = cache
        dheads = self.output.backward(dy, output_cache)
        dheads = split_heads(dheads, self.num_heads)                 # [move]
        dq, dk, dv = attention_backward(dheads, attention_cache)
        dq, dk, dv = (merge_heads(dx) for dx in (dq, dk, dv))        # [move]
        dvalue = self.value.backward(dv, value_cache)
        dkey = self.key.backward(dk, key_cache)
        dquery = self.query.backward(dq, query_cache)
        return dquery, dkey, dvalue


# ---------------------------------------------------------------------------------------------------------------------
# 4. Feed-forward network, and what is around every sub-layer: Add & Norm

class FeedForward(Layer):
    """Two linear layers with a ReLU between them, at each position on its own (section 3.3, equation 2)."""

    def __init__(self, d_model, d_ff, rng):
        self.inner = Linear(d_model, d_ff, rng)
        self.outer = Linear(d_ff, d_model, rng)

    def forward(self, x):                                            # (B, T, D)
        h, inner_cache = self.inner.forward(x)                       # (B, T, d_ff)
        positive = h > 0
        h = h * positive                                             # ReLU: max(0, h)
        y, outer_cache = self.outer.forward(h)                       # (B, T, D)
        return y, (inner_cache, positive, outer_cache)

    def backward(self, dy, cache):
        inner_cache, positive, outer_cache = cache
        dh = self.outer.backward(dy, outer_cache)
        dh = dh * positive                                           # [chain] the slope of ReLU is 1 or 0
        return self.inner.backward(dh, inner_cache)


class LayerNorm(Layer):
    """Shift and scale the D numbers of each position to mean 0 and variance 1; then learn a scale and a shift of one's own."""

    def __init__(self, d_model):
        self.gamma = Parameter(np.ones(d_model))
        self.beta = Parameter(np.zeros(d_model))

    def forward(self, x):                                            # (B, T, D)
        centred = x - x.mean(axis=-1, keepdims=True)                 # (B, T, D)
        variance = (centred * centred).mean(axis=-1, keepdims=True)  # (B, T, 1)
        inverse = 1 / np.sqrt(variance + 1e-5)                       # (B, T, 1)
        n = centred * inverse                                        # (B, T, D)
        y = n * self.gamma.data + self.beta.data                     # (B, T, D)
        return y, (n, inverse)

    def backward(self, dy, cache):
        """Each x_i moves n_j on three ways, for dn_j / dx_i = inverse ((i == j) - 1 / D - n_j n_i / D)."""
        n, inverse = cache
        self.beta.grad += rows(dy).sum(axis=0)                       # [copy] beta is added at every position
        self.gamma.grad += rows(dy * n).sum(axis=0)                  # [chain] dy n, then [copy]
        dn = dy * self.gamma.data                                    # [chain]
        return inverse * (dn                                         # [chain] x_i itself
                          - dn.mean(axis=-1, keepdims=True)          # [copy] x_i in the mean
                          - n * (dn * n).mean(axis=-1, keepdims=True))       # [chain], [copy] x_i in the variance


class Residual(Layer):
    """Add & Norm in figure 1: y = LayerNorm(x + dropout(h)), for a sub-layer that has made h of x (sections 3.1, 5.4).

    The sub-layer learns only what to change about x, and gradients reach the lowest layer through the sum.
    """

    def __init__(self, d_model, dropout):
        self.norm = LayerNorm(d_model)
        self.dropout = dropout

    def forward(self, x, h, rng=None):                               # (B, T, D), (B, T, D)
        h, mask = dropout_forward(h, self.dropout, rng)
        y, norm_cache = self.norm.forward(x + h)                     # (B, T, D)
        return y, (mask, norm_cache)

    def backward(self, dy, cache):
        mask, norm_cache = cache
        dx = self.norm.backward(dy, norm_cache)                      # [sum] of x and of h
        dh = dropout_backward(dx, mask)
        return dx, dh


# ---------------------------------------------------------------------------------------------------------------------
# 5. Encoder, decoder, Transformer (figure 1)

class EncoderLayer(Layer):
    """The source attends to itself; then each position thinks on its own (section 3.1)."""

    def __init__(self, d_model, num_heads, d_ff, dropout, rng):
        self.self_attention = MultiHeadAttention(d_model, num_heads, rng)
        self.self_attention_residual = Residual(d_model, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, rng)
        self.feed_forward_residual = Residual(d_model, dropout)

    def forward(self, x, mask, rng=None):                            # (B, T_k, D)
        h, attention = self.self_attention.forward(x, x, x, mask)
        x, attention_residual = self.self_attention_residual.forward(x, h, rng)
        h, feed_forward = self.feed_forward.forward(x)
        y, feed_forward_residual = self.feed_forward_residual.forward(x, h, rng)
        return y, (attention, attention_residual, feed_forward, feed_forward_residual)

    def backward(self, dy, cache):
        attention, attention_residual, feed_forward, feed_forward_residual = cache
        dx, dh = self.feed_forward_residual.backward(dy, feed_forward_residual)
        dx = dx + self.feed_forward.backward(dh, feed_forward)       # [copy] x goes into the network, and past it
        dx, dh = self.self_attention_residual.backward(dx, attention_residual)
        dquery, dkey, dvalue = self.self_attention.backward(dh, attention)
        return dx + dquery + dkey + dvalue                           # [copy] x is query, key and value, and goes past


class DecoderLayer(Layer):
    """The target attends to its own past, then to the encoder's output, the memory (section 3.1)."""

    def __init__(self, d_model, num_heads, d_ff, dropout, rng):
        self.self_attention = MultiHeadAttention(d_model, num_heads, rng)
        self.self_attention_residual = Residual(d_model, dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, rng)
        self.cross_attention_residual = Residual(d_model, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, rng)
        self.feed_forward_residual = Residual(d_model, dropout)

    def forward(self, x, memory, mask, memory_mask, rng=None):       # (B, T_q, D), (B, T_k, D)
        h, attention = self.self_attention.forward(x, x, x, mask)
        x, attention_residual = self.self_attention_residual.forward(x, h, rng)
        h, cross = self.cross_attention.forward(x, memory, memory, memory_mask)
        x, cross_residual = self.cross_attention_residual.forward(x, h, rng)
        h, feed_forward = self.feed_forward.forward(x)
        y, feed_forward_residual = self.feed_forward_residual.forward(x, h, rng)
        return y, (attention, attention_residual, cross, cross_residual, feed_forward, feed_forward_residual)

    def backward(self, dy, cache):
        attention, attention_residual, cross, cross_residual, feed_forward, feed_forward_residual = cache
        dx, dh = self.feed_forward_residual.backward(dy, feed_forward_residual)
        dx = dx + self.feed_forward.backward(dh, feed_forward)       # [copy]
        dx, dh = self.cross_attention_residual.backward(dx, cross_residual)
        dquery, dkey, dvalue = self.cross_attention.backward(dh, cross)
        dx, dmemory = dx + dquery, dkey + dvalue                     # [copy] x asks; the memory is key and value
        dx, dh = self.self_attention_residual.backward(dx, attention_residual)
        dquery, dkey, dvalue = self.self_attention.backward(dh, attention)
        return dx + dquery + dkey + dvalue, dmemory                  # [copy]


class Transformer(Layer):
    """Source and target ids in, logits of each next target token out. The paper's base model has d_model 512, 8 heads,
    d_ff 2048, 6 layers in each stack and dropout 0.1."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout, seed=0):
        rng = np.random.default_rng(seed)
        sizes = d_model, num_heads, d_ff, dropout
        self.embedding = Embedding(vocab_size, d_model, dropout, rng)
        self.encoder = [EncoderLayer(*sizes, rng) for _ in range(num_layers)]
        self.decoder = [DecoderLayer(*sizes, rng) for _ in range(num_layers)]

    def encode(self, source, rng=None):                              # (B, T_k)
        x, embedding_cache = self.embedding.forward(source, rng)     # (B, T_k, D)
        caches = []
        for layer in self.encoder:
            x, cache = layer.forward(x, padding_mask(source), rng)
            caches.append(cache)
        return x, (embedding_cache, caches)                          # x is the memory, (B, T_k, D)

    def encode_backward(self, dmemory, cache):
        embedding_cache, caches = cache
        dx = dmemory
        for layer, layer_cache in zip(reversed(self.encoder), reversed(caches)):
            dx = layer.backward(dx, layer_cache)
        self.embedding.backward(dx, embedding_cache)                 # ids have no gradient: the way back ends here

    def decode(self, target, memory, memory_mask, rng=None):         # (B, T_q), (B, T_k, D)
        x, embedding_cache = self.embedding.forward(target, rng)     # (B, T_q, D)
        mask = causal_mask(target.shape[1])                          # (T_q, T_q) padding comes last: no token sees it
        caches = []
        for layer in self.decoder:
            x, cache = layer.forward(x, memory, mask, memory_mask, rng)
            caches.append(cache)
        logits, logits_cache = self.embedding.logits_forward(x)      # (B, T_q, V)
        return logits, (embedding_cache, caches, logits_cache)

    def decode_backward(self, dlogits, cache):
        embedding_cache, caches, logits_cache = cache
        dx = self.embedding.logits_backward(dlogits, logits_cache)
        dmemory = 0
        for layer, layer_cache in zip(reversed(self.decoder), reversed(caches)):
            dx, dmemory_of_layer = layer.backward(dx, layer_cache)
            dmemory = dmemory + dmemory_of_layer                     # [copy] every layer reads the same memory
        self.embedding.backward(dx, embedding_cache)
        return dmemory

    def forward(self, source, target, rng=None):                     # (B, T_k), (B, T_q)
        memory, encode_cache = self.encode(source, rng)              # (B, T_k, D)
        logits, decode_cache = self.decode(target, memory, padding_mask(source), rng)
        return logits, (encode_cache, decode_cache)                  # (B, T_q, V)

    def backward(self, dlogits, cache):
        encode_cache, decode_cache = cache
        dmemory = self.decode_backward(dlogits, decode_cache)
        self.encode_backward(dmemory, encode_cache)


# ---------------------------------------------------------------------------------------------------------------------
# 6. The loss

def cross_entropy_forward(logits, next_target, smoothing):           # (B, T_q, V), (B, T_q)
    """-sum_i q_i log p_i with p = softmax(logits), summed over all tokens that are not padding.

    q is the answer that we want. Label smoothing (section 5.4) gives the right token 1 - smoothing and spreads the rest
    over all V, so the model is not asked to be infinitely sure.
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))    # never log(0)
    vocab_size = logits.shape[-1]
    q = np.full(logits.shape, smoothing / vocab_size)                # (B, T_q, V)
    q += (1 - smoothing) * np.eye(vocab_size)[next_target]
    real = (next_target != PAD)[..., None]                           # (B, T_q, 1)
    loss = -(real * q * log_p).sum()
    return loss, (np.exp(log_p), q, real)


def cross_entropy_backward(dloss, cache):
    """From log p_i = x_i - log sum_j exp(x_j) and sum_i q_i = 1: the gradient is p - q, what we have minus what we want."""
    p, q, real = cache
    return dloss * real * (p - q)                                    # [chain]; padding learns nothing


def loss_forward(model, batch, smoothing, rng=None):
    """The mean loss of a token. It is divided by the number of real tokens, not by B T_q, which counts padding."""
    source, target, next_target = batch
    logits, model_cache = model.forward(source, target, rng)
    loss, loss_cache = cross_entropy_forward(logits, next_target, smoothing)
    num_tokens = (next_target != PAD).sum()
    return loss / num_tokens, (model_cache, loss_cache, num_tokens)


def loss_backward(model, cache):
    """Add the gradient of the mean loss to the gradient of each parameter."""
    model_cache, loss_cache, num_tokens = cache
    dlogits = cross_entropy_backward(1 / num_tokens, loss_cache)
    model.backward(dlogits, model_cache)


def gradient_check(model, batch, numbers=3, step=1e-5):
    """Is every backward right? Move a few numbers of each parameter up and down, and watch the loss.

    The slope (loss above - loss below) / (2 step) has to be the gradient. Returns the largest difference, relative to
    the gradient, or to a tenth of the model's largest gradient, if that is more. The same seed drops the same numbers each time.
    """
    def loss():
        return loss_forward(model, batch, 0.1, np.random.default_rng(1))

    _, cache = loss()
    loss_backward(model, cache)
    parameters = model.parameters().values()
    floor = max(np.abs(parameter.grad).max() for parameter in parameters) / 10
    rng, errors = np.random.default_rng(2), []
    for parameter in parameters:
        data, grad = parameter.data.reshape(-1), parameter.grad.reshape(-1)      # views: all numbers in a row
        for i in rng.integers(data.size, size=numbers):
            kept = data[i]
            data[i] = kept + step
            above, _ = loss()
            data[i] = kept - step
            below, _ = loss()
            data[i] = kept
            slope = (above - below) / (2 * step)
            errors.append(abs(grad[i] - slope) / max(abs(grad[i]), abs(slope), floor))
    return max(errors)


# ---------------------------------------------------------------------------------------------------------------------
# 7. Training

def schedule(step, d_model, warmup):
    """The learning rate grows for `warmup` steps, then falls with 1 / sqrt(step) (section 5.3, equation 3)."""
    return d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


class Adam:
    """Adam with the paper's settings (section 5.3). The gradient's norm is first clipped to at most 1, which the paper does not do."""

    def __init__(self, model, beta1=0.9, beta2=0.98, epsilon=1e-9):
        self.parameters = list(model.parameters().values())
        self.m = [np.zeros_like(parameter.data) for parameter in self.parameters]
        self.v = [np.zeros_like(parameter.data) for parameter in self.parameters]
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.steps = 0

    def step(self, learning_rate, clip=1.0):
        """Move every parameter against its gradient, then set the gradients to zero."""
        self.steps += 1
        norm = math.sqrt(sum((parameter.grad ** 2).sum() for parameter in self.parameters))
        for parameter, m, v in zip(self.parameters, self.m, self.v):
            g = parameter.grad * min(1, clip / norm)
            m += (1 - self.beta1) * (g - m)                          # mean of the gradient
            v += (1 - self.beta2) * (g * g - v)                      # mean of its square
            mean = m / (1 - self.beta1 ** self.steps)                # both began at zero: this corrects it
            square = v / (1 - self.beta2 ** self.steps)
            parameter.data -= learning_rate * mean / (np.sqrt(square) + self.epsilon)
            parameter.grad[...] = 0


def training_step(model, adam, batch, learning_rate, smoothing=0.1, rng=None):
    loss, cache = loss_forward(model, batch, smoothing, rng)
    loss_backward(model, cache)
    adam.step(learning_rate)
    return loss


# ---------------------------------------------------------------------------------------------------------------------
# 8. Writing: greedy decoding

def greedy(model, source, extra_length=50):                          # (B, T_k)
    """Write one token at a time, always the likeliest, until each word has ended or is 50 longer than its source (6.1).

    In training, the decoder saw the right target. Here it sees what it has written. It reads all of it again for each
    token, which is simple and slow; the package keeps the keys and values instead.
    """
    memory, _ = model.encode(source)
    target = np.full((len(source), 1), BOS)
    for _ in range(source.shape[1] - 1 + extra_length):
        logits, _ = model.decode(target, memory, padding_mask(source))
        next_ids = EOS + logits[:, -1, EOS:].argmax(axis=-1)         # (B,) PAD and BOS, the ids before EOS, are no answer
        target = np.concatenate([target, next_ids[:, None]], axis=1)
        if (target == EOS).any(axis=1).all():
            break
    written = target[:, 1:].tolist()
    return [ids[: ids.index(EOS)] if EOS in ids else ids for ids in written]


# ---------------------------------------------------------------------------------------------------------------------
# 9. Copy letters

def draw_words(rng, count, longest=10):
    return ["".join(rng.choice(list(LETTERS), size=rng.integers(1, longest + 1))) for _ in range(count)]


def copy_batch(words):
    return make_batch([(to_ids(word), to_ids(word)) for word in words])


def main(steps=600, batch_size=64, d_model=64, warmup=300):
    rng = np.random.default_rng(0)
    small = Transformer(VOCAB_SIZE, d_model=8, num_heads=2, d_ff=12, num_layers=2, dropout=0.1)
    print(f"gradient check: largest error {gradient_check(small, copy_batch(draw_words(rng, 3))):.0e}")

    unseen = "attention is all you need".split()
    test = draw_words(rng, 500)
    held_out = {*unseen, *test}
    model = Transformer(VOCAB_SIZE, d_model, num_heads=4, d_ff=128, num_layers=2, dropout=0.1)
    adam = Adam(model)
    for step in range(1, steps + 1):
        words = [word for word in draw_words(rng, batch_size) if word not in held_out]
        loss = training_step(model, adam, copy_batch(words), schedule(step, d_model, warmup), rng=rng)
        if step % 50 == 0 or step == steps:
            print(f"step {step:4}  loss {loss:.3f}")

    for word, ids in zip(unseen, greedy(model, copy_batch(unseen)[0])):
        print(f"{word} -> {to_word(ids)}")
    right = sum(to_word(ids) == word for word, ids in zip(test, greedy(model, copy_batch(test)[0])))
    print(f"exact match: {right} of {len(test)} words it has never seen")


if __name__ == "__main__":
    main()
