"""A sentence is translated to the brackets of its tree."""

import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from research.experiments.parsing.brackets import NotATree, Tree, build_tree, linearise
from research.experiments.parsing.score import BracketScore, score_trees
from research.experiments.parsing.search import TreeSearch
from research.experiments.parsing.treebank import read_trees
from research.experiments.parsing.vocabulary import OTHER, TreebankVocabulary
from minitransformer.data.epochs import EpochBatches
from minitransformer.decoding import decode_all
from minitransformer.errors import InputError, counted
from minitransformer.tables import setting
from minitransformer.tasks.files import PARTS, FromFiles, only_file
from minitransformer.tasks.task import EXAMPLES, Data
from minitransformer.tasks.text_to_text import TextToText
from minitransformer.tasks.evaluation import mean_loss, pair_batches, perplexity


@dataclass(frozen=True, kw_only=True)
class Parse(FromFiles, TextToText):
    name: ClassVar[str] = "parse"
    description: ClassVar[str] = "parse sentences: a file of trees in the Penn Treebank's brackets"
    search: ClassVar = TreeSearch(beam=5, alpha=0.3)  # alpha: section 6.3
    defaults: ClassVar[dict] = dict(
        config="tiny",
        steps=2000,
        warmup=100,
        schedule="constant",
        peak_rate=0.002,
        cooldown=0.6,
        pre_norm=True,
        dropout=0.1,
        smoothing=0.0,
    )
    presets: ClassVar[dict] = {
        # Seven passes over 3,131 trees. Small batches: the number of updates decides when the model
        # finds its place in a sentence.
        "ptb": dict(config="tiny", batch=1024, steps=1400, validate_every=700),
    }
    evaluate_options: ClassVar[tuple] = ("beam", "length_penalty", "test")
    files_option: ClassVar[dict] = dict(
        nargs=1, metavar="TREES", help="trees in the Penn Treebank's brackets, plain or .gz"
    )

    batch: int = setting("tokens in a batch, padding included", 2048)
    max_length: int = setting("longest sentence to train on, in words", 256)
    tags: bool = setting("let the model write each word's tag in its place, not XX", False)

    def read_files(self, files, name, read) -> list[Tree]:
        return read_trees(only_file(files, name, "one file of trees"), read)

    def make_vocabulary(self) -> TreebankVocabulary:
        return TreebankVocabulary.learn(self.texts["train"])

    def model_sizes(self, vocabulary) -> dict[str, Any]:
        return {
            "vocab_size": vocabulary.size,
            "target_vocab": vocabulary.target_size,
            "share_embeddings": False,
        }

    def data(self, vocabulary, training) -> Data:
        texts = self.texts
        train, valid = (
            self._encode(vocabulary, getattr(self, name)[0], texts[name]) for name in PARTS
        )
        golds = texts["valid"]

        def measure(model) -> dict[str, float]:
            score = self._score(
                model, vocabulary, golds, replace(self.search, beam=1), training.threads
            )
            return {"valid_f1": score.f1, "valid_well_formed": score.well_formed / score.trees}

        examples = [
            (" ".join(tree.words), " ".join(linearise(tree, self.tags)))
            for tree in golds[:EXAMPLES]
        ]
        return Data(
            EpochBatches(train, self.batch, training.seed), pair_batches(valid), measure, examples
        )

    def _encode(self, vocabulary, file, trees) -> list[tuple[list[int], list[int]]]:
        """Pairs of ids of words and of symbols. Longer sentences are left out and unknown labels
        read as X; both are reported.
        """
        short = [tree for tree in trees if len(tree.words) <= self.max_length]
        if not short:
            raise InputError(
                f"{file}: no sentence of at most {self.max_length} words; train with a larger --max-length"
            )
        if left_out := len(trees) - len(short):
            print(
                f"{file}: {counted(left_out, 'sentence')} of more than {self.max_length} words left out "
                "(--max-length)",
                file=sys.stderr,
            )
        if unknown := vocabulary.unknown_labels(short):
            print(
                f"{file}: no training tree has the label {', '.join(sorted(unknown))}; its probability is measured as that of "
                f"{OTHER}",
                file=sys.stderr,
            )
        return [
            (
                vocabulary.encode_words(tree.words),
                vocabulary.encode_symbols(linearise(tree, self.tags)),
            )
            for tree in short
        ]

    def evaluate(self, run, search, test=None) -> dict[str, Any]:
        """Precision, recall and F1 of labelled brackets in percent, and how many outputs are a tree
        of their sentence.
        """
        files, trees = self.to_measure(run, test)
        score = self._score(run.model, run.vocabulary, trees, search)
        return {
            "f1": score.f1,
            "precision": score.precision,
            "recall": score.recall,
            "f1_of_trees": score.f1_of_trees,
            "complete": score.complete,
            "well_formed": score.well_formed,
            "sentences": score.trees,
            "perplexity": perplexity(
                mean_loss(run.model, pair_batches(self._encode(run.vocabulary, files[0], trees)))
            ),
        }

    def _score(self, model, vocabulary, golds, search, threads=None) -> BracketScore:
        """The scores of the model's own outputs. They get the gold tags, which decide which words
        are punctuation.
        """
        found = decode_all(
            model,
            [vocabulary.encode_words(tree.words)[: self.max_length] for tree in golds],
            search,
            threads,
        )
        return score_trees(
            golds,
            [_built(vocabulary.tokens(best.ids), gold) for (best, *_), gold in zip(found, golds)],
        )


def _built(symbols, gold) -> Tree | None:
    """The Tree of an output over the words and tags of another, or None if it is not one."""
    try:
        return build_tree(symbols, gold.words, gold.tags)
    except NotATree:
        return None
