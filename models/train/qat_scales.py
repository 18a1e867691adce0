"""Straight-through gradients, and step sizes that training learns (LSQ: Esser et al., "Learned Step Size Quantization").

A step size is stored as its logarithm to base 2, so that it stays positive, and so that a learning rate means a ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

KINDS = ("power_of_two", "dyadic", "float")
DYADIC_BITS = 8  # significant bits of a dyadic scale of weights
ROUNDINGS = ("half_even", "half_up", "floor")


class StraightThrough(torch.autograd.Function):
    """straight_through(value, seen): `value` forward, bit by bit; backward the gradient goes to `seen` as it is."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, seen: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, gradient


class ScaleGradient(torch.autograd.Function):
    """The tensor itself; backward its gradient times `factor`."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.factor, None


class RoundClamp(torch.autograd.Function):
    """clamp(round(value) + zero_point, lo, hi) as float32; a clamped value's gradient is zero, another's is passed on."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, zero_point: int, lo: int, hi: int, rounding: str) -> Tensor:
        levels = round_to_integer(value, rounding)
        levels = levels + zero_point if zero_point else levels
        clamped = levels.clamp(lo, hi)
        ctx.save_for_backward(levels == clamped)
        ctx.dtype = value.dtype
        return clamped.float()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (inside,) = ctx.saved_tensors
        return (gradient * inside).to(ctx.dtype), None, None, None, None


def straight_through(value: Tensor, seen: Tensor) -> Tensor:
    result: Tensor = StraightThrough.apply(value, seen)
    return result


def scale_gradient(tensor: Tensor, factor: float) -> Tensor:
    result: Tensor = ScaleGradient.apply(tensor, factor)
    return result


def round_clamp(value: Tensor, zero_point: int, lo: int, hi: int, rounding: str = "half_even") -> Tensor:
    result: Tensor = RoundClamp.apply(value, zero_point, lo, hi, rounding)
    return result


def round_to_integer(value: Tensor, rounding: str) -> Tensor:
    """Half up without a sum that could round: the fraction value - floor(value) is exact."""
    if rounding == "half_even":
        return torch.round(value)
    lower = torch.floor(value)
    if rounding == "floor":
        return lower
    if rounding == "half_up":
        return lower + (value - lower >= 0.5).to(value.dtype)
    raise ValueError(f"rounding '{rounding}' is none of {', '.join(ROUNDINGS)}")


def power_of_two(exponent: Tensor) -> Tensor:
    """2^exponent as float32, exactly, for integers -126..127 in a tensor of any type."""
    bits = (exponent.to(torch.int32).clamp(-126, 127) + 127) << 23
    return bits.view(torch.float32)


def dyadic(scale: Tensor) -> Tensor:
    """The float32 with DYADIC_BITS significant bits that is nearest to each scale."""
    fraction, exponent = torch.frexp(scale)
    steps = 2**DYADIC_BITS
    return torch.round(fraction * steps) / steps * power_of_two(exponent)


@dataclass(frozen=True)
class Levels:
    """The integers lo..hi of a tensor, and which of them means 0."""

    lo: int
    hi: int
    zero_point: int = 0

    @property
    def most(self) -> int:
        """The largest distance from the zero_point."""
        return max(self.hi - self.zero_point, self.zero_point - self.lo)


def weight_levels(bits: int) -> Levels:
    """Symmetric: -(2^(bits - 1) - 1)..2^(bits - 1) - 1, the levels of `qsim quantize`; 2 bits are -1, 0 and 1."""
    if not 2 <= bits <= 8:
        raise ValueError(f"weights of {bits} bits: 2 to 8 are possible")
    most = 2 ** (bits - 1) - 1
    return Levels(-most, most)


def activation_levels(signed: bool) -> Levels:
    """uint8. What a ReLU leaves has zero_point 0; what may be negative has 128."""
    return Levels(0, 255, 128 if signed else 0)


class LearnedScale(nn.Module):
    """float32 scales [count] of one kind, each with its own gradient.

    `elements` is how many numbers each scale is for: LSQ multiplies its gradient by 1 / sqrt(elements * q_max), so that
    a step size learns about as fast as the numbers it is for.
    """

    def __init__(self, scale: Tensor, kind: str, elements: int, q_max: int) -> None:
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"scales '{kind}' are none of {', '.join(KINDS)}")
        self.kind = kind
        self.gradient_factor = 1.0 / math.sqrt(elements * q_max)
        self.log2 = nn.Parameter(torch.log2(scale.detach().float().reshape(-1)))

    def forward(self, least: Tensor | None = None, most: Tensor | None = None) -> Tensor:
        """`least` and `most` are limits of the logarithm, integers; they pass the gradient on."""
        free = scale_gradient(torch.exp2(self.log2), self.gradient_factor)
        log2 = self.log2.detach()
        log2 = log2 if least is None else torch.maximum(log2, least)
        log2 = log2 if most is None else torch.minimum(log2, most)
        if self.kind == "power_of_two":
            return straight_through(power_of_two(torch.round(log2)), free)
        limited = torch.exp2(log2)
        return straight_through(dyadic(limited) if self.kind == "dyadic" else limited, free)
