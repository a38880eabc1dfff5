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
from minitransformer_course import lab, yours

lab.you_are_here("loss")

# %% [markdown]
# The next thing that is missing between *drawkcab* and a chat model is one number: how wrong is the model? All gradients begin
# with it. Here it is for this book's model, which writes every word backwards without a mistake. It was trained with label
# smoothing, the paper's $\epsilon = 0.1$.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Transformer, functional, gradcheck, make_batch
from minitransformer.tasks.evaluation import exact_match

model, vocabulary = lab.drawkcab()
pairs, K = lab.training.unseen_pairs(300), vocabulary.size
unseen = make_batch(pairs)
sums, cache = model.loss_forward(unseen, smoothing=0.1)
print(f"words written right: {exact_match(model, pairs):.0%}, loss for each token: {float(sums.loss) / unseen.terms:.4f}")

# %% [markdown]
# All words are right, yet the loss is not 0, and more training would not change it. In this chapter you find out where 0.6392
# comes from, and what a loss stuck at 3.26 tells you.
#
# ## What the number says
#
# At each position, the model gives every token in its vocabulary a probability. The loss is $-\ln p$, with the
# probability $p$ of the *target*, the token that should come next. It is 0 if the model was certain and right, and grows
# without bound as $p$ goes to 0. The vocabulary has 29 entries: 26 letters, the two ends of a word, and padding.
#
# **Predict:** a model that gives all 29 the same probability has a loss of $\ln 29 = 3.37$. Does a model with random initial
# weights start there, or above?

# %%
for seed in range(3):
    fresh = Transformer(lab.CONFIG, seed=seed)
    loss = float(fresh.loss_forward(unseen)[0].loss) / unseen.terms
    print(f"seed {seed}: loss {loss:.2f}, variance of the logits {fresh.forward(*unseen.inputs)[0].var(axis=-1).mean():.2f}")

# %% [markdown]
# Its logits are not equal but random, so it is wrong with some confidence. Logits with variance
# $s^2$ add about $s^2 / 2$ to $\ln 29$ if none of them stands out. Here one does, and costs more:
# the logit of the letter that the decoder has just read, because one matrix embeds the letters and
# makes the logits. If a model of yours starts far above $\ln V$, its *initialisation* is too large.
# In chapter 9's small model, with $\ln V = 11.1$, Kaiming's variance $2 / m$ for the output layer
# adds 1, and Xavier's rule (chapter 8b) next to nothing.
#
# Now we train two models to reverse words of eight random letters. The second is *blind*, because in its source every
# letter has been replaced by an *a*. (`reverse` is the training loop that chapter 11 writes out.) **Predict** the lowest loss per
# letter that a blind model can reach.

# %%
half_trained, reading = lab.training.reverse(steps=240)
_model, blind = lab.training.reverse(steps=240, blind=True)
figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
lab.show_losses(axes, {"reads its source": reading, "blind": blind}, (math.log(26), "ln 26"), of="letter")
print(f"ln 26 = {math.log(26):.3f}; blind, last 100 steps: {np.mean(blind[-100:]):.3f}")

# %% [markdown]
# For seventy steps the two curves coincide, because both models learn *that* a letter comes next, which needs no source. Then
# the attention of one of them begins to find out *which* letter. The other has to give each a probability of $1/26$, and stays
# on the *plateau* of $\ln 26 = 3.26$. If your model stays there, check what its decoder sees of the source.
#
# ## One row by hand
#
# **By hand.** Two tokens have the probabilities $p = (1/4, 3/4)$. The *target*, the one that should
# come next, is the first, so the loss is $-\ln p_1 = \ln 4 = 1.39$. How does it respond to the two
# *logits*, the scores that softmax made into $p$? In chapter 4 you measured how $p_1$ responds,
# with a derivative of $3/16$ for the first logit and $-3/16$ for the second. The derivative of
# $-\ln p_1$ is $-1 / p_1 = -4$. The products are the gradient, $(-0.75, 0.75)$.
#
# **Predict** the gradient if the target is the second token.

