"""A text of the reader's choice: what cannot be learned from is said in one line, before training."""

import numpy as np
import pytest

from minitransformer import InputError
from minitransformer_course import lab
from minitransformer_course.judge import own_text

PLAIN = "To be, or not to be, that is the question.\n" * 300
KOREAN = "".join(map(chr, 0xAC00 + 7 * np.random.default_rng(0).integers(1500, size=12_000)))


def written(tmp_path, text):
    path = tmp_path / "my_text.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "is empty"),
        (" \n\n\t", "is empty"),
        ("aaaa" * 5000, "consists of 'a' alone"),
        ("a\n" * 5000, "consists of 'a' alone"),
        ("To be, or not to be", "has 19 characters: .* 10,000"),
        (b"\xff\xfe" * 10_000, "is not UTF-8"),
        ("Wort für Wort".encode("latin-1") * 1000, "is not UTF-8"),
    ],
)
def test_a_text_from_which_nothing_can_be_learned_is_one_line(text, said, tmp_path):
    with pytest.raises(InputError, match=f"^my_text.txt {said}") as caught:
        own_text.own_text(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_folder_is_one_line_too(tmp_path):
    with pytest.raises(InputError, match="^my_text.txt: "):
        own_text.own_text(tmp_path / "my_text.txt")
    (tmp_path / "my_text.txt").mkdir()
    with pytest.raises(InputError, match="^my_text.txt: "):
        own_text.own_text(tmp_path / "my_text.txt")


def test_a_plain_text_stays_as_it_is_and_its_last_tenth_is_held_out(tmp_path):
    found = own_text.own_text(written(tmp_path, "\ufeff" + PLAIN.replace("\n", "\r\n")))
    assert found.remarks == [] and len(found.held_out) == len(PLAIN) - int(0.9 * len(PLAIN))
    assert found.vocabulary.decode(np.r_[found.train, found.held_out]) == PLAIN


def test_of_a_long_text_the_first_part_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(own_text, "MOST", 11_000)
    found = own_text.own_text(written(tmp_path, "é" + PLAIN * 5))
    assert found.remarks == ["my_text.txt is long: its first 11,000 characters are used"]
    assert len(found.train) + len(found.held_out) == 11_000
    assert own_text.own_text(written(tmp_path, PLAIN[:11_000])).remarks == []


def test_hangul_is_taken_apart_and_written_as_syllables(tmp_path):
    found = own_text.own_text(written(tmp_path, KOREAN))
    assert len(found.remarks) == 1 and "syllables" in found.remarks[0]
    assert found.vocabulary.size < 80
    both = np.r_[found.train, found.held_out]
    assert found.vocabulary.decode(both) == KOREAN
    assert (
        found.vocabulary.encode(KOREAN[:50])
        == both[: len(found.vocabulary.encode(KOREAN[:50]))].tolist()
    )


def test_of_too_many_characters_the_most_frequent_are_kept(tmp_path):
    text = "".join(map(chr, 0x4E00 + np.random.default_rng(0).integers(700, size=12_000)))
    found = own_text.own_text(written(tmp_path, text))
    assert found.vocabulary.size == own_text.KINDS + 3 and "left out" in found.remarks[1]


def test_the_page_says_what_is_missing_or_wrong_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert lab.text.mine() is None
    written(tmp_path, "short")
    assert lab.text.mine() is None
    written(tmp_path, KOREAN)
    assert lab.text.mine().vocabulary.size < 80
    said = capsys.readouterr().out.splitlines()
    assert ["put a text" in said[0], "has 5" in said[1], "syllables" in said[2]] == [True] * 3


def test_windows_of_a_short_text_are_fewer():
    assert lab.text.windows(np.arange(200)).shape == (3, 64)
