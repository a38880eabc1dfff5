"""How good a model is: perplexity, exact match, BLEU, chrF. Outputs are the model's own, never teacher-forced."""

import math

from minitransformer.data.batches import by_length, make_batch
from minitransformer.decoding import GREEDY, decode_all
from minitransformer.extras import require
from minitransformer.functional import cross_entropy_forward

BATCH_TOKENS = 4096


def mean_loss(model, pairs):
    """The mean negative log-likelihood of a target token (EOS too), over pairs of id lists, in nats."""
    total, tokens = 0.0, 0
    for chunk in by_length(pairs, BATCH_TOKENS):
        batch = make_batch(chunk)
        logits, _ = model.forward(batch.source, batch.target)
        loss, _ = cross_entropy_forward(logits, batch.next_target)
        total += float(loss)
        tokens += batch.tokens
    return total / tokens


def perplexity(loss):
    """exp(mean loss): as undecided as a choice among this many equally likely tokens."""
    return math.exp(min(loss, 700.0))    # exp of more is no float


def exact_match(model, pairs, search=GREEDY, threads=None):
    """The share of pairs of id lists whose source the model decodes to exactly the target."""
    outputs = decode_all(model, [source for source, _ in pairs], search, threads)
    return sum(best.tokens == target for (best, *_), (_, target) in zip(outputs, pairs)) / len(pairs)


def bleu(outputs, references, tokenize="13a"):
    """(BLEU, signature) of output texts by sacrebleu; `tokenize`: "13a", or "none" for tokenised text."""
    metric = require("sacrebleu").metrics.BLEU(tokenize=tokenize, force=True)
    score = metric.corpus_score(outputs, [references]).score
    return score, str(metric.get_signature())


def chrf(outputs, references):
    """chrF2 of output texts by sacrebleu: an F-score of character n-grams, fair to Korean, where words are long."""
    return require("sacrebleu").metrics.CHRF().corpus_score(outputs, [references]).score
