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
# # 12b. A text of its own: half of the model writes Shakespeare

# %%
from minitransformer_course import lab, yours

lab.you_are_here("decoder", "decoding")

# %% [markdown]
# Between *drawkcab* and a chat model, the parts are no longer what is missing. The text is. Your model reads a word and writes
# it backwards, and without a word to read it has nothing to say. GPT-2 and today's chat models write without a source. They are
# built from the parts that you have already written, and they need fewer of them.
#
# In this chapter you take the Transformer apart, keep one half, and train it on 180,000 characters
# of Shakespeare, with your own functions inside. At the end the model writes lines that you can
# read. The 2,000 steps take about 40 seconds, and 15 minutes in a browser, so the page takes 200 of
# them and loads the weights that the run ended with.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer import Adam, LanguageModel, LanguageModelConfig, fast, gradcheck, training_step

vocabulary, train, held_out = lab.text.shakespeare()
rng = np.random.default_rng(0)
print(f"{len(train):,} characters to train on, {len(held_out):,} held out, {vocabulary.size} tokens\n")
print(vocabulary.decode(train[:180]))

# %% [markdown]
# ## Half of the model is enough
#
# Take the map above and remove the encoder. Then there is no memory for cross-attention to read, so it goes as well. What
# remains of a decoder layer is masked self-attention and a feed-forward network. You know this layer from chapter 8b, because
# it is an encoder layer with a causal mask. A model made of such layers is called *decoder-only*.

# %%
config = LanguageModelConfig.named("toy", vocab_size=vocabulary.size, max_length=64, pre_norm=True)
lab.show_model(config)

# %% [markdown]
# **By hand.** Leave out biases and norms. An attention has four matrices of $d^2$ weights, and the feed-forward network with
# $d_{ff} = 4 d$ has two of $4 d^2$. So an encoder layer has $12\, d^2$ weights and a decoder layer with cross-attention has
# $16\, d^2$. The pair has $28\, d^2$, and our one layer has $12\, d^2$, which is 43 % of that.
#
# ## A text is its own target
#
# A translation has a source and a target. Here there is only a text, and the target of each character is the next one. The
# probability of a text is a product, in which each factor sees what was written before:
#
# $$ p(x_1, \dots, x_T) = \prod_t p(x_t \mid x_1, \dots, x_{t-1}) $$
#
# A model of this form is called *auto-regressive*, because each prediction depends on all earlier ones, not only on the last.
# Considered as a function of the weights, the product is the *likelihood* of the text. Training makes it as large as possible,
# which is the same as making $-\log p$ small. So the cross-entropy of chapter 10 is the *negative log-likelihood*, divided by
# the number of tokens.
#
# Character models are compared in *bits per character*, which is the same loss with a logarithm to base 2. **By hand:** the
# text is *too*. After *t* the model gives *o* the probability $1/4$, and after *to* it gives *o* the probability $1/2$. That is
# $2 + 1 = 3$ bits for two characters, or 1.5 bits per character. The *t* was given.

# %% [exercise] bits_per_character

# %% [derivation]
# **The rule: a row predicts what comes after it.** Row $t$ of the logits was computed from characters 0 to $t$, so it predicts
# character $t + 1$. The last row predicts a character that is not in the text, and no row predicts character 0. This leaves
# $T - 1$ rows, `logits[:, :-1]`, of shape $(B, T - 1, V)$, and as many targets, `ids[:, 1:]`, of shape $(B, T - 1)$.
#
# The log-softmax is $\log p_v = x_v - m - \log \sum_w e^{x_w - m}$ with the maximum $m$ of the row. All $B (T - 1)$ targets
# count alike, so it is one mean:
#
# $$ bits = - \frac{1}{B (T - 1)} \sum_{b,t} \frac{\log p_t(x_{b,t+1})}{\log 2} $$
#
# The division by $\log 2$ turns nats into bits, since $\log_2 p = \log p / \log 2$.

