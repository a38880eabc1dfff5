# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 13b. Inside: what a head has learned

# %%
from minitransformer_course import lab, yours

lab.you_are_here("attention", "heads", "residual")

# %% [markdown]
# Tell a chat model that your cat is called *Zwirbelkopf*, and a few lines later it writes that
# name without a mistake. No weight has changed since you typed it. The model did not learn the
# name but looked it up in your text, so what it learned long before is how to look something up.
# Where in its weights is such an ability, and how would you prove that you have found it?
#
# In this chapter you train the smallest model that has it, and watch the ability appear within a
# few dozen steps. Then you take the model apart.

# %%
import numpy as np

from minitransformer import Adam, fast, gradcheck, training_step
from minitransformer.data.special import EOS, PAD
from minitransformer.data.windows import WindowBatch

heads, letters, contributions = lab.heads, lab.LETTERS, lab.own("contributions")

# %% [markdown]
# ## A text with nothing to know
#
# Random letters make a name that the model cannot have met before. Each text is a random word of
# 4 to 12 different letters, written again and again. The first time round, its letters cannot be
# predicted, so they do not count. As in chapter 6, their target is padding.
#
# **By hand.** A model that knows nothing pays $\ln 26 = 3.26$ for each letter. One that remembers
# which eight letters the word consists of, but not their order, pays about $\ln 8 = 2.08$. One
# that looks them up pays only for the first letter of the second round, which nothing announces.


# %%
def repeated(rng, count, T=32):
    """`count` texts of T letters, each a random word again and again; targets: repeated letters."""
    n = rng.integers(4, 13, count)
    ids = np.array([np.resize(EOS + 1 + rng.permutation(26)[:k], T + 1) for k in n])
    target = np.where(np.arange(1, T + 1) >= n[:, None], ids[:, 1:], PAD)
    return WindowBatch(ids[:, :-1], target, np.count_nonzero(target))


unseen = repeated(np.random.default_rng(99), 64)
print(letters.decode(unseen.ids[0]))

# %% [markdown]
# The model is a language model as in chapter 12b, with one head of 32 numbers in each layer and
# without feed-forward networks. So whatever it learns, its heads have learned.
#
# ## What it would have to do
#
# The text is *kingdomsk*, and the model has to continue it. It can do so if the last *k* looks at
# the *i*, because *i* is the letter that came after *k* last time. A head that does this wherever
# a letter has occurred before is called an *induction head* ([Olsson et al.
# 2022](https://arxiv.org/abs/2209.11895)). To recognise one, measure how much of its attention
# goes to such places.
#
# **By hand.** In *abcab*, the last letter may look at five positions. Its letter, *b*, occurred
# before at position 1, and the letter after that is at position 2. If the weights of this query
# are 0.1, 0, 0.7, 0.1 and 0.1, its share is 0.7.

# %% [exercise] prefix_score

# %% [derivation]
# **The rule: compare letters, then move one position to the right.** Whether the letter at $s$ is
# the one at $t$ is a table of shape $(B, T, T)$ with the query $t$ first. The place to look at is
# $s + 1$, so the table moves by one column, and column 0 becomes False because nothing comes
# before it. The last equal letter of each query is the query itself, and what comes after it lies
# in the future, so everything above the diagonal is False, too.
#
# The weight on all marked places is the sum $\sum_s p_{bhts} \, a_{bts}$, of shape $(B, H, T)$. A
# query without a marked place adds 0 to the numerator and must not be counted in the denominator,
# which is the number of queries that have one.

# %% [markdown]
# ## The loss falls at once
#
# The next cells train three models with two layers and three with one, each from its own seed,
# with your functions inside. **Predict:** could a model of one layer learn to look up the next
# letter, if you trained it for long enough?


