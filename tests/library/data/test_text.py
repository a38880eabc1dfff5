"""Files, vocabularies and batches."""

import gzip
import random
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitransformer import InputError, make_batch
from minitransformer.data.batches import by_length
from minitransformer.data.epochs import EpochBatches
from minitransformer.data.labelled import make_labelled_batch, sentence_length
from minitransformer.data.parallel import MAX_CHARACTERS, encode_pairs, read_pairs
from minitransformer.data.text_files import read_text, split_lines
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.vocabularies.subwords import NAMES, SubwordVocabulary
from minitransformer.data.vocabularies.symbols import SymbolVocabulary
from minitransformer.data.special import BOS, EOS, PAD

RECORDED = Path(__file__).parents[2] / "fixtures" / "recorded" / "trained"
TEXTS = ["a man rides a bike .", "ein mann fährt rad .", "소녀가 책을 읽는다"] * 3


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    "content, lines",
    [
        ("a b\nc\n", ["a b", "c"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("\ufeffa\n\nb", ["a", "", "b"]),
        ("a\u2028b\n  c\t\n", ["a\u2028b", "c"]),
        ("한국어\n", ["한국어"]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_lines(tmp_path, content, lines, packed):
    data = gzip.compress(content.encode()) if packed else content
    text = read_text(write(tmp_path / ("x.gz" if packed else "x"), data))
    assert [line.strip() for line in split_lines(text)] == lines


@pytest.mark.parametrize(
    "name, data, words",
    [
        ("x", b"ok\nab\xffc\n", r"x, line 2: not UTF-8 text \(byte 0xff\)"),
        (
            "x",
            b"\xef\xbb\xbfok\n\xffc\n",
            r"x, line 2: not UTF-8 text \(byte 0xff\)",
        ),  # after a mark of UTF-8
        ("x", b"", "x: empty"),
        ("x", b" \n\n", "x: empty"),
        ("x.gz", b"plain", "x.gz: not an intact gzip file"),
        ("x.gz", gzip.compress(b"hello" * 99, mtime=0)[:-9], "x.gz: not an intact gzip file"),
    ],
)
def test_unusable_files_are_named(tmp_path, name, data, words):
    with pytest.raises(InputError, match=words):
        read_text(write(tmp_path / name, data))


def test_a_missing_file_or_a_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="none.txt: No such file"):
        read_text(tmp_path / "none.txt")
    with pytest.raises(InputError, match="Is a directory"):
        read_text(tmp_path)
    with pytest.raises(InputError, match="null"):
        read_text("nul\0")
    with pytest.raises(InputError, match="/dev/zero: a device, expected a text file"):
        read_text("/dev/zero")


def test_decomposed_letters_are_composed(tmp_path):
    """Some systems write text that way; the model's output is compared with text in the other form."""
    text = "ein müder 사람 "
    assert read_pairs(
        [write(tmp_path / "tsv", unicodedata.normalize("NFD", f"{text}\t{text}\n"))]
    ) == [(text[:-1],) * 2]


def test_pairs_from_two_files_or_a_tsv(tmp_path):
    source, target = write(tmp_path / "s", "a\nb\n"), write(tmp_path / "t", "x\ny\n")
    tsv = write(tmp_path / "both.tsv", "a\tx\nb\ty\tCC-BY someone\n")
    assert read_pairs([source, target]) == read_pairs([tsv]) == [("a", "x"), ("b", "y")]


def test_columns_are_not_shifted(tmp_path):
    tsv = write(tmp_path / "x.tsv", "\tx\tCC-BY\r\na\t\n\n \t \nb\ty\n")
    assert read_pairs([tsv]) == [("", "x"), ("a", ""), ("", ""), ("", ""), ("b", "y")]


def test_an_endless_line_is_named(tmp_path):
    tsv = write(tmp_path / "x.tsv", "a\tx\n" + "a" * (MAX_CHARACTERS + 1) + "\ty\n")
    with pytest.raises(
        InputError, match="x.tsv, line 2: 20,001 characters, expected at most 20,000"
    ):
        read_pairs([tsv])


def test_files_that_do_not_fit_are_named(tmp_path):
    source, target = write(tmp_path / "s", "a\nb\n"), write(tmp_path / "t", "x\n")
    with pytest.raises(InputError, match="s has 2 lines and .*t has 1"):
        read_pairs([source, target])
    with pytest.raises(InputError, match="s, line 1: one column"):
        read_pairs([source])


@pytest.fixture(scope="module")
def subwords():
    return SubwordVocabulary.learn(TEXTS, 80)


def test_subwords_are_not_learned_from_an_endless_word():
    SubwordVocabulary.learn([" ".join(["a" * 1000] * 50)], 40)  # a long line of shorter words
    with pytest.raises(
        InputError,
        match=r"a word of 30,001 characters without a space, '\\tbb.*'..., expected at most 20,000:",
    ):
        SubwordVocabulary.learn(["a b", "a \t" + "b" * 30_000 + " a"], 40)


@pytest.mark.parametrize("text", TEXTS[:3])
def test_subwords_restore_the_text(subwords, text):
    ids = subwords.encode(text)
    assert min(ids) > EOS and max(ids) < subwords.size <= 80
    assert subwords.decode(ids) == subwords.decode([BOS, *ids, EOS, PAD]) == text


def test_what_is_learned_from_a_text_is_what_it_is_encoded_with():
    """One name a line: a text of many words, and no space."""
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("aeiklmnorst"), size)) for size in rng.integers(2, 9, 2000)]
    text = "\n".join(names)
    vocabulary = SubwordVocabulary.learn([text], 300, sentences=False)
    ids = vocabulary.encode(text)
    assert vocabulary.size == 300 and len(set(range(len(NAMES), 300)) - set(ids)) < 0.03 * 300
    parts = [vocabulary.encode(line + "\n") for line in names]
    assert [i for part in parts for i in part][:-1] == ids[:-1]  # the text's last line has no end


