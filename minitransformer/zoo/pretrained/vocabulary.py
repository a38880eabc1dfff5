"""The vocabulary of a pretrained model: its own tokenizer, and the template of its chats."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minitransformer.data.special import BOS, EOS, PAD
from minitransformer.data.vocabularies.listed import check_tokens
from minitransformer.data.vocabularies.subwords import check_utf8
from minitransformer.errors import InputError
from minitransformer.extras import require
from minitransformer.zoo.pretrained.chat import one_question
from minitransformer.zoo.pretrained.ids import check_tokens_fit, moved_ids, unknown_token


class PretrainedVocabulary:
    """A tokenizer of the `tokenizers` library, whose ids are moved so that padding, BOS and EOS
    come first, as everywhere here.
    """

    file_name = "vocabulary.json"
    ends = True  # the model has learned to end its texts with EOS

    def __init__(
        self,
        tokenizer: dict[str, Any],
        size: int,
        moved: Sequence[tuple[int, int]] = (),
        begins: bool = False,
        chat_template: str | None = None,
        bos: str = "",
        eos: str = "",
        stops: Sequence[str] = (),
        chat_begins: bool = False,
        special: Mapping[str, Any] | None = None,
    ):
        """tokenizer: the contents of a tokenizer.json; size: the rows of the model's table; moved:
        [[id here, id there]] where they differ; begins: whether a text begins with BOS, which may
        be the same token as EOS; chat_begins: whether a chat does so, too, if its template does
        not; bos, eos: the names of these tokens, for the template; stops: the names of other tokens
        with which the model ends its texts; special: {what a template calls other tokens: their
        names}.
        """
        self._tokenizer = _load(tokenizer)
        self._stored: dict[str, Any] = dict(
            tokenizer=tokenizer,
            size=size,
            moved=[list(pair) for pair in moved],
            begins=begins,
            chat_template=chat_template,
            bos=bos,
            eos=eos,
            stops=list(stops),
            chat_begins=chat_begins,
            special=dict(special or {}),
        )
        self.size, self._template = size, chat_template
        self._begin = [EOS if bos == eos else BOS] * begins
        self._there = dict(moved)
        self._here = {there: here for here, there in moved}
        self.control = [
            token.content
            for token in self._tokenizer.get_added_tokens_decoder().values()
            if token.special
        ]
        self.unknown_id, self._letters = self._id(unknown_token(tokenizer)), set()
        self.stops = {self._id(name) for name in stops} - {None}

    @classmethod
    def arrange(
        cls,
        tokenizer: dict[str, Any],
        size: int,
        bos: str | None,
        eos: str,
        begins: bool | None = None,
        stops: Sequence[str] = (),
        **stored: Any,
    ) -> "PretrainedVocabulary":
        """With moved ids. bos, eos: tokens; bos may be None; begins: None if the tokenizer itself
        says whether a text begins with BOS. Raises InputError if they do not fit a model of `size`
        rows.
        """
        loaded = _load(tokenizer)
        ids = loaded.get_vocab()
        check_tokens_fit(tokenizer, ids, size, bos, eos)
        if begins is None:
            begins = _begins(loaded, ids, bos)
        if begins and bos is None:
            raise InputError("a text begins with BOS, but no token is named as BOS")
        return cls(
            tokenizer,
            size,
            moved_ids(tokenizer, loaded, size, bos, eos),
            begins=begins,
            bos=bos or "",
            eos=eos,
            stops=[name for name in stops if name in ids and name != eos],
            **stored,
        )

    @property
    def chats(self) -> bool:
        """Whether the model has been trained to chat."""
        return self._template is not None

    @property
    def rows(self) -> list[int]:
        """The row of each token in the pretrained model's tables."""
        return [self._there.get(i, i) for i in range(self.size)]

    def encode(self, text: str) -> list[int]:
        """The ids of a text, in which "</s>" is text, too.

        Raises InputError if it contains bytes that are not UTF-8, or letters for which there is no
        token, not even an unknown one.
        """
        check_utf8(text)
        self._check_letters(text)
        return self._begin + self._encode(text, names_are_text=True)

    def unknown_characters(self, text: str) -> list[str]:
        """The characters of `text` that have no token of their own."""
        return [
            letter
            for letter in text
            if self.unknown_id in self._encode(letter, names_are_text=True)
        ]

    def normalised(self, text: str) -> str:
        """What the tokenizer makes of a text before it cuts it into tokens."""
        return (
            self._tokenizer.normalizer.normalize_str(text) if self._tokenizer.normalizer else text
        )

    def encode_chat(self, prompt: str) -> list[int]:
        """The ids of a chat in which the user has said `prompt`, and the model answers next.

        Raises InputError if the model has no template of a chat, or if the prompt contains the name
        of a control token.
        """
        if self._template is None:
            raise InputError(
                "this model has no chat template: it was not trained to chat; leave --chat out"
            )
        for name in self.control:
            if name in prompt:
                raise InputError(
                    f"the prompt contains {name}, a control token of the model; write it differently"
                )
        check_utf8(prompt)
        self._check_letters(prompt)
        names = {
            "bos_token": self._stored["bos"],
            "eos_token": self._stored["eos"],
            **self._stored["special"],
        }
        text = one_question(self._template, prompt, names)
        ids = self._encode(text, names_are_text=False)
        begin = self._begin if self._stored["chat_begins"] else []
        return ids if ids[:1] == begin else begin + ids

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The text of each id, or the name of a control token."""
        return [
            self.decode([i]) or str(self._tokenizer.id_to_token(self._there.get(i, i))) for i in ids
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, without control tokens; a part of a character appears as U+FFFD."""
        return self._tokenizer.decode([self._there.get(i, i) for i in check_tokens(ids, self.size)])

    def to_json(self) -> str:
        return json.dumps(self._stored, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> "PretrainedVocabulary":
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def _id(self, name: str | None) -> int | None:
        there: Any = None if name is None else self._tokenizer.token_to_id(name)
        return self._here.get(there, there)

    def _check_letters(self, text: str) -> None:
        """Raise InputError for letters that the tokenizer would leave out."""
        for letter in sorted(set(text) - self._letters):
            ids = self._encode(letter, names_are_text=True)
            found = self.decode(ids)
            # a byte of it may have no token
            whole = found and ("\ufffd" not in found or letter == "\ufffd")
            if PAD in ids or not (whole or letter.isspace() or self.unknown_id in ids):
                # padding may be the unknown token
                raise InputError(f"the character {letter!r} has no token in the model's vocabulary")
            self._letters.add(letter)

    def _encode(self, text: str, names_are_text: bool) -> list[int]:
        self._tokenizer.encode_special_tokens = names_are_text
        return [
            self._here.get(i, i) for i in self._tokenizer.encode(text, add_special_tokens=False).ids
        ]


def _load(tokenizer: dict[str, Any]) -> Any:
    """The tokenizer without what is for training: texts cut or padded to a length, pairs left out
    by chance.
    """
    tokenizers = require("tokenizers")
    used = {**tokenizer, "truncation": None, "padding": None}
    if "dropout" in tokenizer.get("model", ()):
        used["model"] = {**tokenizer["model"], "dropout": None}
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(used))
    except Exception as error:  # the library raises a bare Exception
        raise InputError(f"the tokenizer cannot be used: {error}") from None


def _begins(loaded: Any, ids: Mapping[Any, int], bos: str | None) -> bool:
    """Whether the tokenizer puts BOS before a text. Raises InputError if it adds anything else."""
    text = next(filter(None, (loaded.decode([i]) for i in ids.values())), "")
    inside, whole = (loaded.encode(text, add_special_tokens=add).ids for add in (False, True))
    if whole not in (inside, [ids.get(bos), *inside]):
        raise InputError(
            f"the tokenizer makes {loaded.encode(text).tokens} of the text {text!r}, which does not only begin with "
            f"{bos}: that is not supported, and would change the results"
        )
    return whole != inside