# %%
x, nudge = np.log([1 / 4, 3 / 4]), 1e-6 * np.eye(2)
loss, below = (np.logaddexp(*(x + step * nudge).T) - (x + step * nudge)[:, 1] for step in (1, -1))
print("measured:", ((loss - below) / 2e-6).round(4))

# %% [markdown]
# The less likely target pulls three times as hard. The general formula is short, and two steps lead
# to it: the derivative of $-\ln p$ at the target, and `softmax_backward` from chapter 4. Short
# texts in a batch are filled up with *padding* (id 0). A position whose target is padding has no
# loss, and therefore no gradient.

# %% [exercise] cross_entropy_backward

# %% [derivation]
# **The chain rule, from the loss down.** Let $q$ be a row with 1 at the target and 0 elsewhere. The loss of a row is $-\sum_i
# q_i \ln p_i$, so $dp_i = -q_i / p_i$, of shape $(B, T, V)$. The next step is the softmax, $dx_j = p_j (dp_j - \sum_i dp_i\,
# p_i)$. In it, $p_j\, dp_j = -q_j$, and the sum is $-\sum_i q_i = -1$, so
#
# $$ dx = p - q $$
#
# At the target that is $p - 1$, which is negative, so a step against the gradient makes this logit larger. Everywhere else it
# is $p$, so the wrong tokens with the highest probability are pushed down most. Rows of padding are 0, and everything is
# multiplied by $dloss$. For $dloss = 1$, every number lies between $-1$ and 1. The derivation never used the fact that $q$
# holds only 0s and a 1. All that it needs is that $q$ sums to 1.

# %% [markdown]
# **Prove it**, with a random upstream gradient:

# %%
rng, ids = np.random.default_rng(0), np.array([[3, 1, 2], [4, 0, 0]])
report = gradcheck((lambda x: functional.cross_entropy_forward(x, ids, padding=0),
                    lambda dloss, cache: cross_entropy_backward(dloss, cache.p, ids)),
                   [rng.standard_normal((2, 3, 5))], methods=["central"], name="cross-entropy")
print(report)
assert report.passed

# %% [markdown]
# **Break it.** It is easy to stop at the target, with $p - 1$ there and 0 everywhere else. Here are both gradients, for a
# position at which the half-trained model is undecided. What does the slip tell the logits of the wrong letters?

# %%
p, ids, t = lab.training.undecided(half_trained, "backward")    # p (1, 9, 29), and the least certain of nine positions
right = cross_entropy_backward(1.0, p, ids)[0, t]
slip = right * (np.arange(K) == ids[0, t])
lab.training.show_rows({"probability": p[0, t], "your gradient": right, "the slip": slip}, ids[0, t])

# %% [markdown]
# The slip tells these logits nothing, so the letters that the model wrongly prefers are never pushed down. The slip's row does
# not sum to 0 either, and by the rule from chapter 4 that alone proves it wrong.
#
# ## A model that is too sure
#
# When does this loss stop pulling? Take a single row of 29 logits, start with zeros, and follow the gradient with a
# learning rate of 1. The *gap* is how far the target's logit lies above the others. **Predict:** between step 1,000 and
# step 10,000, does the gap stop growing or not?


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
# The gap grows by about $\ln 10 = 2.3$ each time the number of steps grows tenfold, and it will never stop, since $p = 1$ needs an
# infinite gap. It is no defect that the gradient approaches 0, because that is what convergence means. The defect is that the
# logits have no place to rest, so the model becomes ever more certain of what it has seen.
#
# *Label smoothing* gives the logits such a place. It takes $\epsilon$ away from each target's probability and spreads it
# evenly over all $K$ tokens, and the loss becomes $-\sum_i q_i \ln p_i$ with this $q$.

# %% [exercise] smoothed_targets

