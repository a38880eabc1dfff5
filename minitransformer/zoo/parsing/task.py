"""Constituency parsing (section 6.3 of the paper): a sentence is translated to the brackets of its tree."""

import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from minitransformer.data.epochs import EpochBatches
from minitransformer.data.text_files import read_text
from minitransformer.decoding import Search, decode_all, encode
from minitransformer.errors import InputError, counted
from minitransformer.tables import setting
from minitransformer.tasks import TASKS
from minitransformer.tasks.files import FromFiles, only_file
from minitransformer.tasks.task import EXAMPLES, Data
from minitransformer.tasks.text_to_text import TextToText
from minitransformer.training.evaluation import mean_loss, pair_batches, perplexity
from minitransformer.zoo.parsing.brackets import NotATree, build_tree, linearise
from minitransformer.zoo.parsing.score import BracketScore, score_trees
from minitransformer.zoo.parsing.treebank import Placed, read_trees
from minitransformer.zoo.parsing.vocabulary import OTHER, TreebankVocabulary


@dataclass(frozen=True, kw_only=True)
class Parse(FromFiles, TextToText):
    name: ClassVar[str] = "parse"
    description: ClassVar[str] = "parse sentences: a file of trees in the Penn Treebank's brackets"
    command: ClassVar[str] = "parse"
    search: ClassVar = Search(beam=5, alpha=0.3, extra_length=300)    # alpha and length: section 6.3
    defaults: ClassVar[dict] = dict(config="tiny", steps=2000, warmup=100, schedule="constant", peak_rate=0.002, cooldown=0.6,
                                    pre_norm=True, dropout=0.1, smoothing=0.0)
    presets: ClassVar[dict] = {
        # Seven passes over 3,131 trees. Small batches: the number of updates decides when the model finds its place in a sentence.
        "ptb": dict(config="tiny", batch=1024, steps=1400, validate_every=700),
    }
    evaluate_options: ClassVar[tuple] = ("beam", "length_penalty", "test")
    files_option: ClassVar[dict] = dict(nargs=1, metavar="TREES", help="trees in the Penn Treebank's brackets, plain or .gz")

    batch: int = setting("tokens in a batch, padding included", 2048)
    max_length: int = setting("longest sentence to train on, in words", 256)
    tags: bool = setting("let the model write each word's tag in its place, not XX", False)

    def read_files(self, files, name, read) -> list[Placed]:
        return read_trees(only_file(files, name, "one file of trees"), read)

    def make_vocabulary(self) -> TreebankVocabulary:
        return TreebankVocabulary.learn([tree for _, tree in self.texts["train"]])

    def model_sizes(self, vocabulary) -> dict[str, Any]:
        return {"vocab_size": vocabulary.size, "target_vocab": vocabulary.target_size, "share_embeddings": False}

    def data(self, vocabulary, training) -> Data:
        train, valid = (self._encode(vocabulary, getattr(self, name)[0], trees) for name, trees in self.texts.items())
        golds = [tree for _, tree in self.texts["valid"]]

        def measure(model) -> dict[str, float]:
            score = self._score(model, vocabulary, golds, replace(self.search, beam=1), training.threads)
            return {"valid_f1": score.f1, "valid_well_formed": score.well_formed / score.trees}

        examples = [(" ".join(tree.words), str(build_tree(linearise(tree, self.tags), tree.words))) for tree in golds[:EXAMPLES]]
        return Data(EpochBatches(train, self.batch, training.seed), pair_batches(valid), measure, examples)

    def _encode(self, vocabulary, file, placed) -> list[tuple[list[int], list[int]]]:
        """Pairs of ids of words and of symbols. Longer sentences are left out and unknown labels read as X; both are reported."""
        short = [tree for _, tree in placed if len(tree.words) <= self.max_length]
        if not short:
            raise InputError(f"{file}: no sentence of at most {self.max_length} words; train with a larger --max-length")
        if left_out := len(placed) - len(short):
            print(f"{file}: {counted(left_out, 'sentence')} of more than {self.max_length} words left out "
                  "(--max-length)", file=sys.stderr)
        for line, tree in placed:
            if unknown := vocabulary.unknown_labels(tree):
                print(f"{file}, line {line}: no training tree has the label {', '.join(sorted(unknown))}; its probability is "
                      f"measured as that of {OTHER}", file=sys.stderr)
        return [(vocabulary.encode_words(tree.words), vocabulary.encode_symbols(linearise(tree, self.tags))) for tree in short]

    def trees(self, run, texts, search=None) -> list[Any]:
        """For each of `texts` its Tree, or the NotATree that says why the output is not one (for an empty text, too)."""
        sources = encode(run.vocabulary, texts, self.max_length)
        found = decode_all(run.model, sources, search or self.search)
        return [_built(run.vocabulary.tokens(best.ids), text.split()) for (best, *_), text in zip(found, texts)]

    def answer(self, run, texts, search=None) -> list[str]:
        """The tree of each text in brackets; "not a tree: ..." for another output, "" for an empty text."""
        return [("" if not text.strip() else f"not a tree: {tree}" if isinstance(tree, NotATree) else str(tree))
                for text, tree in zip(texts, self.trees(run, texts, search))]

    def evaluate(self, run, search, test=None) -> dict[str, Any]:
        """Precision, recall and F1 of labelled brackets in percent, and how many outputs are a tree of their sentence."""
        files = test or self.valid
        placed = self.read_files(files, "--test", read_text)
        score = self._score(run.model, run.vocabulary, [tree for _, tree in placed], search)
        return {"f1": score.f1, "precision": score.precision, "recall": score.recall, "f1_of_trees": score.f1_of_trees,
                "complete": score.complete, "well_formed": score.well_formed, "sentences": score.trees,
                "perplexity": perplexity(mean_loss(run.model, pair_batches(self._encode(run.vocabulary, files[0], placed))))}

    def _score(self, model, vocabulary, golds, search, threads=None) -> BracketScore:
        """The scores of the model's own outputs. They get the gold tags, which decide which words are punctuation."""
        found = decode_all(model, [vocabulary.encode_words(tree.words)[:self.max_length] for tree in golds], search, threads)
        outputs = [_built(vocabulary.tokens(best.ids), gold.words, [tag.label for tag in gold.tags()])
                   for (best, *_), gold in zip(found, golds)]
        return score_trees(golds, [None if isinstance(output, NotATree) else output for output in outputs])


def _built(symbols, words, tags=None) -> Any:
    """The Tree of an output, or the NotATree that says why there is none."""
    try:
        return build_tree(symbols, words, tags)
    except NotATree as reason:
        return reason


TASKS[Parse.name] = Parse
