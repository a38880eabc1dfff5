"""Continue a prompt, token by token."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from minitransformer.backend import Array, Generator, to_host
from minitransformer.checks import check_integer, check_rng
from minitransformer.decoding.hypothesis import check_numbers
from minitransformer.decoding.sampling import check_sampling, draw
from minitransformer.errors import InputError
from minitransformer.data.special import EOS, SPECIAL
from minitransformer.decoding.state import Decodable, DecodingState


def generate(
    model: Decodable,
    prompt: Sequence[int],
    count: int,
    rng: Generator,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    ends: bool = False,
) -> Iterator[int]:
    """Yields `count` token ids that continue `prompt`, a list of ids, each as soon as it is drawn.

    Each token is drawn as in `sample`, and never a special one; but if the text `ends`, EOS may be
    drawn, and ends it. When the model's window is full, the model reads the second half of the
    window again and continues from there. Raises InputError immediately for invalid settings, and
    for a prompt that is empty or longer than the model's number of positions.
    """
    check_integer("the number of tokens", count)
    check_rng(rng)
    check_sampling(temperature, top_k, top_p)
    source = np.array([prompt])
    state = model.start(source)
    if not np.array_equal(state.first, source[:, -1:]):
        raise InputError(
            f"generate: a {type(model).__name__} does not continue its source; use translate, sample or beam_search"
        )
    forbidden = EOS if ends else len(SPECIAL)  # all ids below it: EOS is the last special one

    def drawn(logits: Array) -> tuple[Array, Array]:
        logits[:, :forbidden] = -np.inf
        return draw(logits, np.array([rng.random()]), temperature, top_k, top_p)

    return _continue(model, state, source[0].tolist(), count, drawn)


def _continue(
    model: Decodable,
    state: DecodingState,
    ids: list[int],
    count: int,
    drawn: Callable[[Array], tuple[Array, Array]],
) -> Iterator[int]:
    read, room = len(ids), int(state.limit[0])
    for _ in range(count):
        if room < 0:
            read = (read + 1) // 2
            state = model.start(np.array([ids[-read:]]))
            room = int(state.limit[0])
        logits = state.output.forward(state.advance(np.array([ids[-1:]])))[0][:, 0]  # (1, V)
        next_id, value = drawn(logits)
        check_numbers(np.isfinite(to_host(value)))
        ids.append(int(to_host(next_id)[0]))
        if ids[-1] == EOS:
            return
        yield ids[-1]
        read, room = read + 1, room - 1
