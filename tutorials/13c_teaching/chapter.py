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
# # 13c. Teach it something new

# %%
from minitransformer_course import lab, yours

lab.you_are_here("linear", "masks", "loss", "decoding")

# %% [markdown]
# One thing is missing on the way to a chat model, which is that it does what you ask. A language
# model continues a text. Ask the small model of chapter 13 a question, and it continues the
# question. Chat models began the same way, and then they were taught twice more, first with
# examples of good answers and then with a number that says how good their own answers are.
#
# In this chapter you do both on the model that has read Shakespeare. First it learns to say how
# many letters a word has, and none of its weights changes, because you train new ones, 1 % as many.
# Then it learns to write without the letter *e*, although you never show it how. All training runs
# take about 2 minutes, and 15 in a browser, so the page runs three of them, with your functions,
# and the others are saved.

# %%
import numpy as np

from minitransformer import Adam, fast, gradcheck, training_step
from minitransformer.data.special import PAD
from minitransformer.data.windows import WindowBatch
from minitransformer.functional import softmax_forward
from minitransformer.layers.layer import Layer
from minitransformer.layers.parameter import Parameter
from minitransformer_course.lab import chat_model, teaching

frozen, vocabulary = chat_model.small()
to_learn, unseen = teaching.words()
bits_per_character = lab.own("bits_per_character")
print(chat_model.small().answer("KING:\nspeak\n\nFOOL:\n"))

# %% [markdown]
# ## A detour beside a matrix
#
# You could train all of its 236,320 weights on the new task, which is called *fine-tuning*. For a model of seven billion
# weights, that takes their gradients, two moments of Adam for each, and a complete copy of the model for each task. *LoRA* ([Hu
# et al. 2021](https://arxiv.org/abs/2106.09685)) freezes the trained matrix $W$ and adds a detour through two thin ones:
#
# $$ y = x W + \text{scale} \cdot (x A)\, B $$
#
# $A$ has $r$ columns and $B$ has $r$ rows. $A$ begins with random numbers and $B$ with zeros, so
# before the first step the detour adds nothing.
#
# **By hand.** A matrix of this model's queries is $80 \times 80$, which is 6,400 weights. For
# $r = 1$, the detour has $80 + 80 = 160$. Now take $x = (1, 2)$, $A = (3, 1)^\top$, $B = (1, -1)$
# and scale 1. Then $h = x A = 5$ and the detour adds $(5, -5)$. If $dy = (1, 0)$, then
# $dB = h\, dy = (5, 0)$ and $dh = dy \cdot B = 1$.

# %% [exercise] lora_backward

# %% [derivation]
# **The rule: the detour is two linear layers in a row, and $x$ is used twice.** Let $h = x A$, of
# shape $(\dots, r)$, so that the detour is $\text{scale} \cdot h B$. Chapter 1's backward, for the
# last product and then for the one before it:
#
# $$ dB = h^\top (\text{scale}\; dy) \quad (r, d_{out}), \qquad
#    dh = \text{scale}\; dy\, B^\top \quad (\dots, r), \qquad
#    dA = x^\top dh \quad (d_{in}, r) $$
#
# $x$ went through $W$ and through $A$, so its gradient is a sum:
# $dx = dy\, W^\top + dh\, A^\top$. $W$ is frozen and needs no gradient of its own, but it still
# passes one on.

# %% [markdown]
# **Prove it**, with respect to $x$, $A$ and $B$. Then the detour becomes a layer, and a model gets
# one beside each matrix of its attentions:

# %%
rng = np.random.default_rng(0)
W, A, B, x = (rng.standard_normal(shape) for shape in ((5, 4), (5, 2), (2, 4), (2, 3, 5)))


# %%
def forward(x, A, B):
    V = W.astype(x.dtype)
    return x @ V + 0.5 * x @ A @ B, (x, V, A, B, 0.5)


# %%
report = gradcheck((forward, lambda dy, cache: lora_backward(dy, *cache)), [x, A, B], name="detour")
print(report)
assert report.passed