def test_any_part_of_a_text_is_restored():
    text = "To be,\n or  not\n\nto be:\nthat is the question"
    vocabulary = SubwordVocabulary.learn([text], 60, sentences=False)
    ids = vocabulary.encode(text)
    for begin in range(len(ids)):
        rest = vocabulary.decode(ids[begin:])
        assert vocabulary.decode(ids[:begin]) + rest == text
        assert vocabulary.encode(rest) == ids[begin:]


def test_a_tokenizer_of_an_older_run_encodes_as_it_did():
    """There, each text got a "▁", and a line's end did not end a word."""
    vocabulary = SubwordVocabulary.load(RECORDED / "translate" / "tokenizer.json")
    tokens = vocabulary.tokens(vocabulary.encode("the dog\nthe"))
    assert tokens == ["▁the", "▁", "d", "og", "<unk>", "t", "he"]


def test_subwords_normalise_unicode(subwords):
    assert subwords.encode("fa\u0308hrt") == subwords.encode("f\u00e4hrt")


def test_subwords_survive_unknown_characters(subwords):
    """And they show: in the decoded text, and by name."""
    assert subwords.decode(subwords.encode("a 漢 man 字")) == "a \ufffd man \ufffd"
    assert (
        subwords.unknown_characters("a 漢 man 字") == ["漢", "字"]
        and subwords.unknown_characters("a man") == []
    )


def test_special_tokens_in_a_text_are_text(subwords, tmp_path):
    write(tmp_path / "tokenizer.json", subwords.to_json())
    for vocabulary in (subwords, SubwordVocabulary.load(tmp_path / "tokenizer.json")):
        assert not {PAD, BOS, EOS} & set(vocabulary.encode("a <pad> b </s> <s>"))
    with pytest.raises(InputError, match="unknown symbol '</s>'"):
        SymbolVocabulary("ab").encode("a </s> b")


def test_special_tokens_learned_from_a_text_are_text():
    """Glued to words, as marks of formatting may be, they become subwords."""
    texts = [
        f"the {word}{mark}{word}" for mark in NAMES for word in "red blue green dog cat".split()
    ]
    vocabulary = SubwordVocabulary.learn(texts, 60)
    assert set(NAMES) <= set(vocabulary.tokens(range(4, vocabulary.size)))
    for text in texts:
        assert (
            min(vocabulary.encode(text)) >= 4 and vocabulary.decode(vocabulary.encode(text)) == text
        )
    assert tuple(vocabulary.tokens(range(4))) == NAMES == ("<pad>", "<s>", "</s>", "<unk>")


