"""Your Transformer, from a blank file.

Write five functions below, with NumPy and with anything that you have written before: `from my_transformer import attention`.
Then `minitransformer learn plug --all` compares them with the paper in one file, names the first thing that is wrong, and trains
your model until it writes words backwards. A function that is missing here is replaced by the library's.

    forward(weights, source, target) -> logits, cache
        source: ids (B, T_k); target: ids (B, T_q), beginning with 1; 0 is padding. logits: (B, T_q, 29). cache: up to you.
    backward(dlogits, cache, weights) -> gradients
        a dict with the names of `weights`, each gradient in the shape of its array
    loss(logits, next_target) -> total, dlogits
        total: the sum of -log p over the tokens of next_target (B, T_q) that are not padding; dlogits: its gradient
    adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon) -> w, m, v
        the exercise of chapter 11: importing it is enough
    greedy(weights, source, length) -> ids (B, length)
        one token after another, each the most likely of 2 and above, beginning after a 1; what follows a 2 does not count

The model is the paper's, post-norm, with 4 heads, 2 layers on each side, epsilon 1e-5 in LayerNorm, and no dropout. One matrix
embeds the source, embeds the target and makes the logits. `weights` is a dict of arrays, with D = 32 and d_ff = 64:

    embedding.weight                                                                        (29, D)
    encoder.0.self_attention.query.weight, .bias; also key, value, output                   (D, D), (D,)
    encoder.0.feed_forward.inner.weight, .bias; also outer, from d_ff to D                  (D, d_ff), (d_ff,)
    encoder.0.self_attention_residual.gamma, .beta; also feed_forward_residual              (D,), (D,)
    encoder.1. and so on; decoder.0. and decoder.1. have cross_attention and cross_attention_residual, too
"""
