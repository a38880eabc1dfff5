"""Sentences in which "it" is an animal or a place, a small translator that has to find out which,
and pictures of its heads.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minitransformer import Batch, Transformer, TransformerConfig, load_weights, make_batch
from minitransformer.data.drawn import draw_held_out
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.tasks.toy import ToyTask
from minitransformer_course.judge.course import folder_of_chapters
from minitransformer_course.lab.example import attention_of

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