# %%
class Detour(Layer):
    stepwise = True    # each position alone, so a cache may call it for one
    def __init__(self, linear, rank, rng):
        self.weight, self.scale, (rows, columns) = linear.weight, 1.0, linear.weight.shape
        self.A = Parameter((rng.standard_normal((rows, rank)) / rows ** 0.5).astype("float32"))
        self.B = Parameter(np.zeros((rank, columns), "float32"))

    def forward(self, x):
        return x @ self.weight.data + self.scale * (x @ self.A.data) @ self.B.data, x

    def backward(self, dy, x):
        dx, dA, dB = lora_backward(dy, x, self.weight.data, self.A.data, self.B.data, self.scale)
        self.A.grad += dA
        self.B.grad += dB
        return dx


# %%
learns = teaching.with_detours(chat_model.small().model, Detour, 1, rng).num_parameters()
print(f"{learns:,} numbers learn, {learns / frozen.num_parameters():.2%} of the weights")

# %% [markdown]
# ## Whose words count
#
# The king says a word, such as *cedars*, and the fool says how many letters it has: *six*. Each
# example is one text, and the model could learn all of it, but which words a king says is not worth
# knowing, and he says more than the fool does. As in chapter 6, a target that is padding does not
# count.
#
# **By hand.** The text is *abc:3* with four tokens of prompt. The model reads *abc:* and has to
# predict *bc:3*. Only the last target belongs to the answer, so the targets are $0, 0, 0$ and
# *3*.

# %% [exercise] answer_targets

# %% [derivation]
# **The rule: position $t$ predicts token $t + 1$.** So the targets are the text without its first
# token, of shape $(B, T - 1)$. The prompt is tokens $0$ to $n - 1$, and target $t$ is token
# $t + 1$, so it counts if
#
# $$ t + 1 \geq n $$
#
# The last token of the prompt reads itself and predicts the first token of the answer, which is
# the most important target of all. What the model reads stays complete, because a mask on the
# targets hides nothing from attention. Padding after the answer is 0 already.

# %% [markdown]
# Now three ways to learn: the detours with the loss on answers only, the detours with the loss on
# everything, and all weights on answers only, with three seeds each. **Predict:** which of them
# forgets the most Shakespeare?


# %%
shakespeare = lab.text.shakespeare()[2][:40 * 96].reshape(40, 96)    # held out


# %%
def measure(model):
    """The share of 200 unseen words whose answer is right; the bits of a character of Shakespeare."""
    ids, target = answer_targets(*teaching.examples(unseen))
    said = model.forward(ids)[0].argmax(axis=-1)
    right = ((said == target) | (target == PAD)).all(axis=1).mean()
    return right, bits_per_character(model.forward(shakespeare)[0], shakespeare)


# %%
def teach(seed, answers_only=True, rank=1, steps=150):
    model, rng = chat_model.small().model, np.random.default_rng(seed)
    learner = teaching.with_detours(model, Detour, rank, rng) if rank else model
    adam, measured = Adam(learner), {0: measure(model)}
    for step in range(1, steps + 1):
        texts, n = teaching.examples(rng.choice(to_learn, 16))
        ids, target = answer_targets(texts, n if answers_only else np.ones_like(n))
        learning_rate = (0.005 if rank else 0.001) * min(1, step / 30, 1 - step / (steps + 1))
        training_step(learner, adam, WindowBatch(ids, target, np.count_nonzero(target)), learning_rate)
        if step % 50 == 0:
            measured[step] = measure(model)
    return model, measured


# %%
ways = {"detours, answers": {}, "detours, everything": {"answers_only": False}, "all weights, answers": {"rank": 0}}
with fast():
    taught = {name: teaching.three_seeds(name, 0, teach, **how) for name, how in ways.items()}
    taught["detours, answers"][0] = model, _measured = teach(seed=0)
teaching.show_taught({name: [measured for _model, measured in runs] for name, runs in taught.items()})

# %%
print(chat_model.Today(model, vocabulary).answer("KING:\nspeak\n\nFOOL:\n").partition("\n")[0])
for detour in teaching.detours(model):
    detour.scale = 0.0
print(f"without the detours: {measure(model)[1] - measure(frozen)[1]:.1f} bits more than before")

