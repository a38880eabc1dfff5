"""Make a run of a pretrained model: a Hugging Face folder (config.json, tokenizer.json,
safetensors) or a GGUF file.

The architectures are GPT-2, Llama and Qwen2. Whatever changes the results and is not understood is
refused, and named. Needs the extra `gguf`.
"""

from argparse import ArgumentParser, Namespace

from minitransformer.errors import counted
from minitransformer.runs.folder import LICENCE
from minitransformer.shell import quote_path
from minitransformer.zoo.pretrained.importing import import_model


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="Hugging Face folder, or GGUF file")
    parser.add_argument(
        "--run", required=True, metavar="DIR", help="folder to write; it must not exist yet"
    )


def execute(args: Namespace) -> None:
    notes: list[str] = []
    run = import_model(args.path, args.run, notes.append)
    config, folder = run.settings.config, quote_path(run.path)
    print(
        f"saved in {run.path}: {counted(config.num_layers, 'layer')} of width {config.d_model} with "
        f"{counted(config.num_heads, 'head')}, {counted(config.vocab_size, 'token')}, {counted(config.max_length, 'position')}"
    )
    _, provenance = run.folder.trained_weights()
    for note in notes:
        print(f"note: {note}")
    print(
        f"licence: {(provenance or {}).get('licence') or 'its files name none; ask its publisher'} ({run.path / LICENCE})"
    )
    print(
        f'next: minitransformer generate {folder} "..."'
        + (" --chat" if run.vocabulary.chats else "")
    )
    print(f'      minitransformer attention {folder} "..."   (explore shows no imported model)')
