"""Observers with the scales that the accelerator has, for torch.ao.quantization (FX and eager, prepare and prepare_qat).

    model = prepare_qat_fx(model, QConfigMapping().set_global(power_of_two_qconfig()), example_inputs)

power_of_two_qconfig: 2^n for activations and weights, so that the accelerator shifts. dyadic_qconfig: 2^n for activations, an
integer of 8 bits times 2^n for weights. qat.py has its own layers, which compute with integers; these are for your own loop.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

try:
    from torch.ao.quantization import FakeQuantize, QConfig
    from torch.ao.quantization.observer import ObserverBase
except ImportError as missing:
    raise ImportError(f"PyTorch {torch.__version__} has no torch.ao.quantization, which these observers are for") from missing

from qat_scales import DYADIC_BITS, power_of_two

PER_CHANNEL = (torch.per_channel_affine, torch.per_channel_symmetric)
SYMMETRIC = (torch.per_channel_symmetric, torch.per_tensor_symmetric)
SCHEMES = (torch.per_tensor_affine, *PER_CHANNEL, torch.per_tensor_symmetric)


def smallest_dyadic(scale: Tensor) -> Tensor:
    """The least number of DYADIC_BITS significant bits that is not below each scale."""
    fraction, exponent = torch.frexp(scale)
    steps = 2**DYADIC_BITS
    return torch.ceil(fraction * steps) / steps * power_of_two(exponent)


class PowerOfTwoObserver(ObserverBase):
    """Least and largest value seen -> the smallest scale 2^n that covers them, for each tensor or channel.

    averaging_constant 1 keeps the range of all batches; below 1 it is a moving average: r += c * (batch - r).
    A symmetric scheme has zero_point 0, or the middle of unsigned levels where something is negative.
    """

    eps: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(self, dtype: torch.dtype = torch.quint8, qscheme: torch.qscheme = torch.per_tensor_affine,
                 quant_min: int | None = None, quant_max: int | None = None, ch_axis: int = 0,
                 averaging_constant: float = 1.0, reduce_range: bool = False, eps: float = 2.0**-40,
                 factory_kwargs: Any = None, **unused: Any) -> None:
        super().__init__(dtype=dtype)
        if qscheme not in SCHEMES:
            raise ValueError(f"qscheme {qscheme} is none of {', '.join(map(str, SCHEMES))}")
        if reduce_range:
            raise ValueError("reduce_range is not supported; name quant_min and quant_max")
        if unused:
            raise TypeError(f"unknown: {', '.join(sorted(unused))}")
        signed = dtype == torch.qint8
        self.qscheme, self.ch_axis, self.averaging_constant = qscheme, ch_axis, averaging_constant
        self.reduce_range = reduce_range
        self.quant_min = (-128 if signed else 0) if quant_min is None else quant_min
        self.quant_max = (127 if signed else 255) if quant_max is None else quant_max
        if not self.quant_min <= 0 < self.quant_max:
            raise ValueError(f"levels {self.quant_min}..{self.quant_max} do not go from 0 or less to more than 0")
        self.register_buffer("eps", torch.tensor([eps]))
        self.register_buffer("min_val", torch.tensor(float("inf")))
        self.register_buffer("max_val", torch.tensor(float("-inf")))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Returns what it is given."""
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().float()
        x = x.transpose(0, self.ch_axis).flatten(1) if self.qscheme in PER_CHANNEL else x.reshape(1, -1)
        low, high = x.amin(dim=1), x.amax(dim=1)
        if self.qscheme not in PER_CHANNEL:
            low, high = low[0], high[0]
        if not bool(torch.isfinite(low).all() and torch.isfinite(high).all()):
            raise ValueError("the observer was given values that are not finite")
        if self.min_val.shape != low.shape or not bool(torch.isfinite(self.min_val).all()):
            self.min_val, self.max_val = low, high
        elif self.averaging_constant == 1.0:
            self.min_val, self.max_val = torch.minimum(self.min_val, low), torch.maximum(self.max_val, high)
        else:
            self.min_val = self.min_val + self.averaging_constant * (low - self.min_val)
            self.max_val = self.max_val + self.averaging_constant * (high - self.max_val)
        return x_orig

    def allowed(self, scale: Tensor) -> Tensor:
        """The smallest scale of this observer's kind that is not below each one."""
        fraction, exponent = torch.frexp(scale)
        return power_of_two(torch.where(fraction == 0.5, exponent - 1, exponent))

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """(scale float32, zero_point int32), each of one element or one a channel. A range of 0 alone has scale 1."""
        if not bool(torch.isfinite(self.min_val).all()):
            raise RuntimeError("the observer has seen no values; run calibration or training first")
        low, high = self.min_val.reshape(-1).clamp(max=0), self.max_val.reshape(-1).clamp(min=0)
        if self.qscheme in SYMMETRIC:
            scale, zero_point = self.symmetric(low, high)
        else:
            scale, zero_point = self.affine(low, high)
        empty = (low == 0) & (high == 0)
        return torch.where(empty, torch.ones_like(scale), scale), zero_point.to(torch.int32)

    def symmetric(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        if self.quant_min < 0:
            zero_point = torch.zeros_like(low)
        else:
            zero_point = torch.where(low < 0, torch.full_like(low, (self.quant_max + 1) // 2), torch.zeros_like(low))
        above = high / (self.quant_max - zero_point)
        below = torch.where(low < 0, low / (self.quant_min - zero_point).clamp(max=-1), torch.zeros_like(low))
        return self.allowed(torch.maximum(torch.maximum(above, below), self.eps)), zero_point

    def affine(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """Where rounding the zero_point leaves an end outside, the next larger scale has it."""
        scale = self.allowed(torch.maximum((high - low) / (self.quant_max - self.quant_min), self.eps))
        for _ in range(2):
            zero_point = torch.clamp(self.quant_min - torch.round(low / scale), self.quant_min, self.quant_max)
            outside = torch.round(high / scale) + zero_point > self.quant_max
            scale = torch.where(outside, self.allowed(scale * 1.5), scale)
        zero_point = torch.clamp(self.quant_min - torch.round(low / scale), self.quant_min, self.quant_max)
        return scale, zero_point

    def reset_min_max_vals(self) -> None:
        self.min_val = torch.full_like(self.min_val, float("inf"))
        self.max_val = torch.full_like(self.max_val, float("-inf"))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """The range's shape follows from what was seen, one number or one a channel."""
        for name in ("min_val", "max_val"):
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name], device=self.eps.device))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class DyadicObserver(PowerOfTwoObserver):
    """The same with scales m * 2^n, m an integer of 8 bits."""

    def allowed(self, scale: Tensor) -> Tensor:
        return smallest_dyadic(scale)


def make_qconfig(weight_observer: type[PowerOfTwoObserver], training: bool, weight_bits: int, per_channel: bool) -> QConfig:
    """Activations: uint8 by PowerOfTwoObserver (a moving average in training). Weights: symmetric, as many bits."""
    if not 2 <= weight_bits <= 8:
        raise ValueError(f"weights of {weight_bits} bits: 2 to 8 are possible")
    most = 2 ** (weight_bits - 1) - 1
    activation: dict[str, Any] = {"dtype": torch.quint8, "qscheme": torch.per_tensor_affine, "quant_min": 0, "quant_max": 255}
    qscheme = torch.per_channel_symmetric if per_channel else torch.per_tensor_symmetric
    weight: dict[str, Any] = {"dtype": torch.qint8, "qscheme": qscheme, "quant_min": -most, "quant_max": most}
    if training:
        return QConfig(
            activation=FakeQuantize.with_args(observer=PowerOfTwoObserver, averaging_constant=0.01, **activation),
            weight=FakeQuantize.with_args(observer=weight_observer, **weight),
        )
    return QConfig(activation=PowerOfTwoObserver.with_args(**activation), weight=weight_observer.with_args(**weight))


def power_of_two_qconfig(training: bool = True, weight_bits: int = 8, per_channel: bool = True) -> QConfig:
    """training: for prepare_qat (fake quantization); else for prepare (observers alone)."""
    return make_qconfig(PowerOfTwoObserver, training, weight_bits, per_channel)


def dyadic_qconfig(training: bool = True, weight_bits: int = 8, per_channel: bool = True) -> QConfig:
    """training: for prepare_qat (fake quantization); else for prepare (observers alone)."""
    return make_qconfig(DyadicObserver, training, weight_bits, per_channel)