# %% [markdown]
# All weights together learn the task best and forget the most. With the loss on everything, most
# of the targets are the king's. A detour can be switched off, and the old model is back. One of the
# nine runs took place here. With 3 in place of the 0, where the library is installed, all of them do.
#
# ## Around the choice
#
# Examples need an author who knows the answers. Often it is easier to recognise a good answer than to write one, because a
# program passes its tests or a reader likes a text. All you have then is a number for a complete text, the *reward* $R$.
# Learning from it is called *reinforcement learning*. In chapter 12 you saw why no gradient comes out of it. Between the logits
# and the text there is a choice, and the derivative of a choice is 0.
#
# A model that draws its texts has an *average* reward, $J = \sum_y p(y)\, R(y)$ over all texts
# $y$. $R$ has no derivative, but $p$ has one.
#
# **By hand.** There are two texts with $p = (0.8, 0.2)$, and only the second has a reward, $R =
# (0, 1)$. Then $J = 0.2$. Softmax's derivative gives $J$ the gradient $0.2 \cdot 0.8 = 0.16$ for
# the second logit and $-0.16$ for the first. You can also get this by drawing. In one of five
# draws, it is the second text, and its $\log p$ has the gradient $(-0.8, 0.8)$. One fifth of that
# is $(-0.16, 0.16)$. In general, $\nabla p = p\, \nabla \log p$, so the mean of $R\, \nabla \log
# p$ over drawn texts estimates $\nabla J$. Often a constant *baseline* is subtracted from $R$
# first, which leaves the *advantage*.

# %% [exercise] reinforce_backward

# %% [derivation]
# **The rule: $\nabla p = p\, \nabla \log p$.** With it, $\nabla J$ is an average again. This is
# REINFORCE (Williams 1992):
#
# $$ \nabla J = \sum_y R(y)\, \nabla p(y) = \sum_y p(y)\, R(y)\, \nabla \log p(y)
#    \approx \frac1B \sum_b R_b \nabla \log p(y_b) $$
#
# The optimiser goes downhill, so the loss is $-J$. $\log p(y)$ is a sum over the tokens of a text,
# and $-\log p$ of one token has the gradient $p - 1_{token}$ of chapter 10. So
#
# $$ dz_{btv} = \frac{A_b}{B} \left( p_{btv} - 1[v = y_{bt}] \right) \qquad (B, T, V) $$
#
# $A_b = R_b - c$ is the advantage, with the baseline $c$. A constant $c$ changes nothing on
# average, because $\sum_y p(y) \nabla \log p(y) = \nabla \sum_y p(y) = \nabla 1 = 0$.

# %% [markdown]
# **Prove it against enumeration.** With texts of two letters from an alphabet of three, there are
# nine texts, and $J$ is a sum of nine terms that a gradient check can differentiate. Instead of
# drawing the texts, take each of them once, weighted by its probability:


# %%
def reward(texts):
    return (texts != 0).all(axis=-1)    # 1 for a text without the first letter


# %%
def average(z):    # z: (T, 3), logits that depend on nothing
    texts = np.array([*np.ndindex((3,) * len(z))])    # all of them (N, T)
    p = (np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True))[np.arange(len(z)), texts].prod(axis=-1)
    return (p * reward(texts)).sum(), (np.array([z] * len(p)), texts, p)


# %%
def backward(dJ, cache, baseline=0.3):
    z, texts, p = cache
    advantage = (len(p) * p * (reward(texts) - baseline)).astype(z.dtype)    # len(p) cancels the 1/B
    return -dJ * reinforce_backward(z, texts, advantage).sum(axis=0)


# %%
z = rng.standard_normal((2, 3))
report = gradcheck((average, backward), [z], name="average reward")
print(report)
assert report.passed

# %% [markdown]
# The proof subtracts a baseline of 0.3 from each reward. That changes nothing, because all $p$ sum
# to 1, so their gradients sum to 0. Why have one? **Predict:** if you draw only 24 texts, which
# estimate is noisier, the one from $R$ or the one from $R$ minus its mean?


# %%
def estimate(count, centred):
    texts = np.array([rng.choice(3, count, p=row) for row in softmax_forward(z)[0]]).T    # (count, 2)
    advantage = reward(texts) - centred * reward(texts).mean()
    return -reinforce_backward(np.array([z] * count), texts, advantage).sum(axis=0)


