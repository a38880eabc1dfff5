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
# # 10. The loss: what one number says, and where it stops

# %%
from minitransformer.learn import lab, yours

lab.you_are_here("loss")

# %% [markdown]
# The model of this book writes every word backwards without a mistake. It was trained with label smoothing, the paper's
# $\epsilon = 0.1$, and here is its loss.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Adam, Transformer, gradcheck, make_batch, training_step
from minitransformer.data.drawn import draw_held_out
from minitransformer.tasks import TASKS
from minitransformer.training.evaluation import exact_match

model, vocabulary = lab.drawkcab()
pairs = draw_held_out(TASKS["reverse"](), 300)
unseen, K = make_batch(pairs), vocabulary.size
sums, cache = model.loss_forward(unseen, smoothing=0.1)
print(f"words written right: {exact_match(model, pairs):.0%}, loss for each token: {float(sums.loss) / unseen.terms:.4f}")

# %% [markdown]
# All words are right, and yet 0.6392 is left. You could train this model for a month, and the number would not move. In
# this chapter you find out where it comes from, and also why a loss that is stuck at 3.26 says that a model cannot read.
#
# ## What the number says
#
# At each position, the model gives every token of its vocabulary a probability. The loss of a token is $-\ln p$ of the
# *target*, the token that should come next. It is 0 if the model was certain and right, and it grows without limit as $p$
# goes to 0. The vocabulary has 29 entries: 26 letters, the two ends of a word, and padding.
#
# **Predict:** a model that gives all 29 the same probability has a loss of $\ln 29 = 3.37$. Does a model with random initial
# weights start there, or above?

# %%
for seed in range(3):
    fresh = Transformer(lab.CONFIG, seed=seed)
    loss = float(fresh.loss_forward(unseen)[0].loss) / unseen.terms
    print(f"seed {seed}: loss {loss:.2f}, variance of the logits {fresh.forward(*unseen.inputs)[0].var(axis=-1).mean():.2f}")

# %% [markdown]
# Above. Its logits are not equal but random, so it is wrong with some confidence. Logits with variance $s^2$ cost about
# $s^2 / 2$ more than $\ln 29$. If your own model starts far higher, look at its initial weights before anything else.
#
# Now we train two models to reverse words of eight random letters. The second is *blind*: in its source, every letter was
# replaced by an *a*. **Predict** the best loss for a letter that a blind model can reach.


# %%
def train(blind, steps=240):
    """The model, and at each step the mean loss of a letter."""
    model, rng = Transformer(lab.CONFIG, seed=0), np.random.default_rng(0)
    adam, losses = Adam(model), []
    for step in range(1, steps + 1):
        words = rng.integers(3, 29, (16, 8)).tolist()
        batch = make_batch([([3] * 8 if blind else word, word[::-1]) for word in words])
        losses.append(-model.loss_forward(batch)[1].loss.log_likelihood[:, :8].mean())
        training_step(model, adam, batch, learning_rate=0.002 * min(1, step / 20))
    return model, losses


# %%
half_trained, reading = train(blind=False)
_, blind = train(blind=True)
figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
axes.plot(blind, "--", color="tab:gray", label="blind")
axes.plot(reading, color="black", label="reads its source")
axes.axhline(np.log(26), color="gold", zorder=0)
axes.set(xlabel="training step", ylabel="loss of a letter (nats)", ylim=(0, 4.2))
shown = axes.legend()
print(f"ln 26 = {np.log(26):.3f}; blind, last 100 steps: {np.mean(blind[-100:]):.3f}")

# %% [markdown]
# It reaches $\ln 26 = 3.26$ and stays on that shelf. Without the source, all letters are equally likely, and the best that a
# model can do is to give each of them $1/26$. For fifty steps, the two curves are one: both models learn *that* a letter
# comes next, which needs no source. Then the attention of one of them begins to find out *which*. A larger model may rest on the
# shelf for long, and chapter 11 has one that never leaves it. There, look at what the decoder gets to see of the source.
#
# ## One row by hand
#
# **By hand.** Two tokens have the probabilities $p = (1/4, 3/4)$, and the target is the first one, so the loss is
# $\ln 4 = 1.39$. How does it answer to the two logits? Chapter 4 measured how $p_1$ answers: by $3/16$ to the first logit
# and by $-3/16$ to the second. The derivative of $-\ln p_1$ is $-1 / p_1 = -4$. Multiply: the gradient is
# $(-0.75, 0.75)$.
#
# **Predict** the gradient if the target is the second token.

