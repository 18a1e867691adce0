"""The arithmetic of a QuantizedSequential beside its convolutions, as PyTorch operations that give the same bits on each device.

Scales and their observers, normalization folded into a convolution's multipliers, and ONNX Runtime's rules of additions and
average pools (docs/reference/onnx.md).
"""
from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from .._torch_operations import torch
from .._training.layer_options import LEAST_SCALE

LOWEST, HIGHEST = -128, 127
LARGEST_BIAS = 2.0 ** 30  # so that sums of 2^16 products and the bias stay within int32
LAST, ALL, AVERAGE = "last", "min_max", "moving_average"


def pack_bits(flags: torch.Tensor) -> torch.Tensor:
    """Booleans as bits: element i is bit i % 8 of byte i / 8."""
    flat = flags.reshape(-1).to(torch.uint8)
    count = -(-flat.numel() // 8)
    padded = torch.nn.functional.pad(flat, (0, 8 * count - flat.numel())).view(count, 8)
    return (padded << torch.arange(8, dtype=torch.uint8, device=flat.device)).sum(1, dtype=torch.uint8)


def scales_of(ranges: torch.Tensor, spans: torch.Tensor, power_of_two: bool) -> torch.Tensor:
    """float32 [R]: the scales that cover ranges [R, 2] (least, most, with 0 in between) with `spans` [R] levels above 0.

    qsim_observe's rule for all rows at once, and for 255 levels too, which it does not take.
    """
    most = torch.maximum(-ranges[:, 0], ranges[:, 1])
    scale = (most / spans).clamp(min=LEAST_SCALE)
    if power_of_two:  # the next power of two, by its bits: no logarithm errs
        bits = scale.view(torch.int32)
        scale = (((bits + 0x7FFFFF) >> 23) << 23).view(torch.float32)
    return torch.where(most > 0, scale, torch.ones_like(scale))


class Folded(NamedTuple):
    """How sums become levels: (sum + bias) * multiplier, of weights whose scale is w_scales; `alive` None: all are."""
    multipliers: torch.Tensor  # float32 [O], of any sign
    bias: Optional[torch.Tensor]  # int32 [O]
    w_scales: torch.Tensor  # float32 [O]
    alive: Optional[torch.Tensor]  # int8 [O]: 0 where the weights are taken for 0


def fold(x_scale: torch.Tensor, w_scales: torch.Tensor, y_scale: torch.Tensor, gain: Optional[torch.Tensor],
         offset: Optional[torch.Tensor]) -> Folded:
    """For y = gain * (x_scale w_scales sum) + offset, gain and offset being float64 [O] or None.

    The multiplier is ONNX Runtime's, (x_scale * w_scales) / y_scale in float32, with the gain in w_scales and its sign
    apart. A channel whose unit x_scale * w_scales is below 2^-30 of its offset or of y_scale is taken for its offset alone:
    its bias would leave int32.
    """
    alive = sign = None
    if offset is not None:
        wide = w_scales.double() if gain is None else w_scales.double() * gain.abs()
        least = torch.maximum(offset.abs(), y_scale.double()) / (LARGEST_BIAS * x_scale.double())
        alive = (wide >= least).to(torch.int8)
        w_scales = torch.maximum(wide, least).float().clamp(min=LEAST_SCALE)
        sign = None if gain is None else 1 - 2 * (gain < 0).double()
    multipliers = (x_scale * w_scales) / y_scale
    bias = None
    if offset is not None:
        bias = torch.round(offset / (x_scale.double() * w_scales.double())).clamp(-LARGEST_BIAS, LARGEST_BIAS)
        bias = (bias if sign is None else bias * sign).to(torch.int32)
    return Folded(multipliers if sign is None else multipliers * sign.float(), bias, w_scales, alive)


def multiply_add(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """a * b + c rounded to float32 once, of float32 tensors, as FMA does it.

    The product is exact in float64; the sum is rounded to odd there (Knuth's error-free sum), so that rounding it to float32
    is right (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008).
    """
    product = a.double() * b.double()
    addend = c.double()
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    towards = torch.where(error > 0, torch.full_like(total, float("inf")), torch.full_like(total, -float("inf")))
    inexact_even = (error != 0) & ((total.view(torch.int64) & 1) == 0)
    return torch.where(inexact_even, torch.nextafter(total, towards), total).float()


class Levels(NamedTuple):
    """levels int8, passes bool."""
    levels: torch.Tensor
    passes: torch.Tensor


def average_levels(sums: torch.Tensor, size: int, x_scale: torch.Tensor, y_scale: torch.Tensor, zero_point: int) -> Levels:
    """QLinearGlobalAveragePool of float32 sums of `size` levels: saturate(rint(sum * (x_scale / (y_scale * size))) + zero_point)."""
    rounded = torch.round(sums * (x_scale / (y_scale * size))) + zero_point
    passes = (rounded >= LOWEST) & (rounded <= HIGHEST)
    return Levels(rounded.clamp(LOWEST, HIGHEST).to(torch.int8), passes)


def _bytes_of_levels(device: torch.device) -> torch.Tensor:
    """The level of each byte, float32 [256]."""
    return torch.arange(256, device=device, dtype=torch.int32).to(torch.uint8).view(torch.int8).float()


def add_table(scales: Tuple[torch.Tensor, torch.Tensor, torch.Tensor], points: Tuple[int, int, int], relu: bool) -> Levels:
    """QLinearAdd of scales and zero_points a, b, y, then ReLU: saturate(rint(fma(a, ra, fma(b, rb, fixed)))).

    Of all pairs of levels, [65536]: pair (a, b) is at byte(a) * 256 + byte(b).
    """
    levels = _bytes_of_levels(scales[0].device)
    ra, rb = scales[0] / scales[2], scales[1] / scales[2]
    za, zb, zy = points
    fixed = zy - multiply_add(ra, torch.full_like(ra, za), rb * zb)
    inner = multiply_add(levels, rb, fixed)
    total = multiply_add(levels[:, None], ra, inner[None, :]).reshape(-1)
    rounded = torch.round(total)
    passes = (rounded >= LOWEST) & (rounded <= HIGHEST)
    lowest = LOWEST
    if relu:
        passes &= total > zy
        lowest = zy
    return Levels(rounded.clamp(lowest, HIGHEST).to(torch.int8), passes)


def real_sums(scales: Tuple[torch.Tensor, torch.Tensor], points: Tuple[int, int]) -> torch.Tensor:
    """float32 [65536]: a's real number plus b's."""
    levels = _bytes_of_levels(scales[0].device)
    one, other = (levels - points[0]) * scales[0], (levels - points[1]) * scales[1]
    return (one[:, None] + other[None, :]).reshape(-1)


def pairs_of(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Where each pair of levels is in a table; int32, flat."""
    return (a.view(torch.uint8).to(torch.int32) * 256 + b.view(torch.uint8)).view(-1)


def range_of(reals: torch.Tensor, relu: bool) -> torch.Tensor:
    """[2]: least and most of reals and 0; after ReLU."""
    least, most = torch.aminmax(reals)
    least = torch.zeros_like(least) if relu else least.clamp(max=0)
    return torch.stack((least, most.clamp(min=0)))
