"""Adam and the paper's learning-rate schedule (section 5.3), and other schedules."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from minitransformer.backend import Array, module_of, to_device, to_host
from minitransformer.checks import check_kind, is_number
from minitransformer.errors import InputError, NonFiniteError
from minitransformer.functional import adam_update, gather_gradients
from minitransformer.layers.layer import Layer
from minitransformer.training.step import EachPiece, check_flat


class Adam:
    """Adam (functional/adam.py) with the paper's settings, on a model's flat vectors.

    A gradient that is not finite changes neither the parameters nor the moments. On the CPU, `step`
    raises NonFiniteError; on a GPU, where a check would have to wait, the update is skipped and
    counted in `skipped`. Raises InputError for meaningless settings, and for a model without
    parameters.
    """

    def __init__(
        self, model: Layer, beta1: float = 0.9, beta2: float = 0.98, epsilon: float = 1e-9
    ):
        check_kind(hasattr(model, "flat"), "model", model, "a Layer")
        betas = is_number(beta1, 0) and beta1 < 1 and is_number(beta2, 0) and beta2 < 1
        if not betas or not is_number(epsilon, 0) or not epsilon:
            raise InputError(
                f"Adam: beta1 is {beta1!r}, beta2 is {beta2!r} and epsilon is {epsilon!r}, expected both betas from 0 to "
                "below 1 and an epsilon above 0"
            )
        self.model = model
        self.flat = self.data, self.grad = model.flat
        xp = module_of(self.data)
        self.m, self.v = xp.zeros_like(self.data), xp.zeros_like(self.data)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.steps = 0  # calls of `step`
        self.updates = 0  # those that changed the parameters; on their device

    @property
    def skipped(self) -> int:
        """The number of steps that changed nothing because their gradient was not finite (waits for
        the GPU).
        """
        return self.steps - int(self.updates)

    def step(
        self,
        learning_rate: float,
        clip: float | None = None,
        square: Array | None = None,
        each_piece: EachPiece | None = None,
    ) -> None:
        """Update every parameter once. The gradients stay: zero_grad before the next ones are added.

        First, the gradient is scaled to a norm of at most `clip` (None, as in the paper, or
        infinity: no scaling). `square`: the square of the gradient's norm, if it is known.
        each_piece(move) calls move(slice) for the slices that make up the vectors, perhaps in
        threads; None: one call for all. Raises InputError if the model's parameters, or
        their order, have changed since this Adam was made: it would train others.
        """
        self._check(learning_rate, clip)
        square = gather_gradients(self.grad, []) if square is None else square
        finite = module_of(self.grad).isfinite(square)
        if module_of(self.grad) is np and not finite:  # on a GPU, the update does nothing instead
            self._raise_not_finite()
        self.steps += 1
        self.updates = self.updates + finite
        scale = 1.0 if clip is None else clip_factor(square, clip)

        def move(piece: slice) -> None:
            adam_update(
                self.data[piece],
                self.grad[piece],
                self.m[piece],
                self.v[piece],
                self.steps,
                learning_rate,
                scale,
                self.beta1,
                self.beta2,
                self.epsilon,
                finite,
            )

        if each_piece:
            each_piece(move)
        else:
            move(slice(None))

    def state(self) -> dict[str, Array]:
        """A copy of all that the next step depends on, beside the model: the moments m and v (P,),
        and the numbers of `steps` and `updates`, for a file of arrays or for `set_state`.
        """
        counts = {name: np.array(int(getattr(self, name))) for name in ("steps", "updates")}
        return {"m": np.array(to_host(self.m)), "v": np.array(to_host(self.v)), **counts}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` returned, also from another Adam's, for the same model. Raises
        InputError, before changing anything, if it is not that.
        """
        expected = {"m": self.m.shape, "v": self.v.shape, "steps": (), "updates": ()}
        for name, shape in expected.items():
            if name not in state or np.shape(state[name]) != shape:
                found = f"shape {np.shape(state[name])}" if name in state else "nothing"
                raise InputError(f"Adam.set_state: {name} has {found}, expected shape {shape}")
        xp = module_of(self.data)
        self.m[...], self.v[...] = to_device(state["m"], xp), to_device(state["v"], xp)
        self.steps, self.updates = int(state["steps"]), int(state["updates"])

    def _check(self, learning_rate: float, clip: float | None) -> None:
        if not is_number(learning_rate, 0) or learning_rate == math.inf:
            raise InputError(
                f"the learning rate is {learning_rate!r}, expected a finite number of at least 0"
            )
        if clip is not None and (not is_number(clip, 0) or not clip):
            raise InputError(f"clip is {clip!r}, expected a norm above 0, or None")
        check_flat(self.model, self.model.flat, self.flat)

    def _raise_not_finite(self) -> None:
        largest = {
            name: np.abs(parameter.grad).max(initial=0)
            for name, parameter in self.model.parameters().items()
        }
        bad = next((name for name, size in largest.items() if not np.isfinite(size)), None)
        self.grad[...] = 0
        where = (
            f"{bad} contains NaN or infinity"
            if bad
            else f"{max(largest, key=lambda name: largest[name])} is too large: its square is infinite in {self.grad.dtype}"
        )
        raise NonFiniteError(
            f"the gradient of {where}; nothing was updated, and the gradients are zero again"
        )

    def __getstate__(self) -> dict[str, Any]:
        """For copy and pickle: everything but the model's flat vectors, which a copy makes anew."""
        return {**vars(self), "data": None, "grad": None, "flat": self.model.flat is self.flat}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.flat:  # the model has the parameters that this Adam was made for
            self.flat = self.data, self.grad = self.model.flat

    def __repr__(self) -> str:
        return (
            f"Adam(steps={self.steps}, skipped={self.skipped}, beta1={self.beta1}, "
            f"beta2={self.beta2}, epsilon={self.epsilon})"
        )