# %%
x, nudge = np.log([1 / 4, 3 / 4]), 1e-6 * np.eye(2)
loss, below = (np.logaddexp(*(x + step * nudge).T) - (x + step * nudge)[:, 1] for step in (1, -1))
print("measured:", ((loss - below) / 2e-6).round(4))

# %% [markdown]
# The model that expected less is pulled three times as hard. The general formula is the most useful line of this chapter,
# and it is short. You have its parts: `log_softmax_backward` of chapter 4, and a loss that is one number of each row.
# Padding has no loss (chapter 6), and therefore no gradient.

# %% [exercise] cross_entropy_backward

# %% [derivation]
# **The rule: the chain rule, from the loss down.** Write $y = \ln p$, and $q$ for a row with 1 at the target and 0 elsewhere.
# The loss of a row is $-\sum_i q_i\, y_i$, so its gradient with respect to $y$ is $dy = -q$, of shape $(B, T, V)$. Chapter 4
# has the next step, $dx_j = dy_j - p_j \sum_i dy_i$, and because $q$ sums to 1,
#
# $$ dx = -q + p \sum_i q_i = p - q $$
#
# At the target that is $p - 1$, which is negative: a step against the gradient makes this logit larger. Everywhere else it is
# $p$, so the tokens that were believed most are pushed down most. Rows of padding are 0, and everything is multiplied by $dloss$.
# The derivation never used that $q$ is 0 and 1. It needs a sum of 1 and nothing else.

# %% [markdown]
# **Prove it**, with a random upstream gradient:


# %%
def forward(x, ids):
    log_p = x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
    return -(np.take_along_axis(log_p, ids[..., None], axis=-1)[..., 0] * (ids != 0)).sum(), (np.exp(log_p), ids)


rng = np.random.default_rng(0)
ids = np.array([[3, 1, 2], [4, 0, 0]])
report = gradcheck((forward, lambda dloss, cache: cross_entropy_backward(dloss, *cache)),
                   [rng.standard_normal((2, 3, 5)), ids], methods=["central"], name="cross-entropy")
print(report)
assert report.passed

# %% [markdown]
# **Break it.** One reading of the paper derives $q\,(p - 1)$ instead. Here are both, for a position at which the half-trained
# model from above is undecided. What does the slip tell the logits of the wrong letters?

# %%
batch = make_batch([(vocabulary.encode("backward"), vocabulary.encode("drawkcab"))])
p = np.exp(logits := half_trained.forward(*batch.inputs)[0])
p /= p.sum(axis=-1, keepdims=True)
t = (p ** 2).sum(axis=-1)[0].argmin()    # the least certain of nine positions
right = cross_entropy_backward(1.0, p, batch.next_target)[0, t]
target = np.arange(K) == batch.next_target[0, t]
figure, rows = plt.subplots(3, 1, figsize=(8, 4.6), sharex=True, layout="constrained")
for axes, row, name in zip(rows, (p[0, t], right, right * target), ("probability", "your gradient", "the slip")):
    axes.bar(range(3, K), row[3:], color="tab:gray" if name == "probability" else "tab:purple")
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set_ylabel(name)
rows[2].set_xticks(range(3, K), "abcdefghijklmnopqrstuvwxyz")
label = rows[2].set_xlabel(f"letter; the target is {vocabulary.decode([batch.next_target[0, t]])}")

# %% [markdown]
# Nothing at all. The letters that the model wrongly prefers are never pushed down. The row of the slip does not sum to 0, and by
# chapter 4 that alone convicts it.
#
# ## A model that is too sure
#
# When does this loss stop pulling? Take a single row of 29 logits, start with zeros, and follow the gradient with a learning
# rate of 1. The *gap* is how far the target's logit is above the others. **Predict:** from step 1,000 to step 10,000, does
# the gap stop, or does it grow?


# %%
def gaps(gradient, steps=10_000):
    """The gap of the logits after each step."""
    x, found = np.zeros((1, 1, K)), []
    for _ in range(steps):
        p = np.exp(x)
        x = x - gradient(p / p.sum())
        found.append(x[0, 0, 5] - x[0, 0, 6])
    return found


