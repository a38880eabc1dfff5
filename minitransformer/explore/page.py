"""x"""
from pathlib import Path

FOLDER = Path(__file__).parent
ENGINE = [f"engine/{name}" for name in (
    "tensor", "layer", "linear", "embedding", "positions", "input", "masks", "softmax", "attention", "layer_norm", "feed_forward",
    "residual", "encoder", "decoder", "output", "cross_entropy", "transformer")]


def script(name) -> str:
    return (FOLDER / f"{name}.js").read_text(encoding="utf-8")