# %% [derivation]
# **The shares.** Every token gets $\epsilon / K$. The target gets $1 - \epsilon$ on top of its own $\epsilon / K$, so that
# the row of $q$, of shape $(K)$, sums to 1:
#
# $$ q_{target} = 1 - \epsilon + \frac{\epsilon}{K}, \qquad q_{other} = \frac{\epsilon}{K} $$
#
# **The floor is where the gradient is 0.** The gradient is still $p - q$, so the loss is smallest at $p = q$. Substitute
# that, with one target and $K - 1$ others:
#
# $$ -\sum_i q_i \ln q_i = - q_{target} \ln q_{target} - (K - 1)\, q_{other} \ln q_{other} $$
#
# The right-hand side is the *entropy* of $q$. For $\epsilon = 0$ the second term is 0, because $x \ln x$ goes to 0 with
# $x$, but NumPy evaluates `0 * log(0)` to NaN.

# %% [markdown]
# **Predict** the gap at which the logits come to rest for $\epsilon = 0.1$ and $K = 29$. For which $p$ is the gradient 0,
# and how far apart are its logarithms?

# %%
ids = np.array([[5]])
q, floor = smoothed_targets(ids, K, 0.1)
soft = gaps(lambda p: p - q)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
lab.show_curves(left, range(1, len(hard) + 1), {"without smoothing": hard, "$\\epsilon$ = 0.1": soft}, "step", "gap of the logits")
left.set_xscale("log")
lab.training.show_floors(right, {eps: smoothed_targets(ids, K, eps)[0][0, 0, 5] for eps in (0, 0.1, 0.3)}, K)
print(f"one row: gap {soft[-1]:.3f}, floor {floor:.4f}")

# %%
real, logits = unseen.next_target != 0, model.forward(*unseen.inputs)[0]
of_target = np.take_along_axis(logits, unseen.next_target[..., None], axis=-1)[..., 0]
gap = (of_target - (logits.sum(axis=-1) - of_target) / (K - 1))[real].mean()    # above the mean of the others
print(f"the trained model: gap {gap:.3f}, loss {float(sums.loss) / unseen.terms:.4f}")

# %% [markdown]
# The trained model rests where your formula says, and 0.6392 is nearly the floor, the loss of a model that makes no mistake. So
# never compare a loss with smoothing to one without.
#
# With $H(a, b) = -\sum_i a_i \ln b_i$, a hard row $o$ and the uniform row $u$, the loss is a mixture, $(1 - \epsilon) H(o, p) +
# \epsilon H(u, p)$. For $p = (0.8, 0.2)$, the first token as target and $\epsilon = 0.5$, it is $0.5 \cdot 0.22 + 0.5 \cdot
# 0.92 = 0.57$.
#
# **Who is right?** Should the divisor of $\epsilon$ be $K$ or $K - 1$? (The library fastai corrected its own in pull request
# 1814.) How would you decide without your derivation? A good test asks for what every correct version must do, not for the
# numbers of one of them.

# %% [exercise] test_smoothing

# %% [derivation]
# **The rule: what the target loses, the others get.** A row of $q$ has to sum to 1, whoever shares $\epsilon$. The paper cites
# Szegedy, who spreads it over all $K$, the target among them, and divides by $K$. The released Tensor2Tensor gives the target
# $1 - \epsilon$, and the $K - 1$ others share $\epsilon$. The pull request divides by $K - 1$, and still gives all $K$ a share:
#
# $$ (1 - \epsilon) + K \frac{\epsilon}{K - 1} = 1 + \frac{\epsilon}{K - 1} $$
#
# So the change is wrong, although its divisor is that of Tensor2Tensor. For 32,000 tokens the sum is off by 0.000003,
# and no curve shows it. A row of one 1 and zeros sums to 1 as well, so the test also asks whether anything was smoothed.

# %%
lab.verdicts(test_smoothing)

# %% [markdown]
# ## Perplexity
#
# With natural logarithms, a loss is measured in *nats*, and it is hard to get a feeling for 0.64 nats. **By hand:** suppose
# that a model gives each throw of a die a probability of $1/6$. The mean loss is $\ln 6$ for one throw as well as for a
# thousand, and the perplexity is 6, the number of equally likely answers. Now two tokens get $1/2$ and $1/8$. Which single
# probability, given to both, would make the pair just as likely? The answer is $1/4$, so the perplexity is 4. It has to be
# a number *per token*, because otherwise every longer text would look worse.

