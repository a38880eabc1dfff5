"""Choices by name. A table is a plain dict that anyone may add to; a name that it lacks may be
elsewhere, such as in the zoo.

This is the only place from which the library reaches the zoo: a module there is imported when one
of its names is looked up, and adds itself to the table.
"""

from importlib import import_module
from typing import Any

from minitransformer.errors import InputError, choices

_MODERN, _RECURRENT = "minitransformer.zoo.modern", "minitransformer.zoo.recurrent.model"
ELSEWHERE: dict[
    str, dict[str, str]
] = {  # {kind: {name: the module that adds it to the table of that kind}}
    "activation": {"geglu": _MODERN, "swiglu": _MODERN},
    "attention": {
        "additive": "minitransformer.zoo.attention.additive",
        "grouped": _MODERN,
        "restricted": "minitransformer.zoo.attention.restricted",
        "unscaled": "minitransformer.zoo.attention.unscaled",
    },
    "embedding": {"unscaled": _MODERN},
    "norm": {"rms": _MODERN},
    "positions": {"rotary": _MODERN},
    "model": dict.fromkeys(("rnn", "gru", "lstm", "lstm-attention"), _RECURRENT),
    "vocabulary": {"pretrained": "minitransformer.zoo.pretrained.vocabulary"},
    "blocks": {"zoo": "minitransformer.zoo.checked_blocks"},
    "pretrained model": {"smollm2": "minitransformer.zoo.pretrained.smollm2"},
    "command": {"import": "minitransformer.zoo.pretrained.command"},
    "public name": dict.fromkeys(
        ("GRUModel", "LSTMAttentionModel", "LSTMModel", "RNNModel", "RecurrentConfig"), _RECURRENT
    ),
    "decoding state": dict.fromkeys(
        ("transformer", "language-model"), "minitransformer.decoding.start"
    ),
}


def names(table, kind) -> list[str]:
    """All names that `find` knows; in alphabetical order, whatever is imported, if some are
    elsewhere.
    """
    return sorted({*table, *ELSEWHERE[kind]}) if kind in ELSEWHERE else list(table)


def find(table, kind, name) -> Any:
    """table[name]. Raises InputError if there is no such thing."""
    if not isinstance(name, str) or name not in names(table, kind):
        raise InputError(f"unknown {kind} {name!r}; {choices(str(name), names(table, kind))}")
    if name not in table:
        import_module(ELSEWHERE[kind][name])
    return table[name]


def find_all(table, kind) -> dict[str, Any]:
    """The complete table: every module that adds to it is imported."""
    return {name: find(table, kind, name) for name in names(table, kind)}


def name_of(table, kind, thing, variable) -> str:
    """The name of the class of `thing` in the table called `variable`. Raises InputError if it has
    none.
    """
    own = type(thing)
    if own.__module__ == "builtins" or isinstance(thing, type):  # None, a name, a class
        raise InputError(
            f"{kind} is {thing!r:.60}, expected an object of a registered class: {', '.join(names(table, kind))}"
        )
    for name, known in table.items():
        if known is own:
            return name
    for name, known in table.items():
        if (known.__module__, known.__qualname__) == (own.__module__, own.__qualname__):
            raise InputError(
                f"another class is now registered as the {kind} {name}, as when a notebook's cell runs again; "
                f"make this {own.__name__} again, too"
            )
    raise InputError(
        f"{own.__name__} is not registered, so a run folder with it could not be opened again; "
        f'add it to the table: {variable}["a-name"] = {own.__name__}'
    )