# %%
noisy = {name: [estimate(24, centred) for _ in range(200)] for name, centred in (("R", 0), ("R - mean", 1))}
teaching.show_estimates(backward(1.0, average(z)[1]), noisy)

# %% [markdown]
# From $R$ alone, every text with a reward is pushed up, and these pushes cancel only over many draws. With the mean subtracted,
# the texts below it are pushed down at once. This mean is not quite a constant, because it contains each text's own reward. On
# average, it makes the estimate shorter by $1/24$, and does not turn it.
#
# ## A rule instead of examples
#
# Now the real model. It draws 24 texts of 24 characters after *FOOL:*, and a text gets reward 1 if
# it has no *e*. The model is not told which letter the rule is about. **Predict:** what is the
# easiest way to write without an *e*?

# %%
prompt = vocabulary.encode("KING:\nSpeak.\n\nFOOL:\n")
start = len(prompt) - 1    # the row of the logits that predicts the first drawn character


# %%
def improve(model, ids, beta):
    drawn, (logits, cache) = ids[:, start + 1:], model.forward(ids[:, :-1])
    reward = np.array(["e" not in vocabulary.decode(text).lower() for text in drawn], float)
    before = teaching.log_p(frozen.forward(ids[:, :-1])[0][:, start:], drawn)
    score = reward - beta * (teaching.log_p(logits[:, start:], drawn) - before)
    dlogits = np.zeros_like(logits)
    dlogits[:, start:] = reinforce_backward(logits[:, start:], drawn, score - score.mean())
    model.backward(dlogits, cache)
    return reward.mean(), -before.mean() / np.log(2) / drawn.shape[1]


# %%
def practise(seed, beta, steps=50):
    model, rng, seen = chat_model.small().model, np.random.default_rng(seed), []
    learner = teaching.with_detours(model, Detour, 1, rng)
    adam = Adam(learner)
    for step in range(steps):
        ids = teaching.draw(model, prompt, 24, 24, rng)
        seen.append(improve(model, ids, beta))
        adam.step(0.03 * min(1, (step + 1) / 10), clip=1.0)
        learner.zero_grad()
    return np.array(seen).T, [vocabulary.decode(one[start + 1:]) for one in ids[:3]]


# %%
with fast():
    reward_alone = teaching.three_seeds("R alone", 1, practise, beta=0.0)
print(*(repr(text) for _seen, texts in reward_alone for text in texts[:2]), sep="\n")

# %% [markdown]
# The rule says nothing about English, so the model gave it up, as anyone might who is paid for one
# thing alone. The usual remedy is a *KL penalty* ([Ziegler et al.
# 2019](https://arxiv.org/abs/1909.08593)), which lowers a text's reward if it has become more
# likely than in the frozen model:
#
# $$ R(y) - \beta \log \frac{p(y)}{p_{frozen}(y)} $$
#
# The average of this logarithm is the KL divergence, which is 0 as long as the two models agree.
# The logarithm depends on the weights, too, but the average of its gradient is 0, so
# `reinforce_backward` is still right.

# %%
with fast():
    held_back = teaching.three_seeds("R and the penalty", 1, practise, beta=0.05)
print(*(repr(text) for _seen, texts in held_back for text in texts[:2]), sep="\n")
runs = {"R alone": reward_alone, "R and the penalty": held_back}
teaching.show_practice({name: [seen for seen, _texts in found] for name, found in runs.items()})

# %% [markdown]
# Without the penalty, a character soon costs the frozen model more than the 6 bits of plain
# guessing. With it, a character costs about one bit more than before, the model learns more
# slowly, and it still writes words. It has found the rule from nothing but a 0 or a 1 for each text.
#
# ## Your Transformer

# %%
lab.run_yours("13c")

# %% [markdown]
# You have the blocks, the loss, the steps, the way of writing, the text, the parts of today, a
# look inside, and two ways to teach. A chat model has more of each, above all more text, and its
# reward comes from what people prefer. Part three goes back to the paper and asks which of its
# sentences hold.
#
# **Read next:** `add_gradients` in `minitransformer/training/step.py`, which knows nothing of a
# model but its two methods for the loss. This is why the detours could hide the rest from it.
