"""The tokenizer of a GGUF file, as the library `tokenizers` stores one."""

from typing import Any

from minitransformer.errors import InputError, counted
from minitransformer.zoo.pretrained.checkpoint import Options

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")  # each digit on its own


def _cut(regex: str) -> list[dict[str, Any]]:
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    return [split, {**BYTES, "use_regex": False}]


WORDS = {  # {tokenizer.ggml.pre: how a text is cut before pairs are merged}
    "gpt-2": [BYTES],
    "smollm": [{"type": "Digits", "individual_digits": True}, BYTES],
    "llama-bpe": _cut(LLAMA_3),
    "qwen2": _cut(QWEN_2),
}
# in tokenizer.ggml.token_type; bytes are 6
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = range(1, 6)
# whether a text begins with BOS if the file does not say
BEGINS = {"gpt-2": False, "smollm": False, "llama-bpe": True, "qwen2": False}
SPACE = "\u2581"  # SentencePiece's sign for a space


def gguf_vocabulary(options: Options) -> tuple[list[str], dict[str, Any]]:
    """(what differs from llama.cpp, the arguments of PretrainedVocabulary.arrange: a tokenizer as
    `tokenizers` stores it).
    """
    kind = options.one_of("ggml.model", ["gpt2", "llama"], "missing")
    tokens = [token or f"[EMPTY_{i}]" for i, token in enumerate(options.take("ggml.tokens"))]
    if len(set(tokens)) < len(tokens):
        raise InputError("the tokenizer has two tokens of the same name")
    kinds = _of_each(options, "ggml.token_type", tokens, [NORMAL] * len(tokens))
    added = [
        {
            "id": i,
            "content": tokens[i],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": one != USER_DEFINED,
        }
        for i, one in enumerate(kinds)
        if one in (UNKNOWN, CONTROL, USER_DEFINED)
    ]
    parts, begins, notes = (_bytes if kind == "gpt2" else _sentence_piece)(options, tokens, kinds)
    vocab = {token: i for i, token in enumerate(tokens)}
    tokenizer = {
        "added_tokens": added,
        **parts,
        "model": {"type": "BPE", "vocab": vocab, **parts["model"]},
    }
    options.one_of("ggml.add_eos_token", [False], False)
    defaults = {"bos": 1, "eos": 2} if kind == "llama" else {}
    ends = {
        end: options.take(f"ggml.{end}_token_id", defaults.get(end))
        for end in ("bos", "eos", "eot", "eom")
    }
    names = {end: tokens[i] for end, i in ends.items() if i is not None and 0 <= i < len(tokens)}
    begins = options.take("ggml.add_bos_token", begins)
    options.finish()
    return notes, dict(
        tokenizer=tokenizer,
        begins=begins,
        chat_begins=begins,
        chat_template=options.take("chat_template", None),
        bos=names.get("bos"),
        eos=names.get("eos"),
        stops=[names[end] for end in ("eot", "eom") if end in names],
    )


def _of_each(options: Options, name: str, tokens: list[str], *default: list) -> list:
    values = options.take(name, *default)
    if len(values) != len(tokens):
        raise InputError(
            f"{name} has {counted(len(values), 'value')} for {counted(len(tokens), 'token')}"
        )
    return values


def _bytes(
    options: Options, tokens: list[str], kinds: list[int]
) -> tuple[dict[str, Any], bool, list[str]]:
    """GPT-2's kind: pairs of bytes are merged in the order in which they are listed.

    Returns (parts of a tokenizer.json, whether a text begins with BOS if the file does not say,
    what differs from llama.cpp).
    """
    pre = options.one_of("ggml.pre", WORDS, "missing")
    options.one_of("ggml.add_space_prefix", [False], False)
    merges = [merge.split(" ") for merge in options.take("ggml.merges")]
    return (
        dict(
            normalizer=None,
            pre_tokenizer={"type": "Sequence", "pretokenizers": WORDS[pre]},
            decoder=BYTES,
            model=dict(merges=merges, ignore_merges=pre == "llama-bpe"),
        ),
        BEGINS[pre],
        [],
    )


def _sentence_piece(
    options: Options, tokens: list[str], kinds: list[int]
) -> tuple[dict[str, Any], bool, list[str]]:
    """SentencePiece's kind: of all neighbours that make a token, those of the highest score are
    merged first.

    Of equal scores, llama.cpp takes the leftmost pair. A list of pairs cannot say that; but for
    runs of one character, such as spaces, it is the pair with the longest left part.
    """
    scores = _of_each(options, "ggml.scores", tokens)
    ids = {token: i for i, token in enumerate(tokens) if kinds[i] in (NORMAL, UNUSED)}
    pairs = [
        (-scores[i], -cut, ids[token[:cut]], ids[token[cut:]])
        for token, i in ids.items()
        for cut in range(1, len(token))
        if token[:cut] in ids and token[cut:] in ids
    ]
    merged = {token for token in ids if len(set(token)) > 1}
    tied = len(merged) - len({scores[ids[token]] for token in merged})
    notes = (
        [f"{tied:,} tokens have the score of another one: llama.cpp may cut a few words otherwise"]
        if tied
        else []
    )
    prefix = options.take("ggml.add_space_prefix", True)
    steps = [{"type": "Prepend", "prepend": SPACE}] * prefix + [
        {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    ]
    back = [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ] + [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] * prefix
    unknown = next((token for token, kind in zip(tokens, kinds) if kind == UNKNOWN), None)
    return (
        dict(
            normalizer={"type": "Sequence", "normalizers": steps},
            pre_tokenizer=None,
            decoder={"type": "Sequence", "decoders": back},
            model=dict(
                merges=[[tokens[left], tokens[right]] for *_, left, right in sorted(pairs)],
                unk_token=unknown,
                fuse_unk=True,
                byte_fallback=True,
            ),
        ),
        True,
        notes,
    )
