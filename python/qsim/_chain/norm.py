"""BatchNorm2d of a convolution's integer sums: its statistics, the gain and offset that are folded, and its gradient."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

from .. import _library as lib
from .._torch_operations import torch


class Normalization(NamedTuple):
    """y = gain * (unit * sum) + offset, all float64 [O]; unit: what 1 of a sum is."""
    gain: torch.Tensor  # gamma * inverse
    offset: torch.Tensor
    mean: torch.Tensor  # of the sums, less a bias of the convolution that the statistics have
    inverse: torch.Tensor  # 1 / sqrt(variance + eps)
    unit: torch.Tensor


def _normalization(layer: Any, unit: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> Normalization:
    inverse = 1 / torch.sqrt(variance + layer.eps)
    gain = inverse if layer.weight is None else layer.weight.double() * inverse
    offset = -gain * unit * mean
    return Normalization(gain, offset if layer.bias is None else offset + layer.bias.double(), mean, inverse, unit)


def of_batch(layer: Any, sums: torch.Tensor, pixels: int, unit: torch.Tensor,
             bias: Optional[torch.Tensor]) -> Normalization:
    """With the statistics of this batch, sums int64 [O, 3] of qsim_conv2d_statistics. The running ones are brought up to date."""
    if pixels < 2:
        raise lib.BadInput(f"{type(layer).__name__}: {pixels} values a channel; a training step needs 2 and more")
    count = unit.new_full((), pixels)  # a number would be multiplied by its inverse on a GPU
    mean = sums[:, 0].double() / count
    square = (sums[:, 1].double() + sums[:, 2].double() * 2.0 ** 32) / count
    variance = (square - mean * mean).clamp(min=0) * (unit * unit)
    _track(layer, mean * unit if bias is None else mean * unit + bias.double(), variance * (pixels / (pixels - 1)))
    return _normalization(layer, unit, mean, variance)


def _track(layer: Any, mean: torch.Tensor, variance: torch.Tensor) -> None:
    """Moves the running statistics as torch.nn.BatchNorm2d does."""
    layer.num_batches_tracked.add_(1)
    share = 1 / layer.num_batches_tracked.double() if layer.momentum is None else layer.momentum
    for running, new in ((layer.running_mean, mean), (layer.running_var, variance)):
        running.copy_(running * (1 - share) + new * share)


def of_running(layer: Any, unit: torch.Tensor, bias: Optional[torch.Tensor]) -> Normalization:
    """With the running statistics."""
    mean = layer.running_mean.double()
    if bias is not None:
        mean = mean - bias.double()
    return _normalization(layer, unit, mean / unit, layer.running_var.double())


class Gradients(NamedTuple):
    factors: torch.Tensor  # float32 [O, 3], of qsim_conv2d_normalize_gradient
    gamma: torch.Tensor
    beta: torch.Tensor
    bias: torch.Tensor  # of the convolution


def gradients(norm: Sequence[torch.Tensor], sums: torch.Tensor, pixels: int, batch: bool) -> Gradients:
    """Of sums [O, 2] of g and of g times the convolution's sums. batch: the statistics are of this batch.

    With the batch's, xhat = inverse * unit * (sum - mean) and dz = gain * (g - beta' / n - xhat gamma' / n).
    """
    gain, _, mean, inverse, unit = norm
    beta = sums[:, 0].double()
    gamma = inverse * unit * (sums[:, 1].double() - mean * beta)
    slope = constant = torch.zeros_like(gain)
    if batch:
        count = gain.new_full((), pixels)
        slope = -gain * gamma * unit * inverse / count
        constant = -gain * beta / count - slope * mean
    bias = torch.zeros_like(beta) if batch else gain * beta
    return Gradients(torch.stack((gain, slope, constant), 1).float(), gamma, beta, bias)
