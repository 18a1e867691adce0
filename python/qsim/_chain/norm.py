"""BatchNorm2d of a convolution's integer sums: its statistics, the gain and offset that are folded, and its gradient.

A normalization is torch.int64 [5, O], the bits of float64 numbers: y = gain * (unit * sum) + offset, the mean of the sums (less a
bias of the convolution that the statistics have), 1 / sqrt(variance + eps), and unit, what 1 of a sum is.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Tuple

from .. import _library as lib
from .._torch_operations import torch
from .._training import calls

Tensor = torch.Tensor


def real(norm: Tensor) -> Tensor:
    """Its numbers, float64 [5, O]."""
    return norm.view(torch.float64)


def gain_and_offset(norm: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    """float64 [O] each."""
    assert norm is not None
    gain, offset = real(norm)[:2]
    return gain, offset


NONE: Tuple[Any, ...] = (None, None, None, None, None, 0.0, 0.0)  # as given()


def vector(name: str, what: str, values: Optional[Tensor]) -> Optional[Tensor]:
    """float32 without gaps, which the library takes, of a parameter."""
    if values is None or (values.dtype is torch.float32 and values.is_contiguous()):
        return values
    if values.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise lib.BadInput(f"QuantizedSequential: {what} of layer {name} is {values.dtype}; allowed: float32, float16 and bfloat16")
    return values.detach().float().contiguous()


def given(name: str, layer: Any, pixels: int) -> Tuple[Any, ...]:
    """What qsim_normalization has of a layer, which follows the layer `name`. pixels: of a channel."""
    if layer.training and pixels < 2:
        raise lib.BadInput(f"{type(layer).__name__}: {pixels} values a channel; a training step needs 2 and more")
    for statistics in (layer.running_mean, layer.running_var):
        if statistics.dtype is not torch.float32 or not statistics.is_contiguous():
            raise lib.BadInput(f"QuantizedSequential: running statistics after layer {name} are {statistics.dtype} with strides "
                               f"{statistics.stride()}; allowed: float32 without gaps")
    return (vector(name, "gamma", layer.weight), vector(name, "beta", layer.bias), layer.running_mean, layer.running_var, layer.num_batches_tracked, layer.eps,
            -1.0 if layer.momentum is None else layer.momentum)


class Gradients(NamedTuple):
    factors: Tensor  # float32 [O, 3], of qsim_conv2d_normalize_gradient
    bias: Optional[Tensor]  # of the convolution
    gamma: Optional[Tensor]
    beta: Optional[Tensor]


def gradients(norm: Tensor, sums: Tensor, pixels: int, batch: bool, needs: Sequence[bool]) -> Gradients:
    """Of sums [O, 2] of g and of g times the convolution's sums. batch: the statistics are of this batch.

    needs: whether bias, gamma and beta need theirs. With the batch's, xhat = inverse * unit * (sum - mean) and
    dz = gain * (g - beta' / n - xhat gamma' / n).
    """
    def vector(shape: Tuple[int, ...], need: bool) -> Any:
        return torch.empty(shape, dtype=torch.float32, device=sums.device) if need else None

    count = sums.shape[0]
    made = Gradients(vector((count, 3), True), *(vector((count,), need) for need in needs))
    calls.normalization_gradient(norm, sums, pixels, batch, made.factors, made.gamma, made.beta, made.bias)
    return made
