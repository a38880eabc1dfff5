"""Windows of a text, and labelled sentences: what a language model and a classifier are trained on."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitransformer import InputError
from minitransformer.data.labelled import make_labelled_batch, read_labelled
from minitransformer.data.vocabularies.characters import CharacterVocabulary
from minitransformer.data.windows import WindowBatches, consecutive_windows
from minitransformer.data.special import BOS, EOS, PAD

IDS = list(range(3, 60))


@given(st.integers(2, 60), st.integers(1, 70), st.integers(1, 9), st.integers(1, 5))
def test_consecutive_windows_predict_each_token_once(length, window, size, parts):
    """In order, each token from the ones before it, and no batch is larger than requested."""
    ids = list(range(3, 3 + length))
    batches = consecutive_windows(ids, window, size)
    for found in (batches, [part for batch in batches for part in batch.split(parts)]):
        real = [batch.next_target != PAD for batch in found]
        targets = np.concatenate([batch.next_target[where] for batch, where in zip(found, real)])
        inputs = np.concatenate([batch.ids[where] for batch, where in zip(found, real)])
        assert targets.tolist() == ids[1:] and inputs.tolist() == ids[:-1]
        assert [batch.terms for batch in found] == [where.sum() for where in real]
        assert all(batch.ids.shape[0] <= size and batch.ids.shape[1] <= window for batch in found)
        assert not any(batch.ids[~where].any() for batch, where in zip(found, real))


def test_windows_begin_everywhere():
    """The last token of the text is a target, and the first one is an input."""
    batches = WindowBatches(IDS, 50, 100, seed=0)
    batch = next(batches)
    assert batch.ids.shape == (100, 50) and batch.terms == batch.num_tokens == 5000
    np.testing.assert_array_equal(batch.next_target, batch.ids + 1)
    assert batch.ids[:, 0].min() == 3 and batch.next_target.max() == IDS[-1]
    np.testing.assert_array_equal(next(WindowBatches(IDS, 56, 2, 0)).ids, [IDS[:-1]] * 2)
    with pytest.raises(
        InputError, match="the text has 57 tokens, expected at least 58: one window of 57"
    ):
        WindowBatches(IDS, 57, 2, 0)


def test_characters():
    vocabulary = CharacterVocabulary.learn("banana\n 한")
    assert vocabulary.size == 6 + 3 and vocabulary.characters == "\n abn한"
    ids = vocabulary.encode("한 ban\n")
    assert vocabulary.decode([BOS, *ids, EOS, PAD]) == "한 ban\n" and vocabulary.tokens(
        [PAD, ids[0]]
    ) == ["<pad>", "한"]
    assert vocabulary.encode("") == [] and vocabulary.decode([]) == ""
    with pytest.raises(
        InputError,
        match="line 2: the character 'x' is not in the vocabulary, which consists of the 6 characters",
    ):
        vocabulary.encode("ban\nax x")
    for wrong in ("aa", ["a", "b"], None):
        with pytest.raises(InputError, match="contains each character once"):
            CharacterVocabulary(wrong)


@given(st.text(min_size=1))
def test_characters_are_kept_and_restored(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("characters") / CharacterVocabulary.file_name
    vocabulary = CharacterVocabulary.learn(text)
    file.write_bytes(vocabulary.to_json().encode("utf-8", "surrogatepass"))
    assert CharacterVocabulary.load(file).decode(vocabulary.encode(text)) == text


@pytest.mark.parametrize("header", ["", "sentence\tlabel\n"])
def test_labelled_sentences(tmp_path, header):
    text = f"{header}a film \t good\r\n\nzwei u\u0308ber\t1\n"
    (tmp_path / "file.gz").write_bytes(gzip.compress(text.encode()))
    assert read_labelled(tmp_path / "file.gz", "--train") == [
        ("a film", "good"),
        ("zwei \u00fcber", "1"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        'id\tdocument\tlabel\n9976970\t아 더빙\t0\n3819312\t\t1\n10265843\t"교도소\tx\n',
        'label\tText\n0\t아 더빙\n1\t\nx\t"교도소\n',
        'Sentence\tCategory\tid\n아 더빙\t0\t1\n\t1\t\n"교도소\tx\t',
    ],
)
def test_a_header_says_which_columns_are_sentence_and_label(tmp_path, content, capsys):
    """The first is NSMC's, with a line without a text, as it is downloaded."""
    (tmp_path / "file").write_text(content, encoding="utf-8")
    assert read_labelled(tmp_path / "file", "--train") == [("아 더빙", "0"), ('"교도소', "x")]
    assert "1 line without a " in capsys.readouterr().err


@pytest.mark.parametrize(
    "content, words",
    [
        ("id\tdocument\tlabel\n1\ta\n", "line 2: 2 columns, expected 3, as in the first line"),
        (
            "id\tb\tc\n",
            "line 1: 3 columns, expected two: .* or a first line that names them, such as id, document, label",
        ),
        ("a\tb\nc\n", "line 2: expected a sentence, a tab and its label"),
        ("a\tb\na\tb\tc\n", "line 2: 3 columns, expected two: a sentence"),
        ("a\t\n", "line 1: expected"),
        ("\tb\n", "line 1: expected"),
        ("a\tb\nsentence\n", "line 2: expected"),
        ("sentence\tlabel\n\n", "--valid .*: no sentence"),
        ("\n", "empty, expected text"),
    ],
)
def test_labelled_files_that_cannot_be_used(tmp_path, content, words):
    (tmp_path / "file").write_text(content)
    with pytest.raises(InputError, match=words):
        read_labelled(tmp_path / "file", "--valid")


def test_a_labelled_batch_and_its_parts():
    batch = make_labelled_batch([([5, 6, 7], 2), ([8], 0), ([9, 3], 1)])
    np.testing.assert_array_equal(batch.ids, [[5, 6, 7], [8, PAD, PAD], [9, 3, PAD]])
    assert batch.labels.tolist() == [2, 0, 1] and batch.terms == 3 and batch.num_tokens == 6
    first, second = batch.split(2)
    assert (
        first.labels.tolist() == [2, 0]
        and second.ids.tolist() == [[9, 3]]
        and len(batch.split(9)) == 3
    )
