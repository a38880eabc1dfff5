"""The whole paper in one file: Attention Is All You Need (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762).

    python tutorials/one_file.py

checks the gradients, trains a Transformer to copy letters, and shows it words that it has never seen, all in less than
a minute. It needs only NumPy. Read it from top to bottom: first the parts, then the model, its loss and its training.

A Transformer turns a source into a target. Its encoder makes a memory of the source, with one vector for each token. Its
decoder reads that memory and the target so far, and predicts the next token. Both look around with attention (part 4).

There is no autograd. Directly below each `forward` is its `backward`, and all of them keep one contract:

    y, cache = forward(x)        the cache holds what backward needs; nothing is remembered anywhere else
    dx = backward(dy, cache)     dx is the gradient of the loss with respect to x, and dy the one with respect to y

If there are parameters, backward also adds to the gradient of each. A backward is its forward, read from the bottom up;
softmax, LayerNorm and the loss take a shorter way, which they explain. The end of a line names the rule that it applies:

    [sum]     y = a + b                      da = dy and db = dy
    [copy]    x is used several times        dx is the sum of the gradients of all uses; broadcasting is copying, too
    [chain]   y = f(x), for each number      dx = f'(x) dy; if y = c x, this is dx = c dy
    [matmul]  Y = A B                        dA = dY B^T and dB = A^T dY
    [move]    y holds the numbers of x       dx is dy, with each number moved back to where it came from

Shapes are also at the ends of lines. B is the number of words in a batch and T the number of tokens in each (T_q on the
side that asks, T_k on the side that is asked). D = d_model is how many numbers describe a token, H the number of heads,
d_k = D / H the width of a head, and V the size of the vocabulary.
"""

import math
import os
import string

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")    # before NumPy loads: with matrices this small, threads only wait

import numpy as np

# ---- 1. From words to numbers ---------------------------------------------------------------------------------

PAD, BOS, EOS = 0, 1, 2                     # padding, beginning and end of a sequence; the letters come after them
VOCABULARY = ["<pad>", "<s>", "</s>", *string.ascii_lowercase]


def pad(sequences):
    """Lists of token ids -> one array (B, T), in which PAD fills up the shorter ones."""
    longest = max(map(len, sequences))
    return np.array([ids + [PAD] * (longest - len(ids)) for ids in sequences])


def make_batch(pairs):
    """Pairs of (source ids, target ids) -> source, target, next_target.

    At each position, the decoder reads `target` up to there and learns to predict the token that comes next.
    """
    source = pad([[*source, EOS] for source, _ in pairs])            # (B, T_k)  c a b </s>
    target = pad([[BOS, *target] for _, target in pairs])            # (B, T_q)  <s> c a b
    next_target = pad([[*target, EOS] for _, target in pairs])       # (B, T_q)  c a b </s>
    return source, target, next_target


# ---- 2. Parameters, and the layer that multiplies by them -----------------------------------------------------

class Parameter:
    """Learned numbers, the gradient of the loss with respect to each of them, and its history for Adam."""

    def __init__(self, data):
        self.data = data
        self.grad, self.m, self.v = np.zeros((3, *data.shape))


def parameters(part, *path):
    """{path: Parameter} of everything inside a part of the model, such as "encoder.0.feed_forward.inner.weight"."""
    if isinstance(part, Parameter):
        return {".".join(path): part}
    inside = dict(enumerate(part)) if isinstance(part, list) else getattr(part, "__dict__", {})
    return {name: found for key, value in inside.items() for name, found in parameters(value, *path, str(key)).items()}


def rows(x):
    return x.reshape(-1, x.shape[-1])                                # (B, T, D) -> (B T, D) all tokens of all words


class Linear:
    """y = x W + b, for each token."""

    def __init__(self, d_in, d_out, rng):
        limit = math.sqrt(6 / (d_in + d_out))                        # y is about as large as x (Glorot and Bengio 2010)
        self.weight = Parameter(rng.uniform(-limit, limit, (d_in, d_out)))
        self.bias = Parameter(np.zeros(d_out))

    def forward(self, x):                                            # (B, T, d_in)
        y = rows(x) @ self.weight.data + self.bias.data              # (B T, d_out)
        return y.reshape(*x.shape[:-1], -1), x                       # (B, T, d_out)

    def backward(self, dy, x):
        self.bias.grad += rows(dy).sum(axis=0)                       # [copy] every token adds the same b
        self.weight.grad += rows(x).T @ rows(dy)                     # [matmul] x^T dy
        return (rows(dy) @ self.weight.data.T).reshape(x.shape)      # [matmul] dy W^T


