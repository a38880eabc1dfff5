"""Your Transformer, from a blank file.

Write six functions below, with NumPy and with anything that you have written before: `from my_transformer import attention`.
Then `minitransformer learn plug` compares them with the paper in one file, names the first thing that is wrong, and trains
your model until it writes words backwards. A function that is missing here is replaced by the library's.

    forward(weights, source, target, dropout=0.0, rng=None) -> logits, cache
        source: ids (B, T_k); target: ids (B, T_q), beginning with 1; 0 is padding. logits: (B, T_q, 29). cache: up to you.
        with a NumPy generator as rng: dropout after each sub-layer and on each sum of embedding and positions; else none
    backward(dlogits, cache, weights) -> gradients
        a dict with the names of `weights`, each gradient in the shape of its array
    loss(logits, next_target) -> total, dlogits
        total: the sum of -log p over the tokens of next_target (B, T_q) that are not padding; dlogits: its gradient
    adam_step(w, g, m, v, t, learning_rate, beta1, beta2, epsilon) -> w, m, v
        the exercise of chapter 11: importing it is enough
    greedy(weights, source, length) -> ids (B, length)
        one token after another, each the most likely of 2 and above, beginning after a 1; what follows a 2 does not count
    train(pairs, rng, dropout, warmup) -> yields (loss, weights) after each step, for as long as it is asked
        It calls the four functions above by their names, each once in a step; adam_step may be called for each array.
        - The initial matrices have mean 0 and variance 2 / (rows + columns), the embedding D^-1/2 as its standard deviation.
          Each gamma is 1; each bias and beta is 0. rng draws the weights, the batches and the dropout.
        - A batch is 32 of the pairs (list of source ids, list of target ids). The source ends with a 2. The target begins with
          a 1, and next_target ends with a 2. Shorter rows are filled up with 0.
        - The loss and its gradient are means over the tokens of next_target that are not padding.
        - If the norm of all gradients together is above 1, they are scaled so that it is 1.
        - Adam has beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9 and the paper's learning rate (chapter 11); the first step is 1.

The model is the paper's, post-norm, with 4 heads, 2 layers on each side, and epsilon 1e-5 in LayerNorm. One matrix
embeds the source, embeds the target and makes the logits. `weights` is a dict of arrays, with D = 32 and d_ff = 64:

    embedding.weight                                                                        (29, D)
    encoder.0.self_attention.query.weight, .bias; also key, value, output                   (D, D), (D,)
    encoder.0.feed_forward.inner.weight, .bias; also outer, from d_ff to D                  (D, d_ff), (d_ff,)
    encoder.0.self_attention_residual.gamma, .beta; also feed_forward_residual              (D,), (D,)
    encoder.1. and so on; decoder.0. and decoder.1. have cross_attention and cross_attention_residual, too

One flag: if `source` is None, the model is decoder-only. Then `weights` has no encoder and no cross-attention, and the sizes are
those of its arrays. When your model reverses words and `my_text.txt` is in this folder, the next plug teaches it to write like
that text, and my_transformer.html becomes a page to send to a friend.
"""
