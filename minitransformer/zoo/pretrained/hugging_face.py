"""A Hugging Face folder: config.json, tokenizer.json, and the arrays in safetensors files. Pickled
weights are never read.
"""

import json
import re
from pathlib import Path
from typing import Any

from minitransformer.checks import is_integer
from minitransformer.data.text_files import read_bytes
from minitransformer.errors import InputError
from minitransformer.interchange.weights import WeightsFile
from minitransformer.zoo.pretrained.architectures import ARCHITECTURES
from minitransformer.zoo.pretrained.checkpoint import Checkpoint, Options, PretrainedArrays

# Options of config.json that change what a model computes, in some model or other, and are not
# known here. All others, unknown names included, say what the model is called, how it was trained
# or how it writes.
CHANGING = (
    r"^(?!_|output_|.*(dropout|_prob|_id|_implementation)$).*(activation|adapter|alibi|attention|attn|audio|auto_map|bias|"
    "cross|embed|encoder|expert|gate|head|hidden|layer|logit|lora|mask|mlp|moe|multiplier|mup|norm|position|prun|quant|"
    "residual|rope|rotary|scal|softcap|sparse|vision|window|clip_qkv|multi_query)"
)
# Tokens that a chat template may name, beside BOS and EOS; the last are a list.
NAMED = (
    "unk_token",
    "pad_token",
    "sep_token",
    "cls_token",
    "mask_token",
    "additional_special_tokens",
)


def read(folder: Path) -> Checkpoint:
    config, tokenizer = _json(folder / "config.json"), _json(folder / "tokenizer.json")
    options = Options(config, folder / "config.json", CHANGING)
    name = options.one_of("model_type", ARCHITECTURES)
    model = ARCHITECTURES[name]
    # such as GPT2LMHeadModel and LlamaForCausalLM
    for other in _listed(config.get("architectures")):
        if not str(other).lower().startswith(name):
            raise InputError(
                f"{folder / 'config.json'}: architectures names {other!r}, but model_type is {name!r}"
            )
    about, writing, older = (
        _json(folder / file) if (folder / file).exists() else {}
        for file in ("tokenizer_config.json", "generation_config.json", "special_tokens_map.json")
    )
    size = config.get("vocab_size")
    _check_ids(config, size, folder / "config.json")
    _check_ids(writing, size, folder / "generation_config.json")
    names = _names(tokenizer)
    ends = {
        end: _name(about.get(f"{end}_token"), config.get(f"{end}_token_id"), names)
        for end in ("bos", "eos")
    }
    special = {
        name: _content(token) for name in NAMED if (token := about.get(name) or older.get(name))
    }
    stops = [
        names.get(i) for source in (config, writing) for i in _listed(source.get("eos_token_id"))
    ]
    dropout = tokenizer["model"].get("dropout")
    notes = (
        [f"its tokenizer's dropout of {dropout} is off, which transformers leaves on"]
        if dropout
        else []
    )
    if about.get("add_prefix_space") and '"add_prefix_space": true' not in json.dumps(tokenizer):
        notes.append(
            "tokenizer_config.json asks for a space before each text; tokenizer.json does not, and is followed"
        )
    for name in ("bos", "eos"):
        asked = about.get(f"add_{name}_token")
        does = f'"{ends[name]}"' in json.dumps(tokenizer.get("post_processor"), ensure_ascii=False)
        if asked not in (None, does):
            notes.append(
                f"add_{name}_token is {asked} in tokenizer_config.json; tokenizer.json does otherwise, and is followed"
            )
    return Checkpoint(
        model,
        options,
        SafetensorsFiles(folder, model.PREFIX),
        dict(
            tokenizer=tokenizer,
            chat_template=_template(folder, about),
            special=special,
            stops=stops,
            **ends,
        ),
        *_licence(folder),
        notes,
    )


