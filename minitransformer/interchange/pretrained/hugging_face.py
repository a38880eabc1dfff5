"""A Hugging Face folder: config.json, tokenizer.json, and the arrays in safetensors files. Pickled weights are never read."""

import json
import re
from typing import Any

from minitransformer.errors import InputError
from minitransformer.interchange.pretrained.architectures import architecture
from minitransformer.interchange.pretrained.checkpoint import Arrays, Checkpoint, Options
from minitransformer.interchange.weights import WeightsFile

NOTES = ("_name_or_path", "architectures", "bos_token_id", "dtype", "eos_token_id", "initializer_range", "is_llama_config",
         "model_type", "pad_token_id", "task_specific_params", "torch_dtype", "transformers.js_config", "transformers_version",
         "use_cache")


def read(folder) -> Checkpoint:
    config, tokenizer = _json(folder / "config.json"), _json(folder / "tokenizer.json")
    model = architecture(config.get("model_type"), folder / "config.json")
    about = _json(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").exists() else {}
    names = {token["id"]: token["content"] for token in tokenizer.get("added_tokens", [])}
    ends = {end: _name(about.get(f"{end}_token"), config.get(f"{end}_token_id"), names) for end in ("bos", "eos")}
    options = Options(config, folder / "config.json")
    options.leave_out(*NOTES)
    return Checkpoint(
        model, options, SafetensorsFiles(folder, model.PREFIX),
        dict(tokenizer=tokenizer, chat_template=_template(folder, about), begins=_begins(tokenizer), **ends), *_licence(folder))


class SafetensorsFiles(Arrays):
    """The arrays of all safetensors files in a folder."""

    def __init__(self, folder, prefix):
        files = {path.name: WeightsFile(path) for path in sorted(folder.glob("*.safetensors"))}
        index = folder / "model.safetensors.index.json"
        listed = sorted(set(_json(index)["weight_map"].values())) if index.exists() else ["model.safetensors"]
        for name in listed:
            if name not in files:
                pickled = any(folder.glob("*.bin"))
                raise InputError(f"{folder / name}: no such file" + (
                    "; weights in .bin files are pickled, and never read: a pickle can run any code" if pickled else ""))
        self._files, self._prefix = {name: files[file] for file in listed for name in files[file]}, prefix

    def __getitem__(self, name) -> Any:
        return self._files[name][name]

    def __iter__(self) -> Any:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def shape_of(self, name) -> tuple[int, ...]:
        return self._files[name].shape_of(name)

    def find(self, theirs) -> str | None:
        return next((name for name in (theirs, self._prefix + theirs) if name in self._files), None)


def _json(path) -> dict:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or f'not JSON ({error})'}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: a JSON {type(value).__name__}, expected an object")
    return value


def _name(token, i, names) -> str | None:
    """The name of a special token: as a name, as the description of an added token, or by the first of its ids."""
    if token:
        return token["content"] if isinstance(token, dict) else token
    return names.get(i[0] if isinstance(i, list) and i else i)


def _template(folder, about) -> str | None:
    """The chat template: in a file of its own, or in tokenizer_config.json, which may have several by name."""
    if (folder / "chat_template.jinja").exists():
        return (folder / "chat_template.jinja").read_text(encoding="utf-8")
    template = about.get("chat_template")
    if isinstance(template, list):
        return next((one["template"] for one in template if one["name"] == "default"), None)
    return template


def _begins(tokenizer) -> bool:
    """Whether the tokenizer puts a token before each text: its post-processor's template begins with a special one."""
    steps = tokenizer.get("post_processor") or {}
    steps = steps.get("processors", [steps])
    return any("SpecialToken" in step["single"][0] for step in steps if step.get("type") == "TemplateProcessing" and step["single"])


def _licence(folder) -> tuple[str | None, str]:
    """The name in the head of README.md, and the text of the file LICENSE."""
    readme = folder / "README.md"
    found = re.search(r"\A---\n(?:.*\n)*?license: *(\S+)", readme.read_text(encoding="utf-8")) if readme.exists() else None
    return found[1] if found else None, licence_text(folder)


def licence_text(folder) -> str:
    """The contents of the file LICENSE in a folder, or ""."""
    return next((path.read_text(encoding="utf-8") for path in sorted(folder.glob("LICENSE*"))), "")