# %% [exercise] perplexity

# %% [derivation]
# **The rule: the same number for each token.** $N$ tokens with probability $1 / PP$ each are exactly as likely as the text:
# $PP^{-N} = \prod_n p_n$. So $PP$ is the $N$-th root of $\prod_n 1 / p_n$, and the exponent $1/N$ means "per token". A
# product of 4,000 probabilities is rounded to 0, so take logarithms:
#
# $$ \ln PP = -\frac{1}{N} \sum_n \ln p_n $$
#
# The right-hand side is the mean loss without smoothing. The sum and the count $N$ include all real tokens of all
# sentences, because the mean of the individual sentences' perplexities is a different number.

# %% [markdown]
# **Predict:** the trained model gives each target a probability of about 0.9. What is its perplexity per letter, and what
# would it be if a word of nine tokens were a single token?

# %%
p = np.exp(cache.loss.log_likelihood)    # (300, T)
one = perplexity(p, unseen.next_target)
print(f"for each token {one:.3f}, for nine of them {one ** 9:.2f}")

# %% [markdown]
# The model and the text are the same. So perplexities of models with different vocabularies cannot be compared.
#
# ## The mean of means
#
# A batch that does not fit into memory is cut into *micro-batches*, whose gradients are added up before one update. You could
# compute the mean loss of each, and then the mean of these means. The curves look plausible, and Hugging Face's trainer did it
# this way until 2024 (transformers, pull request 34191). Was it wrong, or is the change that replaced it?

# %% [exercise] test_accumulation

# %% [derivation]
# **The rule: sums add, means do not.** The gradient of a sum of losses is the sum of their gradients. If a micro-batch has
# $n_m$ tokens and its mean loss has the gradient $g_m$, of shape $(P)$, then its summed loss has the gradient $n_m\, g_m$.
# Add these and divide once:
#
# $$ g = \frac{\sum_m n_m\, g_m}{\sum_m n_m} $$
#
# So the weights do not count the tokens twice. They undo the division by $n_m$ in each part. If all parts have the same
# number of tokens, the two agree, which is why a test needs parts of different sizes. The library avoids the problem,
# because its loss is a sum, and `loss_backward` gets `1 / terms` of the complete batch as its $dloss$.

# %%
lab.verdicts(test_accumulation)

# %% [markdown]
# Here are four micro-batches of 8 words each, sorted by length, and one batch of the same 32 words. In the mean of means, a
# token from a word of 2 letters counts for more than one from a word of 12. How many times more? The end of a word is a token
# too.



# %%
def gradient_of(batch):
    """Of the batch's mean loss for a token, with respect to all weights (P,)."""
    half_trained.zero_grad()
    half_trained.loss_backward(1 / batch.terms, half_trained.loss_forward(batch)[1])
    return half_trained.flat.grad.copy()


# %%
lengths = np.array([2, 4, 8, 12])
words = [lab.training.words(rng, 8, n) for n in lengths]
parts = [make_batch(some) for some in (*words, [pair for some in words for pair in some])]
wrong, right = np.split(np.array([gradient_of(part) for part in parts]), [4])    # (P,) each
print(f"the gradient is off by {np.linalg.norm(wrong.mean(axis=0) - right) / np.linalg.norm(right):.0%}")
figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
counts = np.array([part.terms for part in parts])
shares = {"mean of means": 25 / counts[:4], "mean over all tokens": 100 / np.repeat(counts[4], 4)}
lab.training.show_weights(axes, [f"{n} letters" for n in lengths], shares)

# %% [markdown]
# A token of the shortest word counts $13 / 3 = 4.3$ times as much, so the model is pulled towards short texts.
#
# ## Your Transformer

# %%
lab.run_yours("10")

# %% [markdown]
# The list is two lines shorter: there is a whole model, and a number that says how wrong it is,
# with a gradient for each weight. What is missing is the step.
#
# **Read next:** `cross_entropy_forward` and `cross_entropy_backward` in `minitransformer/functional/cross_entropy.py`, and
# `training_step` in `minitransformer/training/step.py`.