# %%
def learn(num_layers, seed, steps=500, num_heads=1):
    """A trained model, its losses, and {step: the prefix score of each layer's head}."""
    model, rng = heads.attention_only(num_layers, num_heads, seed), np.random.default_rng(seed)
    adam, losses, scores = Adam(model), [], {}
    for step in range(steps):
        if step % 20 == 0:
            weights = model.attention_weights(unseen.ids)["decoder"]
            scores[step] = [prefix_score(p, unseen.ids)[0] for p in weights]
        batch = repeated(rng, 32)
        sums = training_step(model, adam, batch, 0.01 * min(1, (step + 1) / 50))
        losses.append(sums.loss / batch.terms)
    return model, losses, scores


# %%
with lab.own_functions(), fast():
    runs = {layers: [learn(layers, seed) for seed in range(3)] for layers in (2, 1)}
model, _losses, scores = runs[2][-1]
heads.show_cliff({layers: [losses for _, losses, _ in runs[layers]] for layers in runs}, scores)

# %% [markdown]
# With two layers, the loss creeps at first and then falls within about sixty steps, while the
# score of the second head rises. Olsson et al. report the same of language models: such heads
# appear at the point of training at which the loss has a bump.
#
# With one layer there is no cliff. A score compares a query with a key, and in the first layer a
# key knows only its own letter and its position. To be found, the *i* would have to say "*k* came
# before me", but no position knows its neighbours yet. All that one layer can see is which
# letters occur, so its loss ends near $\ln 8$.
#
# ## Two heads, one after the other
#
# **Predict:** in the second layer of the trained model, where does the second *d* of
# *kingdomskingdoms* look?


# %%
def run(model, ids, edit=lambda layer, added: added):
    """Logits; x before, between and after the layers; what each head adds, edited; its weights."""
    xs, parts, weights = [model.input.forward(ids)[0]], [], []    # x: (B, T, D)
    for i, layer in enumerate(model.stack.layers):
        attention, entered = layer.self_attention, layer.self_attention_residual.enter(xs[-1])[0]
        _y, cache = attention.forward(entered, np.tri(ids.shape[1], dtype=bool))
        added = contributions(attention.split(cache.output.x), attention.output.weight.data)
        parts.append(edit(i, added))    # (B, H, T, D)
        xs.append(xs[-1] + parts[-1].sum(axis=1) + attention.output.bias.data)
        weights.append(attention.attended(cache))
    return model.output.forward(model.stack.norm.forward(xs[-1])[0])[0], xs, parts, weights


# %%
word = "kingdomskingdoms"
ids = np.array([letters.encode(word)])
_logits, xs, _parts, weights = run(model, ids)
heads.show_looks(weights, word)

# %% [markdown]
# In the lower half of the right picture, nearly every letter looks at the one that followed it the
# first time, so the second *d* looks at the first *o*. The left picture shows how it finds that
# place. The first layer's head looks at the letter just before (a *previous-token head*) and adds
# what it finds to $x$. In layer 2, the key of the *o* can therefore say that it came after a *d*.
#
# ## Read every layer
#
# A layer of this model only adds to $x$, so after each one you can ask what the model would write
# if it stopped there. Do with that $x$ what is done with the last one: apply the final LayerNorm,
# then the output matrix. This is called the *logit lens* ([nostalgebraist
# 2020](https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru)).

# %% [exercise] lens

# %% [derivation]
# **The rule: the residual path is a sum, and each partial sum has the shape that the output
# matrix expects.** Let $x^{(l)}$, of shape $(T, D)$, be the sum after $l$ layers. Then
#
# $$ \operatorname{LayerNorm}(x^{(l)})\, W^\top \qquad (T, V), \qquad
#    \log p_{lt} = z_{lt,\,next(t)} - m - \log \sum_v e^{z_{ltv} - m} $$
#
# where $z$ are the logits and $m$ is the maximum of their row, as in chapter 4. The final
# LayerNorm belongs to the reading, because $W$ was trained on rows that it has normalised, and
# $x$ grows from layer to layer.

# %% [markdown]
# **Predict:** does the right letter become likelier after each of the two layers, or does one of
# them bring all of it?