# ---- 3. Embedding: from token ids to vectors ------------------------------------------------------------------

def positional_encoding(length, d_model):
    """Sines and cosines of many wavelengths, without which attention could not tell "ab" from "ba" (section 3.5)."""
    frequencies = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)   # (D / 2,)
    angles = np.arange(length)[:, None] * frequencies                # (T, D / 2)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model)      # (T, D) sin, cos, sin, ...


def dropout_forward(x, dropout, rng):                                # (...) any shape
    """Zero a random part of x and scale up the rest, so that the mean stays (section 5.4); only in training, with rng."""
    if rng is None:
        return x, 1.0
    mask = (rng.random(x.shape) >= dropout) / (1 - dropout)
    return x * mask, mask

def dropout_backward(dy, mask):
    return dy * mask                                                 # [chain] with the mask of the forward


class Embedding:
    """One vector for each token, in a matrix that the model uses in three places (section 3.4).

    It embeds the source, embeds the target, and makes the logits. `weight.grad` is the sum of the three gradients [copy].
    """

    def __init__(self, vocab_size, d_model, dropout, rng):
        self.weight = Parameter(rng.standard_normal((vocab_size, d_model)) / math.sqrt(d_model))    # (V, D)
        self.dropout = dropout

    def forward(self, ids, rng=None):                                # (B, T)
        d_model = self.weight.data.shape[1]
        x = math.sqrt(d_model) * self.weight.data[ids]               # (B, T, D) as large as the sines that follow
        x = x + positional_encoding(ids.shape[1], d_model)           # (B, T, D)
        y, mask = dropout_forward(x, self.dropout, rng)
        return y, (ids, mask)

    def backward(self, dy, cache):
        ids, mask = cache
        dx = dropout_backward(dy, mask)                              # [chain]
        dx = math.sqrt(dx.shape[-1]) * dx                            # [sum] the encoding is constant; [chain]
        np.add.at(self.weight.grad, ids, dx)                         # [move], [copy]; grad[ids] += dx would lose repeats

    def logits_forward(self, x):                                     # (B, T_q, D)
        return x @ self.weight.data.T, x                             # (B, T_q, V) a score for each token

    def logits_backward(self, dlogits, x):
        self.weight.grad += rows(dlogits).T @ rows(x)                # [matmul] dW = dlogits^T x, as logits = x W^T
        return dlogits @ self.weight.data                            # [matmul]


# ---- 4. Attention ---------------------------------------------------------------------------------------------

def softmax_forward(x):                                              # (..., T_k)
    """Shares of 1: p_i = exp(x_i) / sum_j exp(x_j). Subtracting the largest x changes nothing and avoids overflow."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p, p

def softmax_backward(dp, p):
    """x_i moves every share, by p_j ((i == j) - p_i). Added up over j, each times dp_j:"""
    return p * (dp                                                   # [chain] x_i raises exp(x_i)
                - (dp * p).sum(axis=-1, keepdims=True))              # [copy] and the total, which divides every share


def attention_forward(query, key, value, mask):                      # (B, H, T_q, d_k), then twice (B, H, T_k, d_k)
    """Scaled dot-product attention (section 3.2.1): the better a key fits a query, the more weight its value gets.

    Dot products grow with sqrt(d_k). Without the division, one weight would be 1 and softmax would pass on no gradient.
    mask (T_q, T_k) or (B, 1, 1, T_k): True if the query may attend to the key.
    """
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])       # (B, H, T_q, T_k)
    scores = np.where(mask, scores, -np.inf)                         # exp(-inf) = 0, so what is masked gets weight 0
    weights, _ = softmax_forward(scores)                             # (B, H, T_q, T_k) each row adds up to 1
    return weights @ value, (query, key, value, weights)             # (B, H, T_q, d_k)

def attention_backward(dy, cache):
    query, key, value, weights = cache
    dvalue = weights.swapaxes(-1, -2) @ dy                           # [matmul]
    dweights = dy @ value.swapaxes(-1, -2)                           # [matmul]
    dscores = softmax_backward(dweights, weights)                    # what is masked has weight 0, so its gradient is 0
    dscores = dscores / math.sqrt(query.shape[-1])                   # [chain]
    dkey = dscores.swapaxes(-1, -2) @ query                          # [matmul], transposed as the key is
    dquery = dscores @ key                                           # [matmul]
    return dquery, dkey, dvalue


def split_heads(x, num_heads):
    """Cut each token's vector into one piece for each head. This only moves numbers, so its backward is merge_heads."""
    batch, length, _ = x.shape
    return x.reshape(batch, length, num_heads, -1).swapaxes(1, 2)    # (B, T, D) -> (B, H, T, d_k)

