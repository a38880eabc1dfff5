"""Number words, in three languages."""

import pytest

from minitransformer.tasks import numbers as number_words


@pytest.mark.parametrize("n, english, german, korean", [
    (0, "zero", "null", "영"),
    (1, "one", "eins", "일"),
    (10, "ten", "zehn", "십"),
    (17, "seventeen", "siebzehn", "십칠"),
    (21, "twenty one", "einundzwanzig", "이십일"),
    (30, "thirty", "dreißig", "삼십"),
    (101, "one hundred one", "einhunderteins", "백일"),
    (1000, "one thousand", "eintausend", "천"),
    (10_000, "ten thousand", "zehntausend", "만"),
    (11_111, "eleven thousand one hundred eleven", "elftausendeinhundertelf", "만 천백십일"),
    (20_006, "twenty thousand six", "zwanzigtausendsechs", "이만 육"),
    (101_000, "one hundred one thousand", "einhunderteintausend", "십만 천"),
    (123_000, "one hundred twenty three thousand", "einhundertdreiundzwanzigtausend", "십이만 삼천"),
    (999_999, "nine hundred ninety nine thousand nine hundred ninety nine",
     "neunhundertneunundneunzigtausendneunhundertneunundneunzig", "구십구만 구천구백구십구"),
])
def test_number_words(n, english, german, korean):
    assert " ".join(number_words.english(n)) == english
    assert "".join(number_words.german(n)) == german
    assert "".join(number_words.korean(n)) == korean


@pytest.mark.parametrize("language", number_words.LANGUAGES)
def test_number_words_differ(language):
    words = {"".join(number_words.LANGUAGES[language](n)) for n in range(20_000)}
    assert len(words) == 20_000