# %%
def read(model, xs, target):
    """The log-probability of each target (B, T), read from each x of `xs`: (3, B, T)."""
    norm, W = model.stack.norm, model.output.weight.data
    rows = np.array(xs).reshape(len(xs), -1, W.shape[1])
    log_p = lens(rows, norm.gamma.data, norm.beta.data, W, target.ravel(), norm.epsilon)
    return log_p.reshape(len(xs), *target.shape)


heads.show_read(np.exp(read(model, [x[:, :-1] for x in xs], ids[:, 1:])[:, 0]), word)

# %% [markdown]
# The first layer does half of the work, and the lens shows nothing of it, because "I came after a
# *d*" is not a guess about the next letter. A lens shows what could be written now, and not
# everything that $x$ holds.
#
# ## Switch a head off
#
# Pictures are no proof. The second head may look at the right letter while the rest of the model
# ignores what it finds. So take away what a head adds to $x$, which is called an *ablation*, and
# measure what is lost. **Predict:** if you switch off the first head, what happens to the score
# of the second one?


# %%
def switch_off(model, layer, head):
    def without(i, added):
        return added * ((i != layer) | (np.arange(added.shape[1]) != head))[:, None, None]

    _logits, xs, _parts, weights = run(model, unseen.ids, without)
    loss = -read(model, xs, unseen.next_target)[-1][unseen.next_target != PAD].mean()
    scores = prefix_score(weights[1], unseen.ids).round(2)
    return f"loss {loss:.2f}, prefix scores in layer 2: {scores}"


for off, name in ((None, "none"), (0, "layer 1"), (1, "layer 2")):
    print("off:", name, switch_off(model, off, 0), sep="  ")

# %% [markdown]
# Without the first head, the second one no longer finds the place, although none of its own
# weights has changed. Without the second one, the model does worse than guessing. The two are one
# mechanism, and it needs both of them.
#
# Now give each layer four heads. **Predict:** how much does the loss rise if you switch off the
# head with the best score?

# %%
with fast():
    four = learn(2, seed=0, num_heads=4)[0]
print("off:", "none", switch_off(four, None, 0), sep="  ")
for layer, head in np.ndindex(2, 4):
    print("off:", f"layer {layer + 1}, head {head}", switch_off(four, layer, head), sep="  ")

# %% [markdown]
# Several heads have learned the same job, so no single one is missed, as in chapter 7, where all
# four heads looked at the same letter. A small loss after an ablation says that the model can do
# without this head. It does not say that the head does nothing.
#
# ## Move an activation
#
# An ablation shows that a head is needed, but not what it carries. Take two texts that differ in
# one letter, *kingdomsk* and *xingdomsk*. After the first one, the model writes *i*. In the
# second one, *k* has not occurred before, so it writes something else. Now run the second text
# again, but at one position, replace what one head adds by what it added in the first text. If
# the model prefers *i* again, this vector carried what was missing. The method is called
# *activation patching*.
#
# ## One backward for all patches
#
# Each patch costs a forward, for each head and each position. But you know a cheaper way to ask
# what a small change of any number would do. Let $d$ be the logit of the right letter minus the
# logit of the wrong one. One backward gives the gradient of $d$ with respect to every $x$, and a
# patch changes $d$ by about the product of this gradient and the difference of the two vectors.
# This is called *attribution patching*
# ([Nanda](https://www.neelnanda.io/mechanistic-interpretability/attribution-patching)).

# %% [exercise] difference_backward

# %% [derivation]
# **The rule: a logit is the product of $y$ and a row of $W$.** So $d = y \cdot (W_{right} -
# W_{wrong})$, and its gradient with respect to $y$ is $W_{right} - W_{wrong}$, of shape $(B, D)$.
# There is no softmax in it, so the other letters do not matter. Then comes LayerNorm, with $dn =
# dy\, \gamma$ and the three terms of chapter 8:
#
# $$ dx = s \left( dn - \operatorname{mean}(dn) - n \operatorname{mean}(dn\, n) \right)
#    \qquad (B, D) $$