hard = gaps(lambda p: cross_entropy_backward(1.0, p, np.array([[5]])))
print(*(f"step {step:,}: gap {hard[step - 1]:.2f}" for step in (10, 100, 1000, 10_000)), sep=", ")

# %% [markdown]
# It grows, by $\ln 10 = 2.3$ for ten times as many steps, and it will never stop, since $p = 1$ needs an infinite gap. That the
# gradient comes close to 0 is no defect, because this is what convergence means. The defect is that the logits have no place to
# rest: the model becomes ever more certain of what it has seen.
#
# *Label smoothing* gives them one. Of each target's probability, $\epsilon$ is taken away and spread evenly over all $K$
# tokens, and the loss becomes $-\sum_i q_i \ln p_i$ with this new $q$.

# %% [exercise] smoothed_targets

# %% [derivation]
# **The shares.** Every token gets $\epsilon / K$. The target has $1 - \epsilon$ besides, and keeps its own part of what
# was spread, so that the row of $q$, $(K)$, sums to 1:
#
# $$ q_{target} = 1 - \epsilon + \frac{\epsilon}{K}, \qquad q_{other} = \frac{\epsilon}{K} $$
#
# **The floor: where the gradient is 0.** The gradient is still $p - q$, so the loss is smallest at $p = q$. Put that in, with
# one target and $K - 1$ others:
#
# $$ -\sum_i q_i \ln q_i = - q_{target} \ln q_{target} - (K - 1)\, q_{other} \ln q_{other} $$
#
# This is the *entropy* of $q$. For $\epsilon = 0$ the second term is 0, as $x \ln x$ goes to 0 with $x$, but NumPy makes NaN of
# `0 * log(0)`.

# %% [markdown]
# **Predict** the gap at which the logits rest for $\epsilon = 0.1$ and $K = 29$: at which $p$ is the gradient 0, and what
# is the difference of its logarithms?

# %%
ids = np.array([[5]])
q, floor = smoothed_targets(ids, K, 0.1)
soft = gaps(lambda p: p - q)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.semilogx(hard, color="black", label="without smoothing")
left.semilogx(soft, "--", color="tab:red", label="$\\epsilon$ = 0.1")
left.set(xlabel="step", ylabel="gap of the logits")
p = np.linspace(0.01, 0.9999, 500)    # of the target; the others share the rest
for eps, style in ((0, "k-"), (0.1, "r--"), (0.3, "b:")):
    q_target = smoothed_targets(ids, K, eps)[0][0, 0, 5]
    right.plot(p, -q_target * np.log(p) - (1 - q_target) * np.log((1 - p) / (K - 1)), style, label=f"$\\epsilon$ = {eps}")
right.set(xlabel="probability of the target", ylabel="loss (nats)", ylim=(0, 5))
shown = left.legend(), right.legend()

# %%
logits, _ = model.forward(*unseen.inputs)
target = np.arange(K) == unseen.next_target[..., None]
others = logits[~target].reshape(*target.shape[:2], K - 1)
gap = (logits[target].reshape(target.shape[:2]) - others.mean(axis=-1))[unseen.next_target != 0]
print(f"one row: gap {soft[-1]:.3f}, floor {floor:.4f}")
print(f"the trained model: gap {gap.mean():.3f}, loss {float(sums.loss) / unseen.terms:.4f}")

# %% [markdown]
# Four equal numbers, two by two. The trained model rests where your formula says, and 0.6392 is the floor: the loss of a
# model that makes no mistake. So never compare losses with and without smoothing.
#
# **Who is right?** The released Tensor2Tensor gives the target $1 - \epsilon$ and shares $\epsilon$ among the $K - 1$ others. The
# paper cites Szegedy, who spreads it over all $K$. Both rows sum to 1, and the one is the other with
# $\epsilon (K - 1) / K$, so both are right. What is wrong is a mixture, $1 - \epsilon$ with $\epsilon / K$, whose sum is not 1.
#
# ## Perplexity
#
# A loss in nats is hard to feel. **By hand:** the throws of a die get $1/6$ each. Their mean loss is $\ln 6$ for one throw as
# well as for a thousand, and the perplexity is 6, the number of equally likely answers. Now two tokens get $1/2$ and $1/8$.
# Which single probability, given to both, would make the pair just as likely? $1/4$, so the perplexity is 4. It has to be a
# number *for each token*: without that, every longer text would be worse.