def test_vocabularies_are_saved_and_loaded(subwords, tmp_path):
    for vocabulary, text in ((subwords, TEXTS[1]), (SymbolVocabulary("abc", joint=""), "b-a c")):
        path = tmp_path / vocabulary.file_name
        write(path, vocabulary.to_json())
        loaded = type(vocabulary).load(path)
        assert loaded.size == vocabulary.size
        assert loaded.encode(text) == vocabulary.encode(text)


def test_a_broken_tokenizer_file_is_named(tmp_path):
    with pytest.raises(InputError, match="tokenizer.json: not a tokenizer"):
        SubwordVocabulary.load(write(tmp_path / "tokenizer.json", "{}"))


def test_symbols():
    vocabulary = SymbolVocabulary(["one", "two", "1"], joint="+")
    ids = vocabulary.encode("two-one  1")
    assert vocabulary.decode([BOS, *ids, EOS, PAD]) == "two+one+1"
    with pytest.raises(
        InputError, match="unknown symbol 'three'; this run's symbols are one two 1"
    ):
        vocabulary.encode("one three")
    pieces = SymbolVocabulary(["a", "b", "ab"])
    assert (
        pieces.decode(pieces.encode("ab ba")) == "ab b a"
    )  # a word that is a symbol is not split into its letters


def test_a_batch():
    batch = make_batch([([5, 6], [7]), ([8], [9, 5, 6])])
    np.testing.assert_array_equal(batch.source, [[5, 6, EOS], [8, EOS, PAD]])
    np.testing.assert_array_equal(batch.target, [[BOS, 7, PAD, PAD], [BOS, 9, 5, 6]])
    np.testing.assert_array_equal(batch.next_target, [[7, EOS, PAD, PAD], [9, 5, 6, EOS]])
    assert batch.terms == batch.num_tokens == 6


@given(
    lengths=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=40),
    max_tokens=st.integers(21, 90),
    seed=st.none() | st.integers(0, 9),
)
def test_by_length(lengths, max_tokens, seed):
    """Every pair once, and no batch with more than its tokens, padding and EOS included."""
    pairs = [([i] * s, [i] * t) for i, (s, t) in enumerate(lengths, 1)]
    lists = by_length(pairs, max_tokens, None if seed is None else np.random.default_rng(seed))
    assert sorted(pair for batch in lists for pair in batch) == sorted(pairs)
    for batch in map(make_batch, lists):
        assert max(batch.source.size, batch.target.size) <= max_tokens


def test_by_length_pads_little():
    rng = np.random.default_rng(0)
    pairs = [([5] * n, [5] * n) for n in rng.integers(1, 50, 2000)]
    lists = by_length(pairs, 1000, rng)
    padded = sum(make_batch(batch).target.size for batch in lists)
    assert padded < 1.05 * sum(len(target) + 1 for _, target in pairs)
    lengths = [len(batch[0][1]) for batch in lists]
    assert lengths != sorted(lengths)  # the order of the batches is shuffled


@pytest.mark.parametrize(
    "of, more",
    [
        (lambda i: ([i], [i] * (1 + i % 4)), ()),
        (lambda i: ([i] * (1 + i % 4), i), (make_labelled_batch, sentence_length)),
    ],
    ids=["pairs", "labelled sentences"],
)
def test_an_epoch_is_all_examples_once(of, more):
    batches, found = EpochBatches([of(i) for i in range(3, 60)], 30, 4, *more), []
    for _ in range(3):
        sources = []
        while len(sources) < 57:
            batch = next(batches)
            assert batch.inputs[0].size <= 30
            assert not more or (batch.ids[:, 0] == batch.labels).all()
            sources += batch.inputs[0][:, 0].tolist()
        assert sorted(sources) == list(range(3, 60))
        found.append(sources)
    assert found[0] != found[1] != found[2]


def test_a_sentence_that_is_too_long_is_named(subwords):
    texts = [("a man", "ein mann"), ("a man " * 30, "ein mann")]
    with pytest.raises(
        InputError, match="train.en, line 2: a sentence of .* tokens, expected at most 20"
    ):
        encode_pairs(subwords, texts, 20, "train.en")


