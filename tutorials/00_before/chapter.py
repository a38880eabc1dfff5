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
# # 0. Ten minutes before the first derivative
#
# There is nothing to write on this page. You see how networks translated before attention, the
# model that this book builds, and such a model at work on one Korean sentence.
#
# For a copy with cells that you can run, type `minitransformer learn start 0` in an empty folder. Where the page says
# *predict*, make a guess before you look at the output.

# %%
import matplotlib.pyplot as plt
import numpy as np

from minitransformer.data.special import EOS
from minitransformer_course import lab

# %% [markdown]
# ## A network that reads word by word
#
# In 2014, a network that translated was a *recurrent network*, an RNN, which reads as you do, one word after another. Its *hidden
# state* $h$ is a vector of fixed size, and each new state depends on the word $x_t$ and on the old state:
#
# $$ h_t = \tanh(x_t W + h_{t-1} U) $$
#
# After the last word, the first network, the *encoder*, hands its last state to a second one, the *decoder*, which writes the
# translation. This one vector, the *context vector*, is all that the decoder learns about the sentence. The upper picture shows
# it.

# %%
figure, both = plt.subplots(2, 1, figsize=(7, 4.6), layout="constrained")
for axes, attention in zip(both, (False, True)):
    lab.before.show_reading(axes, attention)

# %% [markdown]
# A network that works this way loses three things.
#
# 1. **Time.** Step 7 must wait for step 6.
# 2. **Room.** The context vector has the same size for 3 words as for 100.
# 3. **Distance.** What the network knows of the first word has to survive every later step, and so does the gradient on its way
#    back. Each step multiplies both by numbers that are often below 1. A product of many such factors is nearly 0. A gradient
#    that shrinks this way is called a *vanishing gradient*.
#
# You can measure the third one. The next cell takes an untrained RNN and replaces the first word of a sentence by another one.
# **Predict:** in a sentence of 3 words, the last state changes by about 50 %. By how much does it change in a sentence of 30?

# %%
lengths = (3, 10, 30, 100)
left = lab.before.what_is_left(lengths)
print(*(f"{length} words: {change:.0e}" for length, change in zip(lengths, left)), sep="\n")
lab.before.show_left(lengths, left)

# %% [markdown]
# Training can improve on this, as chapter 15 shows, but it has to work against that product.
#
# ## Look back instead
#
# The encoder computed a state for each word, but only the last one was used. In 2014 Bahdanau, Cho and Bengio kept them all.
# For each word that it writes, the decoder compares its own state with every state of the encoder, turns the comparisons into
# weights that sum to 1, and takes the weighted sum of the states. This is *attention*, the lower picture above. A distant word
# is now one step away.
#
# In 2017 the paper *Attention Is All You Need* asked the next question. If attention reaches every
# word in one step, what is the recurrence still good for? It was left out, and with it went the
# waiting: all positions of a sentence can be computed at once. Chapter 15 measures what distance
# costs: the share of letters that each model copies to the right place, from one training run each
# (`research/experiments/context_vector.md`).
#
# | model | 10 letters | 100 letters |
# |---|---|---|
# | RNN | 10 % | 0 % |
# | LSTM, a better recurrent network | 63 % | 8 % |
# | LSTM with attention | 100 % | 91 % |
# | Transformer | 100 % | 98 % |
#
# ## Figure 1
#
# The paper calls its model the *Transformer*. Its first figure shows the whole model, and every chapter of this book shows it
# again, with your place on it:

# %%
lab.you_are_here()

# %% [markdown]
# The left column is the encoder, which reads the source, and the middle one is the decoder, which
# writes. The panel on the right shows what is inside each box of attention. Boxes that you have
# written yourself turn yellow.
#
# ## From x to z to y
#
# The paper says it in one line: the encoder maps a sentence $x = (x_1, \dots, x_n)$ to $z = (z_1, \dots, z_n)$, and the decoder
# generates $y = (y_1, \dots, y_m)$ from $z$, one word at a time. In this book and in most code, $z$ is called the *memory*. It
# is not a context vector, because it has one vector for each word of the source.
#
# The decoder is *auto-regressive*: it reads what it has written so far, so each word depends on $z$ and on all words before it,
# $y_1$ to $y_{t-1}$.
#
# ## One sentence, translated
#
# Here is a small Transformer at work. It learned from about 5,000 pairs of short Korean and English sentences, and this one was
# not among them. Its weights come with the package. Its tokens are pieces of words, so one word may be several tokens.