# %% [exercise] perplexity

# %% [derivation]
# **The rule: the same number for each token.** $N$ tokens with $1 / PP$ each are as likely as the text is:
# $PP^{-N} = \prod_n p_n$. So $PP$ is the $N$-th root of $\prod_n 1 / p_n$, and the exponent $1/N$ says "for each token".
# A product of 4,000 probabilities is rounded to 0, so take logarithms:
#
# $$ \ln PP = -\frac{1}{N} \sum_n \ln p_n $$
#
# That is the mean loss without smoothing. The sum and $N$ run over all real tokens of all sentences, because a mean of the
# sentences' own perplexities is another number.

# %% [markdown]
# **Predict:** the trained model gives each target about 0.9. What is its perplexity for a letter, and what would it
# be for a word of nine tokens, if the word were one token?

# %%
p = np.exp(cache.loss.log_likelihood)    # (300, T)
one = perplexity(p, unseen.next_target)
print(f"for each token {one:.3f}, for nine of them {one ** 9:.2f}")

# %% [markdown]
# 1.1 and 2.5, for the same model and the same text. Perplexities of models with different vocabularies do not compare.
#
# ## The mean of means
#
# A batch that does not fit into memory is cut into *micro-batches*, whose gradients are added up before one update. In 2024,
# several large libraries turned out to do that wrongly for years: each micro-batch computed its own mean
# loss, and the means were averaged. Nothing crashes, and the curves look plausible. Here are four micro-batches of 8 words each.

# %%
lengths = np.array([2, 4, 8, 12])
parts = [make_batch([(word, word[::-1]) for word in rng.integers(3, 29, (8, n)).tolist()]) for n in lengths]
gradients, counts = [], np.array([float(part.terms) for part in parts])
for part in parts:
    half_trained.zero_grad()
    half_trained.loss_backward(1 / part.terms, half_trained.loss_forward(part)[1])
    gradients.append(half_trained.flat[1].copy())
gradients = np.array(gradients, float)    # (4, P): of each mean loss

# %% [exercise] accumulated

# %% [derivation]
# **The rule: sums add, means do not.** The gradient of a sum of losses is the sum of their gradients. A micro-batch with
# $n_m$ tokens and the mean's gradient $g_m$, of shape $(P)$, has the sum's gradient $n_m\, g_m$. Add these, and divide once:
#
# $$ g = \frac{\sum_m n_m\, g_m}{\sum_m n_m} $$
#
# A micro-batch without tokens adds nothing, but $0 \cdot NaN$ is NaN, so leave its row out. The library never has the
# problem, because its loss is a sum: `loss_backward` gets `1 / terms` of the complete batch as its $dloss$.

# %% [markdown]
# In the mean of means, a token of a word of 2 letters weighs more than one of a word of 12. How many times as much? The end
# of a word is a token, too.

# %%
right, wrong = accumulated(gradients, counts), gradients.mean(axis=0)
print(f"the gradient is off by {np.linalg.norm(wrong - right) / np.linalg.norm(right):.0%}")
figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
axes.bar(np.arange(4) - 0.2, 100 / counts / 4, 0.4, color="tab:red", label="mean of means")
axes.bar(np.arange(4) + 0.2, 100 / counts.sum(), 0.4, color="black", label="mean over all tokens")
axes.set_xticks(range(4), [f"{n} letters" for n in lengths])
axes.set(xlabel="micro-batch", ylabel="weight of one token (%)")
shown = axes.legend()

# %% [markdown]
# $13 / 3 = 4.3$ times. The model is pulled towards short texts, and more so with every cut.
#
# ## Your Transformer
#
# The loss is where every gradient begins. If your `cross_entropy_backward` passes, the gradients below start with it.

# %%
lab.at_work()

# %% [markdown]
# **Read next:** `cross_entropy_forward` and `cross_entropy_backward` in `minitransformer/functional/cross_entropy.py`, on one
# screen, and `training_step` in `minitransformer/training/step.py`, where the sum is divided by the tokens of all micro-batches.