# %% [markdown]
# How good is good? Three models give you a scale, and none of them needs a training run. The first considers all characters
# equally likely, the second counts how often each one occurs, and the third is a table of pairs, which counts what comes after
# each character. **Predict:** with 65 tokens, three of them special, the first one costs $\log_2 65 = 6.02$ bits. Does the
# table of pairs cost about 5.5, 4.5 or 3.5?

# %%
V = vocabulary.size
singles, pairs = np.bincount(train, minlength=V) + 0.01, np.full((V, V), 0.01)
np.add.at(pairs, (train[:-1], train[1:]), 1)
unseen = lab.text.windows(held_out)    # (80, 64)
tables = {"all alike": np.zeros((V, V)), "single characters": np.log(np.tile(singles, (V, 1))), "pairs": np.log(pairs)}
levels = {name: bits_per_character(table[unseen], unseen) for name, table in tables.items()}
print("bits per character:", *(f"{name} {bits:.2f}" for name, bits in levels.items()), sep="\n")

# %% [markdown]
# The table of pairs is a language model already. Let it write, with the function `nucleus` that you wrote in chapter 12:

# %%
nucleus = lab.own("nucleus")


def write(predict, prompt, count, temperature=1.0, top_p=1.0):
    """`prompt` and what follows it: predict(ids) gives the logits (T, V), and each character is drawn from the nucleus"""
    ids = vocabulary.encode(prompt)
    for _ in range(count):
        p = nucleus(predict(np.array(ids[-64:]))[-1].astype(float), temperature, top_p)
        ids.append(int(rng.choice(len(p), p=p)))
    return vocabulary.decode(ids)


print(write(lambda ids: tables["pairs"][ids], "KING", 150))

# %% [markdown]
# You can see what the table of pairs knows: vowels follow consonants, and a space follows a comma. But it remembers only one
# character, so it cannot finish a word that it has begun.
#
# ## Train it with your functions
#
# **Prove it** first. The next cell puts all of your functions that pass into a small decoder-only model and checks the gradient
# of every parameter. What you have not written yet comes from the library.

# %%
small = LanguageModel(LanguageModelConfig.named("toy", vocab_size=9, max_length=6, d_model=8, d_ff=16, num_heads=2, pre_norm=True))
with lab.own_functions() as names:
    report = gradcheck(small, [np.array([[3, 5, 4, 8, 3]])], methods=["central"], name="decoder-only")
print(str(report).splitlines()[-1])
print("yours:", ", ".join(names) or "none yet")

# %% [markdown]
# A gradient check proves that backward fits forward. It does not prove that a position sees only what came before, because a
# model that looks at the answer has a right gradient, too. In chapter 6 you looked for such leaks in a mask.
#
# ## Find the peek
#
# The training loss of the model below is far too good. **By hand:** take $t = 2$ and write down the positions that row 2 may
# look at, according to lines 5 to 8.

# %% [exercise] find_peek

# %% [derivation]
# **The rule: row $t$ may depend on ids $0$ to $t$ and on no others.** So change what comes later, and row $t$ must stay the same
# up to rounding. A leak may be in one row alone, may jump over a position, and may be small. The test therefore changes
# everything from $t$ on, for every $t$, and compares all rows before $t$ with a tolerance near rounding.
#
# Line 6 is the mistake. In a slice, `end` is one past the last entry, so $t + 1$ is right there. Line 7 compares positions, and
# $t + 1 > t + 1$ is False, so position $t + 1$ stays visible. Either line can be changed: `end = rows`, or `>=` in line 7.

# %% [markdown]
# ## The training run
#
# Now the loop, which is the same as in chapter 11: a batch, a loss, gradients, a step of Adam. A batch is 12 windows of 64
# characters from random places. `fast()` keeps BLAS on one thread and, without functions of yours, also uses the library's
# kernels. **Predict:** before the first step, does a character cost 6.02 bits, fewer, or more?