def merge_heads(x):
    """Put the pieces side by side again. Its backward is split_heads."""
    batch, _, length, _ = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, -1)               # (B, H, T, d_k) -> (B, T, D)


class MultiHeadAttention:
    """H attentions side by side, each with its own idea of what to look for (section 3.2.2).

    The paper's H matrices W^Q, of shape (D, d_k) each, are side by side in one (D, D) matrix, `query.weight`.
    """

    def __init__(self, d_model, num_heads, rng):
        self.query, self.key, self.value, self.output = (Linear(d_model, d_model, rng) for _ in range(4))
        self.num_heads = num_heads

    def forward(self, query, key, value, mask):                      # (B, T_q, D), (B, T_k, D), (B, T_k, D)
        query, query_cache = self.query.forward(query)
        key, key_cache = self.key.forward(key)
        value, value_cache = self.value.forward(value)
        query, key, value = (split_heads(x, self.num_heads) for x in (query, key, value))
        heads, attention_cache = attention_forward(query, key, value, mask)          # (B, H, T_q, d_k)
        y, output_cache = self.output.forward(merge_heads(heads))    # (B, T_q, D)
        return y, (query_cache, key_cache, value_cache, attention_cache, output_cache)

    def backward(self, dy, cache):
        query_cache, key_cache, value_cache, attention_cache, output_cache = cache
        dheads = split_heads(self.output.backward(dy, output_cache), self.num_heads)         # [move]
        dquery, dkey, dvalue = attention_backward(dheads, attention_cache)
        dquery, dkey, dvalue = (merge_heads(dx) for dx in (dquery, dkey, dvalue))            # [move]
        dvalue = self.value.backward(dvalue, value_cache)
        dkey = self.key.backward(dkey, key_cache)
        dquery = self.query.backward(dquery, query_cache)
        return dquery, dkey, dvalue


# ---- 5. The feed-forward network, and what surrounds every sub-layer ------------------------------------------

class FeedForward:
    """Two linear layers with a ReLU between them, for each token on its own (section 3.3, equation 2)."""

    def __init__(self, d_model, d_ff, rng):
        self.inner, self.outer = Linear(d_model, d_ff, rng), Linear(d_ff, d_model, rng)

    def forward(self, x):                                            # (B, T, D)
        h, inner_cache = self.inner.forward(x)                       # (B, T, d_ff)
        positive = h > 0
        y, outer_cache = self.outer.forward(h * positive)            # (B, T, D)
        return y, (inner_cache, positive, outer_cache)

    def backward(self, dy, cache):
        inner_cache, positive, outer_cache = cache
        dh = self.outer.backward(dy, outer_cache) * positive         # [chain] the slope of ReLU is 1 or 0
        return self.inner.backward(dh, inner_cache)


class Residual:
    """"Add & Norm" in figure 1: y = LayerNorm(x + dropout(h)), if a sub-layer has made h from x (sections 3.1, 5.4).

    LayerNorm shifts and scales each token's D numbers to mean 0 and variance 1, then by the learned gamma and beta.
    """

    def __init__(self, d_model, dropout):
        self.gamma, self.beta = Parameter(np.ones(d_model)), Parameter(np.zeros(d_model))
        self.dropout = dropout

    def forward(self, x, h, rng=None):                               # (B, T, D), (B, T, D)
        h, mask = dropout_forward(h, self.dropout, rng)
        x = x + h                                                    # (B, T, D)
        centred = x - x.mean(axis=-1, keepdims=True)                 # (B, T, D)
        variance = (centred * centred).mean(axis=-1, keepdims=True)  # (B, T, 1)
        inverse = 1 / np.sqrt(variance + 1e-5)                       # (B, T, 1) 1e-5: never divide by zero
        n = centred * inverse                                        # (B, T, D) mean 0, variance 1
        return n * self.gamma.data + self.beta.data, (n, inverse, mask)

    def backward(self, dy, cache):
        """x_i moves all of n, by inverse ((i == j) - 1 / D - n_i n_j / D). Added up over j, each times dn_j:"""
        n, inverse, mask = cache
        self.beta.grad += rows(dy).sum(axis=0)                       # [copy] every token adds the same beta
        self.gamma.grad += rows(dy * n).sum(axis=0)                  # [chain], [copy]
        dn = dy * self.gamma.data                                    # [chain]
        dx = inverse * (dn                                           # [chain] x itself
                        - dn.mean(axis=-1, keepdims=True)            # [copy] x in the mean, which D numbers share
                        - n * (dn * n).mean(axis=-1, keepdims=True))     # [copy] x in the variance, which they share, too
        return dx, dropout_backward(dx, mask)                        # [sum] of x and dropout(h)


