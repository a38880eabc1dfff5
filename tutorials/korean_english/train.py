"""Train the small Korean-English translator of the book, and save its subwords and weights beside this file.

    python tutorials/korean_english/train.py kor-eng.tsv.gz

The file is that of README.md beside this script. Needs the extra `translation`, for BLEU.
"""

import sys
import time
from collections import Counter
from pathlib import Path
from zlib import crc32

import numpy as np
from safetensors.numpy import save as save_tensors

from minitransformer import Adam, Transformer, fast, training_step
from minitransformer.data.epochs import EpochBatches
from minitransformer.data.text_files import read_text, split_lines
from minitransformer.decoding import Search, translate
from minitransformer.tasks.evaluation import bleu, chrf, mean_loss, pair_batches, perplexity
from minitransformer_course.lab.korean import Subwords, config, merge, words

HELD_OUT = 200      # pairs for the test, and as many for validation
SIZE = 2000         # tokens of the vocabulary
RAREST = 2          # a character that occurs less often in the training text has no token
STEPS, WARMUP, COOLDOWN, PEAK = 1600, 150, 800, 0.004    # the learning rate falls to 0 in the last COOLDOWN steps
BATCH, DROPOUT = 800, 0.2
FILES = 5           # of at most 300 KB
HERE = Path(__file__).parent


def split(lines) -> list[list]:
    """[test, validation, training] of lines (English, Korean, attribution): a sentence, in all its versions, is in one of them."""
    group: dict[str, str] = {}    # {a sentence, without its punctuation: one that stands for all that share a pair with it}

    def find(text) -> str:
        while group.setdefault(text, text) != text:
            text = group[text]
        return text

    plain = [["".join(filter(str.isalnum, side.lower())) for side in line[:2]] for line in lines]
    for english, korean in plain:
        group[find(english)] = find(korean)
    groups: dict[str, list] = {}
    for line, (english, _korean) in zip(lines, plain):
        groups.setdefault(find(english), []).append(line)
    parts: list[list] = [[], [], []]
    for one in sorted(groups.values(), key=lambda one: crc32(min(one)[0].encode())):
        part = next(part for part in parts if part is parts[-1] or len(part) + len(one) <= HELD_OUT)
        part += one
    return parts


def learn(texts) -> Subwords:
    """Byte-pair encoding of texts."""
    counts = Counter(word for text in texts for word in words(text))
    characters = Counter(character for word, count in counts.items() for character in word * count)
    kept = sorted(character for character, count in characters.items() if count >= RAREST)
    spelled, merges = {word: list(word) for word in counts}, []
    pairs: Counter = Counter()
    changed, best = list(counts), None
    for _merge in range(SIZE - Subwords(kept, []).size + 1):
        for word in changed:
            for pair in zip(spelled[word], spelled[word][1:]):
                pairs[pair] -= counts[word] * bool(best)
            spelled[word] = merge(spelled[word], best)
            for pair in zip(spelled[word], spelled[word][1:]):
                pairs[pair] += counts[word]
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        changed = [word for word in counts if "".join(best) in word]
    return Subwords(kept, merges[:-1])


def save(model, subwords) -> None:
    """Write subwords.txt, the characters and then a merge in each line, and the weights in half precision, in FILES files."""
    (HERE / "subwords.txt").write_text("\n".join(["".join(subwords.characters), *map(" ".join, subwords.merges)]),
                                       encoding="utf-8")
    for i, weights in enumerate(np.array_split(model.flat.data.astype(np.float16), FILES)):
        (HERE / f"weights_{i}.safetensors").write_bytes(save_tensors({"weights": weights}))


def main(path) -> None:
    since = time.process_time()
    parts = split([line.split("\t") for line in split_lines(read_text(path))])
    (HERE / "held_out.tsv").write_text("".join("\t".join(line) + "\n" for line in parts[0]), encoding="utf-8")
    test, valid, train = [[(korean, english) for english, korean, _attribution in part] for part in parts]
    subwords = learn(text for pair in train for text in pair)
    ids = [[tuple(map(subwords.encode, pair)) for pair in part] for part in (train, valid, test)]
    model = Transformer(config(subwords.size, DROPOUT), seed=0)
    print(f"{len(train):,} pairs to train on, {subwords.size:,} tokens, {model.flat.data.size:,} parameters", flush=True)
    adam, batches = Adam(model), EpochBatches(ids[0], BATCH, seed=0)
    with fast():
        for step in range(1, STEPS + 1):
            learning_rate = PEAK * min(step / WARMUP, (WARMUP / step) ** 0.5) * min(1, (STEPS + 1 - step) / COOLDOWN)
            training_step(model, adam, next(batches), learning_rate, seed=(0, step), smoothing=0.1)
            if step % 250 == 0:
                loss = mean_loss(model, pair_batches(ids[1]), threads=1)
                print(f"step {step:,}, epoch {batches.position[0]}, {time.process_time() - since:.0f} s of processor time: "
                      f"perplexity {perplexity(loss):.2f} on the validation pairs", flush=True)
        for name, part in (("validation", valid), ("test", test)):
            sources, references = zip(*part)
            for beam in (1, 5):
                outputs = translate(model, subwords, sources, 256, Search(beam=beam), threads=1)
                print(f"{name}, beam {beam}: BLEU {bleu(outputs, references)[0]:.2f}, chrF {chrf(outputs, references):.2f}")
    save(model, subwords)


if __name__ == "__main__":
    main(sys.argv[1])
