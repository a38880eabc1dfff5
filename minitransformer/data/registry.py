"""The corpora that `minitransformer data` downloads: their addresses, the sha256 of each file, and
how some of them are split.
"""

from collections.abc import Callable
from typing import NamedTuple

TRAIN_SHARE = 0.9  # the share of a single text to train on


def split_characters(data: bytes) -> dict[str, bytes]:
    """train.txt, the first 90 % of the characters of a text, and valid.txt, the rest."""
    text = data.decode()
    end = int(TRAIN_SHARE * len(text))
    return {"train.txt": text[:end].encode(), "valid.txt": text[end:].encode()}


class Corpus(NamedTuple):
    base: str  # the address of a file is base + its name
    terms: str
    task: str  # the task it is for, a name in TASKS
    train: tuple  # the names of the files to train on, as --train of the task takes them
    valid: tuple
    sha256: dict  # {name: hexadecimal digits}; a name is also the file's path in the user's folder
    # of a corpus in one file: {name: contents} of what it becomes
    split: Callable[[bytes], dict[str, bytes]] | None = None


def _github(repository: str, commit: str, folder: str) -> str:
    """The address of a folder of a repository on GitHub."""
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{folder}/"


CORPORA = {
    "multi30k": Corpus(
        task="translate",
        base=_github("multi30k/dataset", "a3d2e0d26b56f3846f66a952536ffed4e401d05a", "data/task1"),
        terms='Terms of use: for non-commercial research and education only; see "Use of the data" at '
        "https://github.com/multi30k/dataset",
        train=("tok/train.lc.norm.tok.en", "tok/train.lc.norm.tok.de"),
        valid=("tok/val.lc.norm.tok.en", "tok/val.lc.norm.tok.de"),
        sha256={
            "raw/train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
            "raw/train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
            "raw/train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
            "raw/val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
            "raw/val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
            "raw/val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
            "raw/test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
            "raw/test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
            "raw/test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
            "tok/train.lc.norm.tok.en": "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119",
            "tok/train.lc.norm.tok.de": "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505",
            "tok/val.lc.norm.tok.en": "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec",
            "tok/val.lc.norm.tok.de": "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00",
            "tok/test_2016_flickr.lc.norm.tok.en": "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2",
            "tok/test_2016_flickr.lc.norm.tok.de": "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
        },
    ),
    "tinyshakespeare": Corpus(
        task="language",
        base=_github(
            "karpathy/char-rnn", "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e", "data/tinyshakespeare"
        ),
        terms="Terms of use: the works of Shakespeare are in the public domain; the repository it comes from, "
        "https://github.com/karpathy/char-rnn, has the MIT license",
        train=("train.txt",),
        valid=("valid.txt",),
        split=split_characters,
        sha256={"input.txt": "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"},
    ),
    "sst2": Corpus(
        task="classify",
        base=_github("forest-snow/alps", "43232f234087cdbb4b06cd0e3997460610a0dbfd", "data/SST-2"),
        terms="Terms of use: its authors state no license; it is commonly used in research and teaching. It is the "
        "Stanford Sentiment Treebank (https://aclanthology.org/D13-1170) in GLUE's version with two classes",
        train=("train.tsv",),
        valid=("dev.tsv",),
        sha256={
            "train.tsv": "920e317b2c52e12cd22db1da2c6708312bd7dc4f3712b9bbf1b50ee6c2c792ba",
            "dev.tsv": "92353770071a2a889f75d000a38a9e541ea8f0a5499e50f040b17917a5cbf66f",
            "test.tsv": "54a9c12c77e402fc14d6a66a506f24d999f596b0176eb777c972cccc2f9cc4b0",
        },
    ),
}