# ---- 6. Encoder, decoder, Transformer (figure 1) --------------------------------------------------------------

class EncoderLayer:
    """The source attends to itself, then the feed-forward network works on each token (section 3.1)."""

    def __init__(self, d_model, num_heads, d_ff, dropout, rng):
        self.self_attention = MultiHeadAttention(d_model, num_heads, rng)
        self.self_attention_residual = Residual(d_model, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, rng)
        self.feed_forward_residual = Residual(d_model, dropout)

    def forward(self, x, mask, rng=None):                            # (B, T_k, D)
        h, attention_cache = self.self_attention.forward(x, x, x, mask)
        x, norm_cache_1 = self.self_attention_residual.forward(x, h, rng)
        h, feed_forward_cache = self.feed_forward.forward(x)
        x, norm_cache_2 = self.feed_forward_residual.forward(x, h, rng)
        return x, (attention_cache, norm_cache_1, feed_forward_cache, norm_cache_2)

    def backward(self, dx, cache):
        attention_cache, norm_cache_1, feed_forward_cache, norm_cache_2 = cache
        dx, dh = self.feed_forward_residual.backward(dx, norm_cache_2)
        dx = dx + self.feed_forward.backward(dh, feed_forward_cache)     # [copy] x goes into the sub-layer and around it
        dx, dh = self.self_attention_residual.backward(dx, norm_cache_1)
        dquery, dkey, dvalue = self.self_attention.backward(dh, attention_cache)
        return dx + dquery + dkey + dvalue                           # [copy] x is query, key and value, and goes around


class DecoderLayer:
    """The target attends to its own past, then to the memory, which is what the encoder has made of the source."""

    def __init__(self, d_model, num_heads, d_ff, dropout, rng):
        self.self_attention = MultiHeadAttention(d_model, num_heads, rng)
        self.self_attention_residual = Residual(d_model, dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, rng)
        self.cross_attention_residual = Residual(d_model, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, rng)
        self.feed_forward_residual = Residual(d_model, dropout)

    def forward(self, x, memory, mask, memory_mask, rng=None):       # (B, T_q, D), (B, T_k, D)
        h, attention_cache = self.self_attention.forward(x, x, x, mask)
        x, norm_cache_1 = self.self_attention_residual.forward(x, h, rng)
        h, cross_cache = self.cross_attention.forward(x, memory, memory, memory_mask)
        x, norm_cache_2 = self.cross_attention_residual.forward(x, h, rng)
        h, feed_forward_cache = self.feed_forward.forward(x)
        x, norm_cache_3 = self.feed_forward_residual.forward(x, h, rng)
        return x, (attention_cache, norm_cache_1, cross_cache, norm_cache_2, feed_forward_cache, norm_cache_3)

    def backward(self, dx, cache):
        attention_cache, norm_cache_1, cross_cache, norm_cache_2, feed_forward_cache, norm_cache_3 = cache
        dx, dh = self.feed_forward_residual.backward(dx, norm_cache_3)
        dx = dx + self.feed_forward.backward(dh, feed_forward_cache)     # [copy]
        dx, dh = self.cross_attention_residual.backward(dx, norm_cache_2)
        dquery, dkey, dvalue = self.cross_attention.backward(dh, cross_cache)
        dx, dmemory = dx + dquery, dkey + dvalue                     # [copy] x asks, the memory is key and value
        dx, dh = self.self_attention_residual.backward(dx, norm_cache_1)
        dquery, dkey, dvalue = self.self_attention.backward(dh, attention_cache)
        return dx + dquery + dkey + dvalue, dmemory                  # [copy]