class SafetensorsFiles(PretrainedArrays):
    """The arrays of the safetensors files in a folder: those that its index lists, or the only one."""

    def __init__(self, folder: Path, prefix: str):
        index = folder / "model.safetensors.index.json"
        listed = (
            sorted(set(_json(index)["weight_map"].values()))
            if index.exists()
            else ["model.safetensors"]
        )
        self.places, self._prefix = {}, prefix
        for name in listed:
            if re.search(r"[/\\:]", name):
                raise InputError(
                    f"{index}: it lists the file {name!r}, expected the name of a file in the same folder"
                )
            if not (folder / name).is_file():
                pickled = any(folder.glob("*.bin"))
                raise InputError(
                    f"{folder / name}: no such file"
                    + (
                        "; weights in .bin files are pickled, and never read: a pickle can run any code"
                        if pickled
                        else ""
                    )
                )
            file = WeightsFile(folder / name)
            if twice := next((array for array in file if array in self.places), None):
                raise InputError(f"{folder / name}: the array {twice} is in another file, too")
            self.places.update(dict.fromkeys(file, file))

    def __getitem__(self, name: str) -> Any:
        return self.places[name][name]

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.places[name].shape_of(name)

    def find(self, theirs: str) -> str | None:
        return next((name for name in (theirs, self._prefix + theirs) if name in self), None)


def _text(path: Path) -> str:
    """What people read."""
    return read_bytes(path).decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _json(path: Path) -> dict:
    data = read_bytes(path)
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated") or error.pos >= len(error.doc.rstrip())
        raise InputError(f"{path}: {'cut off' if cut else 'not JSON'} ({error})") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: a JSON {type(value).__name__}, expected an object")
    return value


def _check_ids(settings: dict[str, Any], size: Any, path: Path) -> None:
    """Raise InputError unless the ids of BOS and EOS, of which there may be several, are tokens'."""
    for name in ("bos_token_id", "eos_token_id"):
        for i in _listed(settings.get(name)):
            if not is_integer(i, 0) or (is_integer(size, 0) and i >= size):
                raise InputError(
                    f"{path}: {name} is {i!r}, expected the id of one of the model's {size} tokens"
                )


def _listed(value: Any) -> list:
    return value if isinstance(value, list) else [] if value is None else [value]


def _names(tokenizer: dict[str, Any]) -> dict[int, str]:
    """{id: token}, as far as the file lists ids."""
    vocabulary = tokenizer.get("model", {}).get("vocab")
    names = {i: token for token, i in vocabulary.items()} if isinstance(vocabulary, dict) else {}
    return {
        **names,
        **{token["id"]: token["content"] for token in tokenizer.get("added_tokens", [])},
    }


def _name(token: Any, ids: Any, names: dict[Any, str]) -> str | None:
    """The name of a special token, which may be given by its name, by the description of an added
    token, or by its ids.
    """
    if token:
        return _content(token)
    return names.get(next(iter(_listed(ids)), None))


def _content(token: Any) -> Any:
    """The name of a token that may be described; of each, in a list."""
    if isinstance(token, list):
        return [_content(one) for one in token]
    return token["content"] if isinstance(token, dict) else token


def _template(folder: Path, about: dict[str, Any]) -> str | None:
    """The chat template: in a file of its own, or in tokenizer_config.json, which may have several
    by name.
    """
    if (folder / "chat_template.jinja").exists():
        return _text(folder / "chat_template.jinja")
    template = about.get("chat_template")
    if isinstance(template, list):
        return next((one["template"] for one in template if one["name"] == "default"), None)
    return template


def _licence(folder: Path) -> tuple[str | None, str]:
    """The licence's name, from the head of README.md, and its text, from the file LICENSE."""
    readme = folder / "README.md"
    found = readme.is_file() and re.search(
        r"\A---\n(?:(?!---).*\n)*?license:(?:\s*- *| *)(\S+)", _text(readme)
    )
    return found[1] if found else None, licence_text(folder)


def licence_text(folder: Path) -> str:
    """The contents of the file LICENSE in a folder, or ""."""
    return next((_text(path) for path in sorted(folder.glob("LICENSE*")) if path.is_file()), "")