# %%
def learn(model, text, steps, stop=None, shown=(), prompt="KING"):
    """{step: bits of the text and of the held-out text} up to `stop`; at `shown`, it also writes"""
    adam, batches, bits = Adam(model), lab.text.random_windows(text), {}
    for step in range((stop or steps) + 1):
        if step % 50 == 0:
            bits[step] = [bits_per_character(model.forward(one)[0], one) for one in (lab.text.windows(text), unseen)]
        if step in shown:
            print(f"--- step {step}, {bits[step][1]:.2f} bits\n{write(lab.text.predictor(model), prompt, 120, 0.8, 0.9)}")
        training_step(model, adam, next(batches), 0.006 * min(1, (step + 1) / 50, 2 - 2 * step / (steps + 1)))
    return bits


# %%
model, stop = LanguageModel(config), 200    # 2000: all of its steps
with lab.own_functions(), fast():
    bits = learn(model, train, 2000, stop, shown=(0, 100, 500, 2000))

# %% [markdown]
# The rest of this run is saved. It was trained with the library's functions. To train it with
# yours, put 2000 in place of 200, where the library is installed.

# %%
if stop < 2000:
    bits = lab.text.saved(model, "shakespeare") | bits
    print(write(lab.text.predictor(model), "KING", 120, 0.8, 0.9))
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
lab.text.show_bits(axes, bits, levels)

# %% [markdown]
# With the untrained model, a character costs more than with a plain guess, and the text stutters. The residual path carries
# each embedding straight to the output, which multiplies it by the same matrix, so before any training the model bets on the
# character that it has just read. After 200 steps the model is better than the table of pairs. Then come words, and the names
# of the speakers, each on a line of its own.
#
# Bits per character are an average, so look at single characters. **Predict:** which letter of a word is more expensive, its
# first or its last?

# %%
line = "BRUTUS:\nWe will not speak of the people."
ids = np.array([vocabulary.encode(line)])
logits, _ = model.forward(ids)
costs = [bits_per_character(logits[:, t:t + 2], ids[:, t:t + 2]) for t in range(len(line) - 1)]
figure, axes = plt.subplots(figsize=(9, 2.6), layout="constrained")
lab.text.show_costs(axes, line, costs)

# %% [markdown]
# The first letters are expensive, because a new word is open to many choices. Once the model has read *BR*, the rest of
# *BRUTUS* costs almost nothing.
#
# ## What it writes
#
# The samples above were drawn at temperature 0.8, with $p = 0.9$. One unlikely letter is enough to spoil a word, and the model
# has to continue from there. **Predict:** the next cell has three settings. Which of them produces text that repeats itself,
# and which produces text that is hardly English?

# %%
predict = lab.text.predictor(model)
with lab.own_functions(), fast():
    for temperature, top_p in ((1.3, 1.0), (0.8, 0.9), (0.1, 1.0)):
        print(f"--- temperature {temperature}, p = {top_p}\n{write(predict, 'MENENIUS:', 220, temperature, top_p)}\n")

# %% [markdown]
# At temperature 0.1 the most likely character nearly always wins, and at 1.3, unlikely ones are
# drawn too often. The setting between them gives a text that sounds like a play, as long as you do
# not ask what it means.
#
# ## Too few words
#
# 180,000 characters are not many. What happens if there are 3,000? The model is the same, and so is
# the loop. Its run is saved as well, and with `steps = 800` it runs again.

# %%
parrot, steps = LanguageModel(config), 0
with fast():
    few = learn(parrot, train[:3000], steps) if steps else lab.text.saved(parrot, "parrot")
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
lab.text.show_bits(axes, few)
print(f"on the text that it has read: {few[800][0]:.2f} bits, on the held-out text: {few[800][1]:.2f}")

# %% [markdown]
# The training text keeps getting cheaper, while the held-out text gets more expensive from step 100 on. This is *overfitting*:
# the model learns what is special about these lines instead of what they share with others. The likelihood of the training text
# cannot show it, which is why a part of the text is held out. More text, dropout and *early stopping* help.
#
# ## Learned, or copied?
#
# You can also see it in what a model writes. **By hand:** *to be to* has six passages of three characters. Which of them occur in
# *to be or*?