def clip_factor(square: Array, limit: float) -> Array:
    """The factor that scales a gradient of norm sqrt(`square`) to a norm of at most `limit`.

    NaN if `square` is not finite: a factor of 0 would hide that from Adam.
    """
    xp = module_of(square)
    # a limit of infinity would limit nothing: inf / inf is NaN
    limit = min(limit, float(xp.finfo(square.dtype).max))
    return xp.where(xp.isfinite(square), limit / xp.maximum(xp.sqrt(square), limit), xp.nan)


def schedule(step: int, d_model: int, warmup: float, factor: float = 1.0) -> float:
    """The learning rate at `step` = 1, 2, ...: factor * d_model^-0.5 * min(step^-0.5, step *
    warmup^-1.5).

    It grows linearly for `warmup` steps to factor / sqrt(d_model * warmup), then falls as
    1 / sqrt(step) (equation 3 of the paper). Raises InputError for a step, a width or a warm-up
    below 1.
    """
    for name, value in (("step", step), ("d_model", d_model), ("warmup", warmup)):
        if not is_number(value, 1):
            raise InputError(
                f"schedule: {name} is {value!r}, expected at least 1"
                + (": steps count from 1" if name == "step" else "")
            )
    if not is_number(factor, 0) or factor == math.inf:
        raise InputError(f"schedule: factor is {factor!r}, expected a finite number of at least 0")
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def inverse_sqrt(step: int, warmup: float, peak: float) -> float:
    """The paper's schedule with a given highest learning rate `peak`, reached at step `warmup`."""
    return peak * min(step / warmup, (warmup / step) ** 0.5)


def constant(step: int, warmup: float, peak: float) -> float:
    """`peak`, after a linear increase in the first `warmup` steps."""
    return peak * min(step / warmup, 1.0)


def cooldown(step: int, steps: int, share: float) -> float:
    """A factor for the learning rate: 1, then a linear decrease towards 0 in the last `share` of
    all `steps`.

    The paper averages its last checkpoints (section 6.1); a falling learning rate has the same
    effect within the run: it reduces the noise of the last updates (Hägele et al. 2024,
    https://arxiv.org/abs/2405.18392).
    """
    return min(1.0, (steps + 1 - step) / (share * steps)) if share else 1.0