def test_pairs_with_an_empty_side_are_left_out(subwords):
    assert len(encode_pairs(subwords, [("a", "ein"), ("", "ein"), ("a", "")], 20, "x")) == 1
    with pytest.raises(InputError, match="x: no line with text on both sides"):
        encode_pairs(subwords, [("", "ein")], 20, "x")
    with pytest.raises(InputError, match="x: no line with text on both sides"):
        encode_pairs(subwords, [], 20, "x")


@pytest.mark.parametrize(
    "lines, said",
    [
        (["a\tx", "b\ty"], ""),
        (
            ["a\tx", "b\ty\tz"],
            "line 2: more than two columns: only the first two are read\n",
        ),
        (["a\tx\tz", "b\ty\tz"], "line 1: more than two columns"),
        (
            ["a\tx", '"say ""b"""\ty'],
            "line 2: a column in quotes, as of a spreadsheet",
        ),
        (['"a\tb"\tx'], "line 1: more than two columns"),
        (['"Hello" is a word, so is "b"\tx', '"\ty', "\tz"], ""),
    ],
)
def test_a_tsv_that_may_mean_something_else_is_reported(tmp_path, capsys, lines, said):
    """It is read as it stands."""
    file = tmp_path / "tsv"
    file.write_text("\n".join(lines))
    assert read_pairs([file]) == [tuple(line.split("\t")[:2]) for line in lines]
    error = capsys.readouterr().err
    assert error.startswith(f"{file}, {said}" if said else "") and bool(error) == bool(said)


BLOCKS = [  # of Unicode, from control characters to private use
    *((0x20, 0x20), (0, 0x1F), (0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x5FF)),
    *((0x600, 0x6FF), (0x900, 0x97F), (0x1100, 0x11FF), (0x2000, 0x206F), (0x3000, 0x30FF)),
    *((0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xF8FF), (0xFE00, 0xFE0F), (0xFF00, 0xFFEF)),
    *((0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0xE0000, 0xE007F), (0x10FFF0, 0x10FFFF)),
]
WORDS = ["<pad>", "</s>", "<unk>", "\n", "\r\n", "\t", "  "]
RANDOM = 10_000


def random_texts(count):
    """Of up to 40 characters of a few blocks, combining ones among them, and of special words."""
    draw = random.Random(0)
    for _ in range(count):
        blocks = draw.sample(BLOCKS, draw.randint(1, 4))
        pieces = [chr(draw.randint(*draw.choice(blocks))) for _ in range(draw.randint(0, 40))]
        for _ in range(len(pieces) // 5):
            pieces[draw.randrange(len(pieces))] = draw.choice([" ", " ", " ", *WORDS])
        yield "".join(pieces)


@pytest.mark.parametrize("count", [300, pytest.param(RANDOM, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("sentences", [True, False])
def test_subwords_give_back_any_text(tmp_path, count, sentences):
    """Composed (NFC); what the vocabulary has never seen is U+FFFD. Read from a file, too."""
    texts = list(random_texts(count))
    learned = SubwordVocabulary.learn(texts[: count // 2], 2 * count, sentences)
    vocabulary = SubwordVocabulary.load(write(tmp_path / "tokenizer.json", learned.to_json()))
    lost = 0
    for text in texts:
        text = text.replace("▁", "").lstrip(" " if sentences else "")
        unknown = set(vocabulary.unknown_characters(text))
        composed = unicodedata.normalize("NFC", text)
        expected = "".join("\ufffd" if one in unknown else one for one in composed)
        assert vocabulary.decode(vocabulary.encode(text)) == expected
        lost += bool(unknown)
    assert 0 < lost < count / 2


@pytest.mark.parametrize("count", [300, pytest.param(RANDOM, marks=pytest.mark.campaign)])
def test_characters_give_back_any_text(tmp_path, count):
    texts = list(random_texts(count))
    learned = CharacterVocabulary.learn("".join(texts))
    vocabulary = CharacterVocabulary.load(write(tmp_path / "vocabulary.json", learned.to_json()))
    assert all(vocabulary.decode(vocabulary.encode(text)) == text for text in texts)


def test_an_unknown_character_is_named_as_it_is_read():
    """Composed: not only its first half."""
    vocabulary = SubwordVocabulary.learn(["a b"], 20)
    assert vocabulary.unknown_characters("ab\u0307") == ["\u1e03"]
