"""TorchConv2d, TorchConv2dReLU and TorchLinear: the quantized layers as fake quantization in PyTorch's own operations.

The same options, levels, scales and state; tensors are floats on the levels, x + (xq - x).detach(), and products are
PyTorch's. For comparison, and in float64 the witness of the tests: levels are then still those of float32.
"""
from __future__ import annotations

from typing import List, Optional, Tuple

from .._torch_operations import torch
from . import calls as tr
from .autograd import step_factor
from .layer_options import LEAST_SCALE, OBSERVERS
from .layers import QuantizedConv2d, QuantizedLinear, _Levels
from .observers import Observer

Tensor = torch.Tensor


def scale_of(most: Tensor, hi: int, power_of_two: bool) -> Tensor:
    """Of symmetric levels for max|x|, in float32."""
    scale = (most / torch.full_like(most, hi)).clamp(min=LEAST_SCALE)
    if power_of_two:
        share, exponent = torch.frexp(scale)
        exponent = torch.where(share == 0.5, exponent - 1, exponent).clamp(max=127)
        scale = torch.ldexp(torch.ones_like(scale), exponent)
    return torch.where(most == 0, torch.ones_like(scale), scale)


class TorchObserver(Observer):
    """Observer in PyTorch's operations."""

    def observe(self, x: Tensor, levels: List[int]) -> None:
        lo, hi, _, kind = levels
        with torch.no_grad():
            self._remember(x.float())
            least, most = self.range_state[:2].float()
            if kind != tr.AFFINE:
                self.scale.copy_(scale_of(torch.maximum(least.abs(), most.abs()).reshape(1), hi, kind == tr.POWER_OF_TWO))
                return
            assert self.zero_point is not None
            least, most = least.clamp(max=0).reshape(1), most.clamp(min=0).reshape(1)
            reach = (most - least).clamp(max=torch.finfo(torch.float32).max)
            scale = torch.where(reach == 0, torch.ones_like(reach), (reach / torch.full_like(reach, hi - lo)).clamp(min=LEAST_SCALE))
            self.scale.copy_(scale)
            self.zero_point.copy_((lo - torch.round(least / scale)).clamp(max=hi))

    def _remember(self, x: Tensor) -> None:
        finite = torch.isfinite(x)
        least = torch.where(finite, x, torch.full_like(x, float("inf"))).amin()
        most = torch.where(finite, x, torch.full_like(x, -float("inf"))).amax()
        now, before = torch.stack((least, most)) + 0.0, self.range_state[:2].float()
        how = OBSERVERS[self.options.observer]
        if how == tr.ALL:
            later = torch.stack((torch.minimum(before[0], now[0]), torch.maximum(before[1], now[1])))
        else:
            later = now if how == tr.LAST else before + self.options.momentum * (now - before)
        seen = finite.any()
        self.range_state[:2] = torch.where(seen, torch.where(self.range_state[2] == 0, now, later), before)
        self.range_state[2] += seen


def fake_quantized(x: Tensor, scale: Tensor, zero_point: Optional[Tensor], lo: int, hi: int, truncate: bool,
                   factor: Optional[float] = None) -> Tensor:
    """x on the levels; its gradient passes where x was not clamped. factor: that of a learned scale's gradient.

    scale: any shape that is broadcast to x's.
    """
    with torch.no_grad():
        quotient = x.float() / scale.float()
        rounded = torch.trunc(quotient) if truncate else torch.round(quotient)
        point = 0 if zero_point is None else zero_point.float()
        moved = torch.where(torch.isnan(rounded), torch.zeros_like(rounded), rounded) + point
        level = moved.clamp(lo, hi) - point
        passes = (moved.clamp(lo, hi) == moved) & ~torch.isnan(rounded)
        on_levels = level.to(x.dtype) * scale.to(x.dtype)
    result = torch.where(passes, x + (on_levels - x).detach(), on_levels)
    if factor is None:
        return result
    slope = torch.where(passes, rounded - quotient, level).to(x.dtype)
    step = scale.to(x.dtype) * factor
    return result + slope * (step - step.detach())


class _Plain(_Levels):
    """Input and weights on their levels."""

    _observer_class = TorchObserver
    _slow_forward = torch.nn.Module._slow_forward  # PyTorch's own operations can be traced

    def _fake_input(self, x: Tensor) -> Tensor:
        o = self.options
        scale = self.observer(x)
        factor = step_factor(x.numel() // max(x.shape[0], 1), o.hi) if o.learned else None
        return fake_quantized(x, scale, self.observer.zero_point, o.lo, o.hi, o.rounding == "toward_zero", factor)

    def _fake_weight(self, weight: Tensor) -> Tensor:
        """Of [O, ...]."""
        o = self.options
        shape = (-1,) + (1,) * (weight.dim() - 1)
        factor = None
        if self.weight_step is not None:
            scales = self.weight_step.clamp(min=LEAST_SCALE)
            factor = step_factor(weight.numel() // max(scales.numel(), 1), o.weight_hi)
        else:
            values = weight.detach().float().abs()
            values = torch.where(torch.isfinite(values), values, torch.zeros_like(values))
            rows = values.flatten(1) if o.per_channel else values.reshape(1, -1)
            most = rows.amax(1) if rows.shape[1] > 0 else rows.new_zeros(rows.shape[0])
            scales = scale_of(most, o.weight_hi, o.weight_kind == tr.POWER_OF_TWO)
        return fake_quantized(weight, scales.reshape(shape), None, -o.weight_hi, o.weight_hi, o.rounding == "toward_zero",
                              factor)

    def _convolve(self, x: Tensor, weight: Tensor, window: Tuple[int, ...], groups: int, relu: bool) -> Tensor:
        stride, (top, left, bottom, right), dilation = window[:2], window[2:6], window[6:]
        given = self._fake_input(x)
        if (top, left) != (bottom, right):
            given = torch.nn.functional.pad(given, (left, right, top, bottom))
            top = left = 0
        y = torch.nn.functional.conv2d(given, self._fake_weight(weight), self.bias, stride, (top, left), dilation, groups)
        return torch.relu(y) if relu else y


class TorchConv2d(_Plain, QuantizedConv2d):
    """QuantizedConv2d as fake quantization in PyTorch's own operations."""


class TorchConv2dReLU(TorchConv2d):
    """QuantizedConv2dReLU as fake quantization in PyTorch's own operations."""

    _relu = True


class TorchLinear(_Plain, QuantizedLinear):
    """QuantizedLinear as fake quantization in PyTorch's own operations."""

    def forward(self, input: Tensor) -> Tensor:  # pylint: disable=redefined-builtin
        """y [..., out_features] of [..., in_features]."""
        rows = input.reshape(input.shape[:-1].numel(), self.in_features)
        y = torch.nn.functional.linear(self._fake_input(rows), self._fake_weight(self.weight), self.bias)
        return y.reshape(*input.shape[:-1], self.out_features)