class Transformer:
    """Token ids in, logits out. In the paper's base model V = 37000, D = 512, H = 8, d_ff = 2048, 6 layers, dropout 0.1."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout, seed=0):
        rng = np.random.default_rng(seed)
        self.embedding = Embedding(vocab_size, d_model, dropout, rng)
        self.encoder = [EncoderLayer(d_model, num_heads, d_ff, dropout, rng) for _ in range(num_layers)]
        self.decoder = [DecoderLayer(d_model, num_heads, d_ff, dropout, rng) for _ in range(num_layers)]
        for end in (one for name, one in parameters(self).items() if name.endswith(("output.weight", "outer.weight"))):
            end.data /= math.sqrt(2 * num_layers)                    # each sub-layer is faint at first (GPT-2, section 2.3)

    def forward(self, source, target, rng=None):                     # (B, T_k), (B, T_q)
        length = target.shape[1]
        source_mask = (source != PAD)[:, None, None, :]              # (B, 1, 1, T_k) padding mask: no key is padding
        target_mask = np.tril(np.ones((length, length), bool))       # (T_q, T_q) causal mask: no key is ahead, nor padding
        encoder_caches, decoder_caches = [], []
        memory, source_cache = self.embedding.forward(source, rng)   # (B, T_k, D)
        for layer in self.encoder:
            memory, cache = layer.forward(memory, source_mask, rng)  # (B, T_k, D)
            encoder_caches.append(cache)
        x, target_cache = self.embedding.forward(target, rng)        # (B, T_q, D)
        for layer in self.decoder:
            x, cache = layer.forward(x, memory, target_mask, source_mask, rng)       # (B, T_q, D)
            decoder_caches.append(cache)
        logits, logits_cache = self.embedding.logits_forward(x)      # (B, T_q, V)
        return logits, (source_cache, encoder_caches, target_cache, decoder_caches, logits_cache)

    def backward(self, dlogits, cache):
        source_cache, encoder_caches, target_cache, decoder_caches, logits_cache = cache
        dx = self.embedding.logits_backward(dlogits, logits_cache)
        dmemory = 0
        for layer, layer_cache in zip(reversed(self.decoder), reversed(decoder_caches)):
            dx, dmemory_of_layer = layer.backward(dx, layer_cache)
            dmemory = dmemory + dmemory_of_layer                     # [copy] every layer of the decoder reads the memory
        self.embedding.backward(dx, target_cache)                    # token ids have no gradient: this way ends here
        for layer, layer_cache in zip(reversed(self.encoder), reversed(encoder_caches)):
            dmemory = layer.backward(dmemory, layer_cache)
        self.embedding.backward(dmemory, source_cache)


# ---- 7. The loss, and a check that every backward is right ----------------------------------------------------

def cross_entropy_forward(logits, next_target, smoothing):           # (B, T_q, V), (B, T_q)
    """-sum_i q_i log p_i with p = softmax(logits), summed over all tokens but padding.

    q is the wanted answer. Label smoothing (section 5.4) spreads a part of it over the whole vocabulary, because no
    finite logits could give the right token a share of exactly 1.
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))            # (B, T_q, V)
    vocab_size = logits.shape[-1]
    q = (1 - smoothing) * np.eye(vocab_size)[next_target] + smoothing / vocab_size   # (B, T_q, V) eye[i] is 1 at token i
    real = (next_target != PAD)[..., None]                           # (B, T_q, 1)
    return -(real * q * log_p).sum(), (np.exp(log_p), q, real)

def cross_entropy_backward(dloss, cache):
    """As log p_i = x_i - log sum_j exp(x_j) and q adds up to 1: the share a token has minus the share it should have."""
    p, q, real = cache
    return dloss * real * (p - q)                                    # [chain]; padding teaches nothing


def add_gradients(model, batch, smoothing, rng=None):
    """Forward, loss, backward: returns the mean loss of a real token and adds its gradients to the parameters'."""
    source, target, next_target = batch
    num_tokens = (next_target != PAD).sum()                          # not B T_q, which would count padding
    logits, cache = model.forward(source, target, rng)
    loss, loss_cache = cross_entropy_forward(logits, next_target, smoothing)
    model.backward(cross_entropy_backward(1 / num_tokens, loss_cache), cache)
    return loss / num_tokens


def gradient_check(model, batch, count=3, size=1e-5):
    """Nudge a few numbers of each parameter, compare how the loss moves with the gradient: (largest error, parameter)."""
    def loss(parameter, i, nudge):
        parameter.data.flat[i] += nudge
        value = add_gradients(model, batch, 0.1, np.random.default_rng(1))   # the same seed drops the same numbers
        parameter.data.flat[i] -= nudge
        return value

    add_gradients(model, batch, 0.1, np.random.default_rng(1))
    gradients = {name: parameter.grad.copy() for name, parameter in parameters(model).items()}   # each nudged loss adds more
    floor = max(np.abs(gradient).max() for gradient in gradients.values()) / 10      # errors of tiny gradients count less
    rng, errors = np.random.default_rng(2), []
    for name, parameter in parameters(model).items():
        for i in rng.integers(parameter.data.size, size=count):
            slope, numeric = gradients[name].flat[i], (loss(parameter, i, size) - loss(parameter, i, -size)) / (2 * size)
            errors.append((abs(slope - numeric) / max(abs(slope), abs(numeric), floor), name))
    for parameter in parameters(model).values():
        parameter.grad[...] = 0
    return max(errors)


