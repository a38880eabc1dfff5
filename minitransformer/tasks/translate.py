"""Translation, learned from parallel text."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from minitransformer.data.epochs import EpochBatches
from minitransformer.data.parallel import encode_pairs, read_pairs
from minitransformer.data.text_files import Read
from minitransformer.data.vocabularies.subwords import SubwordVocabulary
from minitransformer.decoding import Search, translate
from minitransformer.decoding.state import Decodable
from minitransformer.errors import counted
from minitransformer.tasks.evaluation import (
    bleu,
    bleu_metric,
    chrf,
    mean_loss,
    pair_batches,
    perplexity,
)
from minitransformer.extras import require
from minitransformer.stderr import stderr
from minitransformer.tasks.files import PARTS, FromSentences
from minitransformer.tasks.task import EXAMPLES, Data
from minitransformer.tables import setting
from minitransformer.tasks.text_to_text import TextToText

if TYPE_CHECKING:
    from minitransformer.runs.config import TrainingConfig
    from minitransformer.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class Translate(FromSentences, TextToText):
    name: ClassVar[str] = "translate"
    description: ClassVar[str] = "translate text: aligned files, or a two-column TSV"
    search: ClassVar = Search(beam=5)
    defaults: ClassVar[dict] = dict(config="tiny", steps=2500, warmup=500, rate_factor=0.5)
    presets: ClassVar[dict] = {
        # Multi30K, with the sizes and the dropout of the text-only model of Wu et al. 2021
        # (https://aclanthology.org/2021.acl-long.480). With this dropout, a post-norm model did not
        # learn to attend to its source here (docs/translation.md). A batch holds sentences of one
        # length, so two small batches make a better update than a large one. The warm-up is theirs;
        # the peak is three fifths of theirs for a quarter of their batch.
        "multi30k": dict(
            config="tiny",
            pre_norm=True,
            vocab_size=6000,
            dropout=0.3,
            schedule="inverse-sqrt",
            peak_rate=0.003,
            warmup=2000,
            steps=24_000,
            batch=1024,
            accumulate=2,
            validate_every=1000,
        ),
    }
    evaluate_options: ClassVar[tuple] = (*TextToText.evaluate_options, "test", "tokenize")
    files_option: ClassVar[dict] = dict(
        nargs="+",
        metavar=("SOURCE", "TARGET"),
        help="aligned text files, plain or .gz, or one two-column TSV",
    )

    vocab_size: int = setting("subwords learned on both languages together", 6000)

    def read_files(self, files: list[str], name: str, read: Read) -> list[tuple[str, str]]:
        """`files`: [SOURCE, TARGET], or [TSV]."""
        return read_pairs(files, name, read)

    def make_vocabulary(self) -> SubwordVocabulary:
        return SubwordVocabulary.learn(
            (text for pair in self.texts["train"] for text in pair), self.vocab_size
        )

    def data(self, vocabulary: SubwordVocabulary, training: "TrainingConfig") -> Data:
        require("sacrebleu")  # now rather than at the first validation
        texts = self.texts
        pairs, valid = (
            encode_pairs(vocabulary, texts[name], self.max_length, " / ".join(getattr(self, name)))
            for name in PARTS
        )
        if len(pairs) < len(texts["train"]):
            left_out = counted(len(texts["train"]) - len(pairs), "pair")
            print(f"left out: {left_out} with an empty side", file=stderr)
        sources, targets = zip(*texts["valid"])

        def measure(model: Decodable) -> dict[str, float]:
            outputs = translate(
                model, vocabulary, sources, self.max_length, threads=training.threads
            )
            return {"valid_bleu": bleu(outputs, targets)[0]}

        examples = [pair for pair in texts["valid"] if all(pair)][:EXAMPLES]
        return Data(
            EpochBatches(pairs, self.batch, training.seed), pair_batches(valid), measure, examples
        )

    def evaluate(
        self,
        run: "Run",
        search: Search | None,
        test: list[str] | None = None,
        tokenize: str = "13a",
    ) -> dict[str, Any]:
        """BLEU with its signature, chrF, perplexity, and the seconds that decoding took."""
        bleu_metric(tokenize)  # an error now rather than after decoding
        files, texts = self.to_measure(run, test)
        pairs = encode_pairs(run.vocabulary, texts, self.max_length, " / ".join(files))
        since = time.perf_counter()
        outputs = translate(
            run.model,
            run.vocabulary,
            [source for source, _ in texts],
            self.max_length,
            search or self.search,
            line=f"{files[0]}, line",
        )
        seconds = time.perf_counter() - since
        references = [target for _, target in texts]
        score, signature = bleu(outputs, references, tokenize)
        return {
            "bleu": score,
            "chrf": chrf(outputs, references),
            "signature": signature,
            "perplexity": perplexity(mean_loss(run.model, pair_batches(pairs))),
            "sentences": len(texts),
            "seconds": seconds,
        }