# %%
model, subwords = lab.load_korean_model()
sentence = "나는 영어를 공부한다."
x = np.array([[*subwords.encode(sentence), EOS]])    # EOS marks the end of a sentence
z, _cache = model.encode(x)
print(f"x: {x.shape[1]} tokens, z: {z.shape[1]} vectors of {z.shape[2]} numbers")
print(sentence, "->", lab.write(model, subwords, sentence))

# %% [markdown]
# Word by word, the Korean is *naneun* (I) *yeongeoreul* (English) *gongbuhanda* (study), with the verb at the end, and English
# wants the verb in the middle. **Predict:** while the model writes the English verb, which word of the Korean sentence does it
# look at, the second or the third?

# %%
figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
bar = figure.colorbar(lab.show_translation(axes, model, subwords, sentence), label="attention weight")

# %% [markdown]
# Each row is a word being written, and the dark squares in it are the words of the source that the model looks at. For *study*
# the third word is dark, and for *English* the second, so the two rows cross. The model was given no dictionary. By following
# gradients, it found out which words belong together, and gradients are what this book is about. The model is small, so only
# some short sentences come out right. In most others it soon loses its way, and chapter 14b shows how and why.
#
# ## Every number of a model
#
# The model that this book takes apart is smaller still: it reads a word such as *backward* and writes it from the last letter
# to the first, one at a time. All of its 30,000 weights fit into one page, which computes the whole model while you watch.

# %%
lab.open_explorer(*lab.drawkcab(), "backward")

# %% [markdown]
# Open that file in a browser, take the tour, and type a word of your own. Click any number, and the page says which numbers it
# was computed from. Then switch from values to gradients, and ask the same question in the other direction.
#
# ## What you will be able to do
#
# - Derive the gradient of every part of this model by hand, and prove it right with a gradient check.
# - Write a Transformer from a blank file, with NumPy alone, and train it until it writes lines in the style of Shakespeare.
# - Read a claim about attention, and test whether it is true.
#
# You need Python with NumPy, matrix products, and the chain rule, but no experience with deep learning.
#
# ## How long it takes
#
# **The short path** takes about 4 hours and leads through nine functions: softmax and attention, the backward of the model's
# main parts, and the step that trains it. `minitransformer learn start path` begins it. For each function, run the page's
# imports and read from the place in the table to its blank. We estimate that the functions take 172 minutes and the reading,
# some 3,900 words, an hour.
#
# | function | chapter | read from | minutes |
# |---|---|---|---|
# | `linear_backward` | 1 | the top | 15 |
# | `embedding_backward` | 2 | the top | 12 |
# | `softmax` | 4 | the top | 10 |
# | `softmax_backward` | 4 | *The Jacobian that nobody builds* | 20 |
# | `attention` | 5 | the top | 15 |
# | `attention_backward` | 5 | *Backward* | 20 |
# | `layer_norm_backward` | 8 | *LayerNorm: every row on the same scale* | 40 |
# | `cross_entropy_backward` | 10 | *One row by hand* | 20 |
# | `adam_step` | 11 | the top | 20 |
#
# The path ends with `minitransformer learn plug`: all nine run inside a new Transformer, whose gradients are compared with
# those of the paper in one file, and which trains until it reverses words that it has never seen.
#
# **The long path** is the whole book. Its exercises take about 22 hours by our estimates, and 35 to 45 with the reading. Part
# one, chapters 1 to 8b, asks how something made of multiplications can look anywhere, and how it finds out where. Part two,
# chapters 9 to 13, asks what is between a model that writes *drawkcab* and a chat model. Part three, from chapter 14 on, is
# optional and audits the paper: how good is the model, at what cost, and which sentences hold?
#
# **Read next:** `tutorials/one_file.py`, the whole paper in one file. Then `minitransformer learn start
# path`, or `start 1` for the long path.
