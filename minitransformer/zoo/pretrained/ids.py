"""Which ids the tokens of a pretrained model get here, where padding, BOS and EOS come first."""

import json
from typing import Any

from minitransformer.data.special import BOS, EOS, PAD
from minitransformer.errors import InputError, counted

# bytes: a tokenizer of bytes has tokens for them, but no use
NEVER_IN_UTF8 = (0xFF, 0xFE, 0xC0, 0xC1, *range(0xF5, 0xFE))


def check_tokens_fit(
    tokenizer: dict[str, Any], ids: dict[str, int], size: int, bos: str | None, eos: str
) -> None:
    """Raise InputError unless the ids of a tokenizer's tokens are those of a model with `size`
    rows, BOS and EOS among them.
    """
    if any(i >= size for i in ids.values()):
        raise InputError(
            f"the tokenizer has the id {max(ids.values())}, but the model has {counted(size, 'token')}"
        )
    # the library numbers those anew that are not in the vocabulary, too
    for token in tokenizer.get("added_tokens", []):
        if ids[token["content"]] != token["id"]:
            raise InputError(
                f"the tokenizer says that {token['content']} has the id {token['id']}, but it has "
                f"{ids[token['content']]}"
            )
    if eos not in ids or bos not in (None, *ids):
        raise InputError(
            f"the tokenizer has no token {eos if eos not in ids else bos!r}, with which the model's texts "
            f"{'end' if eos not in ids else 'begin'}"
        )


def moved_ids(
    tokenizer: dict[str, Any], loaded: Any, size: int, bos: str | None, eos: str
) -> list[tuple[int, int]]:
    """[(id here, id there)] where they differ: three tokens change places with those that have the
    ids of padding, BOS and EOS. Padding is a token that no text contains, and so is BOS if the
    model has none.
    """
    ids, unused = loaded.get_vocab(), _without_text(tokenizer, loaded, size)
    taken = {EOS: ids[eos], **({BOS: ids[bos]} if bos not in (None, eos) else {})}
    for place in sorted({PAD, BOS} - set(taken)):
        free = [i for i in unused if i not in taken.values()]
        if not free:
            raise InputError(
                "the tokenizer has too few tokens that no text contains: padding, BOS and EOS need one each"
            )
        taken[place] = place if place in free else free[0]
    there = list(range(size))
    for place, i in taken.items():
        other = there.index(i)
        there[place], there[other] = there[other], there[place]
    return [(here, i) for here, i in enumerate(there) if here != i]


def _without_text(tokenizer: dict[str, Any], loaded: Any, size: int) -> list[int]:
    """The ids of what no text contains: special tokens, bytes that UTF-8 has not, rows without a
    token.
    """
    ids = loaded.get_vocab()
    by_bytes = "ByteLevel" in json.dumps(tokenizer.get("pre_tokenizer"))
    names = [chr(byte) if by_bytes else f"<0x{byte:02X}>" for byte in NEVER_IN_UTF8]
    special = [i for i, token in loaded.get_added_tokens_decoder().items() if token.special]
    unused = [
        *special,
        *(ids[name] for name in names if name in ids),
        *sorted(set(range(size)) - set(ids.values())),
    ]
    # a text may contain it, unless what has no token is written in bytes
    unknown = ids.get(unknown_token(tokenizer))
    last = [unknown] if unknown in unused and tokenizer["model"].get("byte_fallback") else []
    return [i for i in unused if i != unknown] + last


def unknown_token(tokenizer: dict[str, Any]) -> str | None:
    """The name of the token that stands for what has no other."""
    model = tokenizer["model"]
    return (
        model["vocab"][model["unk_id"]][0]
        if model.get("unk_id") is not None
        else model.get("unk_token")
    )
