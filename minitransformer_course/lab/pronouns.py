"""Sentences in which "it" is an animal or a place, a small translator that has to find out which,
and pictures of its heads.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minitransformer import Batch, Transformer, TransformerConfig, load_weights, make_batch
from minitransformer.data.drawn import draw_held_out
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.data.special import BOS, EOS
from minitransformer.tasks.toy import ToyTask
from minitransformer_course.judge.course import folder_of_chapters
from minitransformer_course.lab.example import attention_of, write

# English, German and the German pronoun, which is masculine, feminine or neuter as its noun is.
ANIMALS = {
    "animal": ("tier", "es"),
    "dog": ("hund", "er"),
    "cat": ("katze", "sie"),
    "horse": ("pferd", "es"),
    "wolf": ("wolf", "er"),
    "cow": ("kuh", "sie"),
    "pig": ("schwein", "es"),
    "fox": ("fuchs", "er"),
    "goat": ("ziege", "sie"),
    "sheep": ("schaf", "es"),
    "donkey": ("esel", "er"),
    "goose": ("gans", "sie"),
}
PLACES = {
    "street": ("straße", "sie"),
    "river": ("fluss", "er"),
    "field": ("feld", "es"),
    "bridge": ("brücke", "sie"),
    "path": ("weg", "er"),
    "valley": ("tal", "es"),
    "meadow": ("wiese", "sie"),
    "forest": ("wald", "er"),
    "ice": ("eis", "es"),
    "desert": ("wüste", "sie"),
    "square": ("platz", "er"),
    "village": ("dorf", "es"),
}
OF_ANIMALS = {"tired": "müde", "hungry": "hungrig", "sick": "krank", "weak": "schwach"}
OF_PLACES = {"wide": "breit", "steep": "steil", "dark": "dunkel", "long": "lang"}
WHEN, MUCH = {"": "", "today": "heute"}, {"": "", "much": "viel"}
ARTICLES = {
    "er": ("der", "den"),
    "sie": ("die", "die"),
    "es": ("das", "das"),
}  # of a subject and of an object


@dataclass(frozen=True, kw_only=True)
class Pronouns(ToyTask):
    """the animal did not cross the street because it was too tired -> das tier überquerte die
    straße nicht weil es zu müde war
    """

    name: ClassVar[str] = "pronouns"

    def draw(self, rng) -> tuple[list[str], list[str]]:
        animal, place, trait, when, much = (
            list(words)[rng.integers(len(words))]
            for words in (ANIMALS, PLACES, OF_ANIMALS | OF_PLACES, WHEN, MUCH)
        )
        (subject, he), (thing, it) = ANIMALS[animal], PLACES[place]
        pronoun = he if trait in OF_ANIMALS else it
        reason, why = (
            f"because it was {much} too {trait}",
            f"weil {pronoun} {MUCH[much]} zu {(OF_ANIMALS | OF_PLACES)[trait]} war",
        )
        clause = f"the {animal} did not cross the {place} {when}"
        subject, thing = f"{ARTICLES[he][0]} {subject}", f"{ARTICLES[it][1]} {thing}"
        if rng.random() < 0.5:
            return (
                f"{clause} {reason}".split(),
                f"{subject} überquerte {thing} {WHEN[when]} nicht {why}".split(),
            )
        return (
            f"{reason} {clause}".split(),
            f"{why} überquerte {subject} {thing} {WHEN[when]} nicht".split(),
        )

    @staticmethod
    def is_held_out(source) -> bool:
        """No animal of training meets the place beside it in the lists above: the animal no street,
        the dog no river.
        """
        return any({animal, place} <= set(source) for animal, place in zip(ANIMALS, PLACES))

    def make_vocabulary(self) -> SymbolVocabulary:
        return VOCABULARY


VOCABULARY = SymbolVocabulary(
    sorted(
        {
            *ANIMALS,
            *PLACES,
            *OF_ANIMALS,
            *OF_PLACES,
            *OF_ANIMALS.values(),
            *OF_PLACES.values(),
            "today",
            "heute",
            "much",
            "viel",
            *(word for noun in (ANIMALS | PLACES).values() for word in noun),
            *(word for two in ARTICLES.values() for word in two),
            *"the did not cross because it was too überquerte nicht weil zu war".split(),
        }
    )
)
CONFIG = TransformerConfig(
    num_layers=1,
    d_model=32,
    num_heads=4,
    d_ff=64,
    dropout=0.1,
    source_vocab=VOCABULARY.size,
    target_vocab=VOCABULARY.size,
)


def tired_animal() -> Transformer:
    """The trained translator: a new model at each call."""
    model = Transformer(CONFIG)
    load_weights(model, folder_of_chapters() / "tired_animal" / "weights.safetensors")
    return model


def unseen() -> Batch:
    """200 sentences of pairs that training never had."""
    return make_batch(draw_held_out(Pronouns(), 200))


def right_pronouns(model, batch) -> float:
    """The share of the pronouns that are right if the words before are."""
    pronouns = np.isin(batch.next_target, VOCABULARY.encode("er sie es"))
    return float(
        (model.forward(*batch.inputs)[0].argmax(axis=-1) == batch.next_target)[pronouns].mean()
    )


def partners(batch) -> dict[str, tuple[str, np.ndarray]]:
    """{relation: ("encoder" or "cross", partner)}; partner (B, T_q): the place of each query's
    partner in the source, or -1.
    """
    found = {}
    for name, (kind, query, key) in {
        "not -> did": ("encoder", {"not"}, {"did"}),
        "verb -> object": ("encoder", {"cross"}, PLACES),
        "it -> adjective": ("encoder", {"it"}, OF_ANIMALS | OF_PLACES),
        "adjective -> noun": ("encoder", OF_ANIMALS | OF_PLACES, None),
        "pronoun -> noun": ("cross", {"er", "sie", "es"}, None),
    }.items():
        asked = batch.source if kind == "encoder" else batch.next_target
        partner = np.full(asked.shape, -1)
        for row, ids, source in zip(partner, asked, batch.source):
            words = VOCABULARY.tokens(source)
            nouns = ANIMALS if OF_ANIMALS.keys() & set(words) else PLACES
            row[np.isin(ids, VOCABULARY.encode_symbols(query))] = next(
                t for t, word in enumerate(words) if word in (key or nouns)
            )
        found[name] = kind, partner
    return found


def rows_of(model, english) -> tuple[dict[str, np.ndarray], list[str]]:
    """({who asks: attention weights (H, T_k)}, the source's tokens): the row of "it", and that in
    which it is translated.
    """
    encoder, cross = (
        attention_of(model, VOCABULARY, english, kind) for kind in ("encoder", "cross")
    )
    words, t = encoder.keys, cross.predicted.index("weil") + 1
    return {
        "it": encoder.weights[:, words.index("it")],
        cross.predicted[t]: cross.weights[:, t],
    }, words


def without(model, english, where, word) -> str:
    """The pronoun and its probability if, in one row of the attention, all heads have to do without
    a word of the source.

    where: "encoder", in the row of "it", or "cross", in the row in which the pronoun is written.
    The others share its weight.
    """
    source, german = [*VOCABULARY.encode(english), EOS], write(model, VOCABULARY, english).split()
    written = german.index("weil") + 1
    layer = (
        model.encoder.layers[0].self_attention
        if where == "encoder"
        else model.decoder.layers[0].cross_attention
    )
    attend, allowed = (
        layer.attend,
        np.ones((len(german) + 1 if where == "cross" else len(source), len(source)), bool),
    )
    allowed[
        written if where == "cross" else english.split().index("it"), english.split().index(word)
    ] = False
    layer.attend = lambda q, k, v, _mask, rng: attend(q, k, v, allowed, rng)
    logits = model.forward(
        np.array([source]), np.array([[BOS, *VOCABULARY.encode_symbols(german)]])
    )[0][0, written]
    layer.attend = attend
    p = np.exp(logits - logits.max())
    return f"{VOCABULARY.tokens([logits.argmax()])[0]} {p.max() / p.sum():.2f}"


def show_rows(axes, rows, words) -> None:
    """Draw the result of rows_of: a line for each head of each row."""
    weights = np.concatenate(list(rows.values()))
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(words)), words, rotation=60)
    axes.set_yticks(
        range(len(weights)),
        [f"{name}, head {head}" for name, row in rows.items() for head in range(len(row))],
    )
    axes.axhline(len(weights) / 2 - 0.5, color="black", linewidth=1)
    axes.set(xlabel="key: a word of the source", ylabel="query: who asks")
    axes.figure.colorbar(image, ax=axes, label="attention weight")
