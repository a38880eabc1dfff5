"""Write the weights of a RUN as a state dict for nn.TransformerEncoder and nn.TransformerDecoder,
and print the Python code that loads it.
"""

from argparse import ArgumentParser, Namespace

from minitransformer.cli.output import check_new, write_new
from minitransformer.interchange.pytorch import to_pytorch
from minitransformer.interchange.weights import to_bytes
from minitransformer.layers.config import StackConfig
from minitransformer.runs.run import Run

LOADING = """\
from safetensors.torch import load_file
from torch import nn

layer = dict(d_model={c.d_model}, nhead={c.num_heads}, dim_feedforward={c.d_ff}, batch_first=True, norm_first={c.pre_norm},
             activation={activation})
model = nn.ModuleDict({{
    "source_embedding": nn.Embedding({c.source_vocab}, {c.d_model}),
    "target_embedding": nn.Embedding({c.target_vocab}, {c.d_model}),
{positions}\
    "encoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), {c.num_layers}, norm={norm},
                                     enable_nested_tensor=False),
    "decoder": nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), {c.num_layers}, norm={norm}),
    "output": nn.Linear({c.d_model}, {c.target_vocab}, bias=False)}})
model.load_state_dict(load_file({file!r}))
model.eval()
"""
POSITIONS = """\
    "source_positions": nn.Embedding({c.max_length}, {c.d_model}),
    "target_positions": nn.Embedding({c.max_length}, {c.d_model}),
"""
ACTIVATIONS = {
    "relu": "nn.functional.relu",
    "gelu": 'lambda x: nn.functional.gelu(x, approximate="tanh")',
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder that minitransformer train wrote")
    parser.add_argument(
        "--output",
        required=True,
        metavar="FILE.safetensors",
        help="file to write; it must not exist yet",
    )


def execute(args: Namespace) -> None:
    check_new(args.output)
    run = Run.load(args.run)
    arrays = to_pytorch(run.model)
    write_new(args.output, to_bytes(arrays))
    print(f"written: {args.output} ({len(arrays)} arrays); this code loads it:\n")
    print(loading_code(run.model.config, args.output))
    print("How to call it: docs/interchange.md")


def loading_code(config: StackConfig, file: str) -> str:
    """The Python code that makes PyTorch's modules for a TransformerConfig and loads `file` into
    them.
    """
    return LOADING.format(
        c=config,
        file=file,
        activation=ACTIVATIONS[config.activation],
        positions=POSITIONS.format(c=config) if config.positions == "learned" else "",
        norm=f"nn.LayerNorm({config.d_model})" if config.pre_norm else None,
    )