# ---- 8. Training ----------------------------------------------------------------------------------------------

def schedule(step, d_model, warmup):
    """The learning rate rises for `warmup` steps, then falls as 1 / sqrt(step) (section 5.3, equation 3)."""
    return d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def adam_step(model, step, learning_rate, clip=1.0, beta1=0.9, beta2=0.98, epsilon=1e-9):
    """Each number moves by the mean of its gradient, divided by the gradient's usual size (section 5.3); step is 1, 2, ..."""
    learned = parameters(model).values()
    norm = math.sqrt(sum((parameter.grad ** 2).sum() for parameter in learned))
    for parameter in learned:
        g = parameter.grad * (clip / max(norm, clip))                # norm at most `clip`, which is not in the paper
        parameter.m += (1 - beta1) * (g - parameter.m)               # a running mean of the gradient
        parameter.v += (1 - beta2) * (g * g - parameter.v)           # a running mean of its square
        mean = parameter.m / (1 - beta1 ** step)                     # both started at 0, which this makes up for
        square = parameter.v / (1 - beta2 ** step)
        parameter.data -= learning_rate * mean / (np.sqrt(square) + epsilon)
        parameter.grad[...] = 0


# ---- 9. Writing with a trained model --------------------------------------------------------------------------

def greedy(model, source):                                           # (B, T_k)
    """Append the most likely token until every target has ended, or is 50 tokens longer than the source (section 6.1).

    In training, the decoder reads the right target. Here it reads what it has written itself so far.
    """
    target = np.full((len(source), 1), BOS)                          # (B, 1)
    while target.shape[1] < source.shape[1] + 50 and not (target == EOS).any(axis=1).all():
        logits, _ = model.forward(source, target)                    # (B, T_q, V) all of it again for each new token
        next_ids = EOS + logits[:, -1, EOS:].argmax(axis=-1)         # (B,) never PAD or BOS, which come before EOS
        target = np.concatenate([target, next_ids[:, None]], axis=1)
    return [ids[: ids.index(EOS)] if EOS in ids else ids for ids in target[:, 1:].tolist()]


# ---- 10. Learn to copy ----------------------------------------------------------------------------------------

def draw_words(rng, count):
    return ["".join(rng.choice(VOCABULARY[3:], size=rng.integers(2, 11))) for _ in range(count)]


def copy_batch(words):
    ids = [[VOCABULARY.index(letter) for letter in word] for word in words]
    return make_batch(list(zip(ids, ids)))


def main(seed=0, steps=1000, count=200, d_model=64):
    rng = np.random.default_rng(seed)
    small = Transformer(len(VOCABULARY), d_model=8, num_heads=2, d_ff=12, num_layers=2, dropout=0.1)
    print("gradient check: largest error {:.0e}, in {}".format(*gradient_check(small, copy_batch(draw_words(rng, 3)))))

    unseen = ["attention", "is", "all", "you", "need", *draw_words(rng, count)]
    model = Transformer(len(VOCABULARY), d_model, num_heads=4, d_ff=128, num_layers=2, dropout=0.0)
    for step in range(1, steps + 1):
        words = [word for word in draw_words(rng, 32) if word not in unseen]
        loss = add_gradients(model, copy_batch(words), smoothing=0.1)    # no rng, no dropout: new words each time
        adam_step(model, step, 0.2 * schedule(step, d_model, warmup=100) * (1 - step / steps))    # the last updates are small
        if step % 100 == 0:
            print(f"step {step:4}  loss {loss:.3f}")

    source, _, _ = copy_batch(unseen)
    copies = ["".join(VOCABULARY[i] for i in ids) for ids in greedy(model, source)]
    for word, copy in zip(unseen[:5], copies):
        print(f"{word} -> {copy}")
    print(f"exact match: {np.mean(np.array(copies) == unseen):.1%} of {len(unseen)} words that were never in training")


if __name__ == "__main__":
    main()
