"""Two costs of a training run

Table 2 estimates the operations of a training run as its time, times the number of processors, times the operations that a
processor performs in a second. Return this estimate, and what the model's own products need. Every batch holds `tokens` source
tokens and as many target tokens. An operation is one multiplication or one addition. A weight takes part in one multiplication
and one addition for each token that goes through it, and the backward pass needs two products of the same size for it. The
decoder's weights and the table's count for target tokens. Leave out the attention scores, the weighted sums, biases and norms.
"""

import numpy as np

from minitransformer_course.judge import also_right, invariant, mistake


# %% reference
def training_operations(hours, processors, rate, steps, tokens, encoder, decoder, table):
    """All (R,): rate in 1e12 operations a second; steps; tokens on each side of a batch; the weights of encoder, decoder and table.

    Returns printed (R,) and needed (R,), in operations. The table makes the logits; looking up embeddings needs no product.
    """
    # your code: seconds first; then how many operations a weight takes part in for each token, there and back
    printed = hours * 3600 * processors * rate * 1e12
    needed = 6 * tokens * steps * (encoder + decoder + table)
    return printed, needed
    # end of your code


# %% what it is called with
returns = "printed needed"
section = "Section 6.1: better, and cheaper"
stars, minutes = 2, 15
float64_only = True


def case(rng, R):
    sizes = 1e6 * rng.integers(5, 90, (3, R + 1))
    return (rng.integers(5, 90, R + 1) + 0.5, rng.integers(1, 9, R + 1), rng.integers(30, 100, R + 1) / 10,
            1000.0 * rng.integers(50, 300, R + 1), 1000.0 * rng.integers(5, 30, R + 1), *sizes)


@invariant("every batch costs the same, so the needed operations divided by steps and tokens must be 6 for each weight")
def six(answer, hours, processors, rate, steps, tokens, encoder, decoder, table):
    return answer[1] / (steps * tokens * (encoder + decoder + table)) - 6


# %% hints
hints = (
    "y = x w, with one number each: how many operations does the forward take, and how many do dx = dy w and dw = dw + x dy take?",
    "A weight takes 2 operations for a token in the forward, and twice as many in the backward. Each side has `tokens` tokens.",
    "needed = ___ * tokens * steps * (encoder + decoder + table)",
)


# %% mistakes
def parts(hours, processors, rate, steps, tokens, encoder, decoder, table):
    return hours * 3600 * processors * rate * 1e12, tokens * steps, encoder + decoder + table


@mistake("only the forward is counted: the backward needs two products for each of its products")
def forward_alone(*given):
    printed, seen, weights = parts(*given)
    return printed, 2 * seen * weights


@mistake("the backward is counted as one product: dx and dW are two products of the forward's size")
def one_product_back(*given):
    printed, seen, weights = parts(*given)
    return printed, 4 * seen * weights


@mistake("only multiplications are counted: each comes with an addition")
def multiplications_alone(*given):
    printed, seen, weights = parts(*given)
    return printed, 3 * seen * weights


@mistake("each weight is counted once for a token, whatever is computed with it: forward and backward take 6 operations")
def once(*given):
    printed, seen, weights = parts(*given)
    return printed, seen * weights


@mistake("every weight is counted for source and target tokens: the encoder sees the source only, the decoder the target")
def both_sides(*given):
    printed, seen, weights = parts(*given)
    return printed, 12 * seen * weights


@mistake("the hours are multiplied by 60, which makes minutes: the rate is for a second")
def minutes_of(*given):
    printed, seen, weights = parts(*given)
    return printed / 60, 6 * seen * weights


@mistake("the hours are taken as seconds: multiply by 3,600")
def hours_as_seconds(*given):
    printed, seen, weights = parts(*given)
    return printed / 3600, 6 * seen * weights


@mistake("the estimate is that of one processor: multiply by their number")
def one_processor(hours, processors, *given):
    printed, seen, weights = parts(hours, 1, *given)
    return printed, 6 * seen * weights


@mistake("the rate's factor of 1e12 is missing: it is given in trillions a second")
def without_trillions(*given):
    printed, seen, weights = parts(*given)
    return printed / 1e12, 6 * seen * weights


@mistake("the table is left out: it makes the logits, a product with every one of its weights")
def without_the_table(*given):
    printed, seen, weights = parts(*given)
    return printed, 6 * seen * (weights - given[-1])


@mistake("the table is counted three times: looking up an embedding copies a row and multiplies nothing")
def three_tables(*given):
    printed, seen, weights = parts(*given)
    return printed, 6 * seen * (weights + 2 * given[-1])


@mistake("one batch is counted: multiply by the number of steps")
def one_step(*given):
    printed, seen, weights = parts(*given)
    return printed, 6 * seen / given[3] * weights


@mistake("the two are swapped: return the estimate first")
def swapped(*given):
    printed, seen, weights = parts(*given)
    return 6 * seen * weights, printed


# %% other right solutions
@also_right
def part_by_part(hours, devices, trillions, updates, n, enc, dec, matrix):
    forward = 2.0 * n * enc + 2 * n * dec + 2 * n * matrix
    return 60 * 60 * hours * devices * trillions * 10**12, updates * (forward + 2 * forward)


@also_right
def model_by_model(hours, processors, rate, steps, tokens, encoder, decoder, table):
    rows = [(h * 3.6e3 * p * r * 1e12, s * t * 6 * sum(weights))
            for h, p, r, s, t, *weights in zip(hours, processors, rate, steps, tokens, encoder, decoder, table)]
    return tuple(np.array(column) for column in zip(*rows))