# %% [exercise] copied

# %% [derivation]
# **The rule: a passage is a number.** Ids are below $V$, so $n$ of them are the digits of a number in base $V$, and two passages
# are equal if their numbers are:
#
# $$ c_i = \sum_{k=0}^{n-1} x_{i+k} V^k \qquad (T - n + 1) $$
#
# There are $T - n + 1$ passages, because the last one begins $n$ characters before the end. With $V = 65$, a number of 64 bits
# holds ten digits, so for longer passages a set of tuples is the safer way.

# %% [markdown]
# By hand, it is four of six. **Predict:** how much of what the parrot writes is copied, and how much of what the first
# model writes?

# %%
wrote = {"the first model": (model, train), "the parrot": (parrot, train[:3000])}
shares = {"Shakespeare": [copied(held_out[:400], train, n, V).mean() for n in (5, 10)]}
for name, (one, read) in wrote.items():
    with fast():
        written = np.array(vocabulary.encode(write(lab.text.predictor(one), "KING", 400, 0.8, 0.9)))
    shares[name] = [copied(written, read, n, V).mean() for n in (5, 10)]
for name, (five, ten) in shares.items():
    print(f"{name:16}{five:.0%} of the passages of 5 characters, {ten:.0%} of 10")

# %% [markdown]
# The first line is the scale. Shakespeare did not copy the held-out text from what comes before it, and still shares passages
# with it, because a language repeats itself. Of passages of ten, the first model has fewer than he has. The parrot has more than
# both, although it has read 3,000 characters and they had 180,000.
#
# ## From here to GPT-2 and SmolLM2
#
# | | ours | GPT-2 (2019) | SmolLM2 (2024) |
# |---|---|---|---|
# | parameters | 104 thousand | 124 million | 135 million |
# | layers, width, heads | 2, 64, 4 | 12, 768, 12 | 30, 576, 9 |
# | tokens | 65, for 62 characters | 50,257 subwords | 49,152 subwords |
# | window | 64 | 1,024 | 8,192 |
# | norm | LayerNorm, pre-norm | LayerNorm, pre-norm | RMSNorm, pre-norm |
# | positions | sinusoids | learned | rotary |
# | feed-forward network | ReLU | GELU | SwiGLU |
# | keys and values | one per head | one per head | one per three heads |
#
# The first four rows are sizes. In the last four, GPT-2 differs from your model twice and SmolLM2 four times, and you write
# these four parts in chapter 13.
#
# ## Your Transformer

# %%
lab.run_yours("12b")
with lab.own_functions(), fast():
    print(f"\nand with the same parts, the model of this page writes:\n{write(predict, 'CORIOLANUS:', 300, 0.7, 0.9)}")

# %% [markdown]
# ## A text of your own
#
# Put a plain text into `my_text.txt` in this folder: your diary, a cookbook, the messages of a friend who allows it. 100,000
# characters are good, and any language will do. The next cell says what it cannot use, then trains the same model, with your
# functions inside, in about the same time. It puts your text in Shakespeare's place, for the cells above, too.

# %%
if mine := lab.text.mine():
    vocabulary, train, held_out, _remarks = mine
    unseen, prompt = lab.text.windows(held_out), vocabulary.decode(held_out[:20])
    own_model = LanguageModel(LanguageModelConfig.named("toy", vocab_size=vocabulary.size, max_length=64, pre_norm=True))
    with lab.own_functions(), fast():
        learn(own_model, train, 2000, shown=(100, 500, 2000), prompt=prompt)

# %% [markdown]
# There is a model now that continues any text, and its parts are yours. SmolLM2 has replaced four of them, and the next
# chapter does the same.
#
# **Read next:** `LanguageModel` in `minitransformer/models/language_model.py`, then `generate` in
# `minitransformer/decoding/generation.py`. `minitransformer train language` trains a larger model on a text of your own, as
# `docs/language_model.md` shows.