# %% [markdown]
# **Prove it**, with the final LayerNorm and the output matrix of the trained model:

# %%
W, norm = model.output.weight.data, model.stack.norm
right, wrong = np.array([7]), np.array([11])


def forward(x):
    y, kept = norm.astype(x.dtype).forward(x)
    logits = y @ W.astype(x.dtype).T
    return logits[:, right[0]] - logits[:, wrong[0]], kept


# %%
def backward(dd, kept):
    given = kept.normed, kept.inverse, kept.gamma, W.astype(dd.dtype)
    return dd[:, None] * difference_backward(*given, right, wrong)


report = gradcheck((forward, backward), [xs[-1][0, :1].astype(float)], name="difference")
print(report)
assert report.passed

# %% [markdown]
# Your function gives the gradient after layer 2, and layer 2's backward carries it on to the $x$ after layer 1.
# **Predict:** at which position of which layer does a patch bring back the *i*?


# %%
clean, other = (np.array([letters.encode(text)]) for text in ("kingdomsk", "xingdomsk"))
parts, (start, xs, others, _weights) = run(model, clean)[2], run(model, other)
right, wrong, T = np.array(letters.encode("i")), start[0, -1:].argmax(axis=-1), clean.shape[1]
measured, estimated = np.zeros((2, 2, T))
for layer, t in np.ndindex(2, T):
    def here(i, added):
        return np.where((i == layer) & (np.arange(T)[:, None] == t), parts[i], added)

    moved = (run(model, other, here)[0] - start)[0, -1]
    measured[layer, t] = moved[right[0]] - moved[wrong[0]]

# %%
cache, dx = model.hidden(other)[1].stack, np.zeros_like(xs[0])
dx[:, -1] = backward(np.ones(1, W.dtype), model.stack.norm.forward(xs[-1][:, -1])[1])
gradients = model.stack.layers[1].backward(dx, cache.layers[1]), dx    # after layers 1 and 2
for layer in (0, 1):
    estimated[layer] = ((parts[layer] - others[layer])[0, 0] * gradients[layer][0]).sum(axis=-1)
heads.show_patches(measured, estimated, "xingdomsk")

# %% [markdown]
# At the *i*, layer 1 writes down "after *k*", and at the last *k*, layer 2 fetches the *i*. The
# blue square is a third effect. The first letter has nothing before it, so the first layer's head
# looks at the letter itself, and *k* claims that it came after a *k*. The gradient finds the same
# places, but not the same sizes, because a softmax that moves from one position to another is far
# from linear.
#
# ## The name of the cat
#
# *Zwirbelkopf* has eleven different letters, so you can tell this model the name, too. It reads the
# name and one more *z*, and then it writes: with both heads, without the first, and without the
# second.

# %%
for off in (None, 0, 1):
    text = "zwirbelkopfz"
    while len(text) < 22:
        ids = np.array([letters.encode(text)])
        logits = run(model, ids, lambda i, added: added * (i != off))[0]
        text += letters.decode([logits[0, -1].argmax()])
    print(text)

# %% [markdown]
# The name was never in a weight. It is in the keys and values of its letters, the cache of chapter
# 12, and two heads have learned to look it up there. For larger models, Olsson et al. call their
# own evidence correlational.
#
# ## Your Transformer
#
# The next cell writes a page on which you can click through this model and all of its gradients.
# The page knows only the paper's layers, so it shows feed-forward networks, made of zeros.

# %%
lab.run_yours("13b")
lab.open_explorer(heads.with_zeros(model), letters, word)

# %% [markdown]
# In the next chapter, you teach a model something new.
#
# **Read next:** `CachedStack` in `minitransformer/decoding/cached.py`, which keeps what a head
# looks at, then `attention_map` in `minitransformer/pictures/attention_map.py`, which shows the
# heads of any trained run.
