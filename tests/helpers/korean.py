"""English that is left in a Korean text, and what was asked in another language before."""

import re

from minitransformer_course.diagnosis.rules import rules
from minitransformer_course.doctor.changed_backwards import changed
from minitransformer_course.doctor.mistakes import of_exercises

WORD = r"(?:[A-Za-z][A-Za-z'-]+|a)"
SENTENCE = re.compile(rf"(?<![\w/.\\{{^-]){WORD}(?: {WORD}){{3,}}")
NO_TEXT = re.compile(  # code, formulas, addresses, commands, quotations, and what is stressed
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|https?://\S+|\]\([^)]*\)|(?m:^(?:    |\|)[^\n]*$)"
    r"|minitransformer(?: [-\w./|\[\]]+)+|pip install \S+|\"[^\"\n]*\"|\*[^*\n]*\*",
    re.DOTALL,
)
NAMES = (  # and sentences of which a chapter speaks
    "Attention Is All You Need",
    "Recurrent Neural Network Grammar",
    "animal did not cross the",
    "street because it was too tired",
    "the cat is on the",
    "the dog chased the cat",
    "the dog bit the man",
    "the person in the striped shirt is mountain climbing",
    "three people sit at a picnic table outside of a building",
    "drei personen sitzen an einem tisch vor einem",
    "the the the the the the the",
    "and the seat was very",
    "die person in einem",
    "gestreiften hemd klettert auf dem berg",
    "drei personen sitzen drau",
    "drei personen sitzen an einem picknicktisch vor einem",
    "das wie ein union jack jack gemalten ist",
)


def english_in(text):
    found = SENTENCE.findall(NO_TEXT.sub(" @ ", text))
    return [one for one in found if not any(name in one for name in NAMES)]


def forget():
    """What the doctor knows, in the language in which it was first asked."""
    for known in (rules, of_exercises, changed):
        known.cache_clear()
