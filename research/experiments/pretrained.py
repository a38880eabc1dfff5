"""Imported models beside transformers: random tiny ones in float64, and SmolLM2 in float32 with the
same dequantised weights.

    python research/experiments/pretrained.py random 60
    python research/experiments/pretrained.py smollm2 runs/smollm2 data/tinyshakespeare/input.txt

Needs torch and transformers 5.24.0. Each writes its part of research/experiments/pretrained.json:
the largest error of any logit, loss or gradient over all models; and for SmolLM2 the largest
difference of a logit over 512 tokens, and the losses of ten steps of Adam.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # the tiny models are the tests'

from minitransformer import Adam, Run, training_step
from minitransformer.data.text_files import read_text
from minitransformer.data.windows import consecutive_windows
from minitransformer.zoo.pretrained import llama
from tests.fixtures.pretrained_cases import GPT2, LLAMA, compare, write_folder

RESULT = Path(__file__).with_suffix(".json")
LENGTH, STEPS, RATE, WINDOW = 512, 10, 1e-5, 64


def record(name, found) -> None:
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    RESULT.write_text(json.dumps({**known, name: found}, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def random_case(rng) -> dict:
    """The options of a random model: every one that import understands."""
    layers, positions = int(rng.integers(1, 4)), int(rng.integers(9, 40))
    if rng.random() < 0.4:
        heads = int(rng.choice([1, 2, 3, 4]))
        width = heads * int(rng.integers(1, 6))
        return dict(
            GPT2,
            n_embd=width,
            n_head=heads,
            n_layer=layers,
            n_positions=positions,
            n_inner=int(rng.integers(1, 30)),
            layer_norm_epsilon=float(rng.choice([1e-5, 1e-6, 1e-2])),
            tie_word_embeddings=bool(rng.random() < 0.7),
        )
    groups, shared, head = (
        int(rng.choice([1, 2, 3])),
        int(rng.choice([1, 2, 3])),
        2 * int(rng.integers(1, 5)),
    )
    return dict(
        LLAMA,
        hidden_size=groups * shared * head,
        head_dim=2 * int(rng.integers(1, 5)) if rng.random() < 0.4 else head,
        num_attention_heads=groups * shared,
        num_key_value_heads=groups,
        num_hidden_layers=layers,
        intermediate_size=int(rng.integers(1, 40)),
        max_position_embeddings=positions,
        rms_norm_eps=float(rng.choice([1e-5, 1e-6, 1e-2])),
        rope_theta=float(rng.choice([10.0, 10_000.0, 500_000.0])),
        tie_word_embeddings=bool(rng.random() < 0.5),
        model_type=str(rng.choice(["llama", "qwen2"])),
        rope_scaling=random_stretch(rng) if rng.random() < 0.5 else None,
    )


def random_stretch(rng) -> dict:
    """Llama 3.1's: of few pairs, some keep their frequency, some turn slower, some are between."""
    low = float(rng.choice([0.5, 1.0]))
    return dict(
        rope_type="llama3",
        factor=float(rng.choice([2.0, 8.0, 32.0])),
        low_freq_factor=low,
        high_freq_factor=low * float(rng.choice([1.5, 4.0])),
        original_max_position_embeddings=int(rng.choice([4, 16, 256])),
    )


def random_models(count) -> None:
    from tests.fixtures.pretrained_reference import reference, without_casts

    without_casts()
    rng, worst = np.random.default_rng(41), {}
    for seed in range(count):
        case = random_case(rng)
        config, weights, gradients, rest = reference(case, seed)
        with tempfile.TemporaryDirectory() as folder:
            there = write_folder(Path(folder, "there"), config, weights)
            found = compare(there, Path(folder, "run"), gradients, rest)
        kind = worst.setdefault(
            case["model_type"], {"models": 0, "logits": 0.0, "loss": 0.0, "gradients": 0.0}
        )
        kind["models"] += 1
        for name, error in found.items():
            name = name if name in kind else "gradients"
            kind[name] = max(kind[name], error)
    record("random", worst)


def as_transformers(run) -> Any:
    """The same model in transformers, with the same weights: the pairs of its heads are half-split."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = run.model.config
    known = config.attention_settings
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.d_model,
            intermediate_size=config.d_ff,
            num_hidden_layers=config.num_layers,
            num_attention_heads=config.num_heads,
            num_key_value_heads=known["kv_heads"],
            head_dim=config.d_k,
            max_position_embeddings=config.max_length,
            rms_norm_eps=config.norm_epsilon,
            tie_word_embeddings=config.share_output,
            rope_parameters={"rope_type": "default", "rope_theta": known["rotary_base"]},
        )
    )
    parameters, state = run.model.parameters(), {}
    for tensor in llama.tensors(config):
        array = parameters[tensor.ours].data
        array = array.T if tensor.transposed else array
        if (
            tensor.theirs.endswith(("q_proj.weight", "k_proj.weight"))
            and known["rotary_layout"] == "interleaved"
        ):
            array = (
                array.reshape(-1, config.d_k // 2, 2, array.shape[1])
                .swapaxes(1, 2)
                .reshape(array.shape)
            )
        prefix = "" if tensor.theirs.startswith("lm_head") else llama.PREFIX
        state[prefix + tensor.theirs] = torch.tensor(np.ascontiguousarray(array))
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and missing in ([], ["lm_head.weight"])
    return model.eval()


def smollm2(folder, text) -> None:
    import torch

    run = Run.load(folder)
    ids = run.vocabulary.encode(read_text(text)[:20_000])
    theirs = as_transformers(run)
    window = np.array([ids[:LENGTH]])
    with torch.no_grad():
        expected = theirs(torch.tensor(window)).logits.numpy()
    logits, _ = run.model.forward(window)
    difference = float(np.abs(logits - expected).max())
    del logits, expected
    batches = consecutive_windows(ids[LENGTH : LENGTH + 2 * STEPS * WINDOW + 1], WINDOW, 2)
    assert len(batches) == STEPS
    torch_adam = torch.optim.Adam(theirs.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9)
    adam, losses = Adam(run.model), {"minitransformer": [], "PyTorch": []}
    for batch in batches:
        losses["minitransformer"].append(
            float(training_step(run.model, adam, batch, RATE, clip=None).loss) / batch.terms
        )
        torch_adam.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            theirs(torch.tensor(batch.ids)).logits.flatten(0, 1),
            torch.tensor(batch.next_target).flatten(),
        )
        loss.backward()
        torch_adam.step()
        losses["PyTorch"].append(loss.item())
    worst = max(abs(a - b) for a, b in zip(*losses.values()))
    record(
        "smollm2",
        {
            "largest difference of a logit": difference,
            "tokens": LENGTH,
            "losses of fine-tuning": losses,
            "largest difference of a loss": worst,
        },
    )


if __name__ == "__main__":
    random_models(int(sys.argv[2])) if sys.argv[1] == "random" else smollm2(*sys.argv[2:])
