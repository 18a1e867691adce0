"""The functions of include/qsim/training.h on PyTorch tensors: its names and arguments, without struct_bytes and run.

The caller gives the outputs; None stands for NULL. Pictures are [B, H, W, C] and weights [O, kh, kw, C / groups], as
views of any strides. On a GPU a call takes its workspace from PyTorch and enqueues on the current stream.
"""
from __future__ import annotations

import ctypes
from typing import Any, Dict, NamedTuple, Optional, Tuple

from .. import _library as lib
from .._convolutions import Window
from .._torch_operations import backend, torch

Tensor = torch.Tensor

HALF_EVEN, TOWARD_ZERO = 0, 1  # qsim_level_rounding
GIVEN, MAX, POWER_OF_TWO, AFFINE = range(4)  # qsim_scale_kind
LAST, ALL, AVERAGE = range(3)  # qsim_observer
_LEVELS_BYTES, _CONV_BYTES, _NORMALIZATION_BYTES, _CHAIN_BYTES = 24, 48, 64, 112


class Levels(NamedTuple):
    """qsim_levels"""
    lo: int = -127
    hi: int = 127
    rounding: int = HALF_EVEN
    scale_kind: int = MAX


class LevelConv(NamedTuple):
    """qsim_level_conv. Of a tensor whose shape alone counts the data may be anything: shape_alone()."""
    q: Any
    zero_point: Optional[Tensor]
    w: Any
    window: Window
    groups: int = 1


def shape_alone(shape: Any, like: Tensor) -> Any:
    """A QSIM_INT8 tensor of this shape without memory, for a LevelConv."""
    return like.new_empty((0,), dtype=torch.uint8), lib.INT8, tuple(shape)


def _conv(c: LevelConv) -> Tuple[Any, ...]:
    return _CONV_BYTES, c.q, c.zero_point, c.w, *c.window, c.groups


# Bytes of workspace by a call's name, numbers, shapes and strides, which are all that they depend on.
_workspace_bytes: Dict[Any, int] = {}
At = Optional[Tuple[Dict[Any, int], Any]]  # such a table of a caller's own, and the key of this call there: its shapes and strides


def _call(name: str, like: Tensor, *arguments: Any, at: At = None) -> None:
    threads = backend.threads()
    workspace = None
    if like.is_cuda:
        table, key = (_workspace_bytes, (like.device, *(_key(argument) for argument in arguments))) if at is None else at
        key = (name, key)
        count = table.get(key)
        if count is None:
            size = ctypes.c_size_t()
            lib.call(backend, name, *arguments, threads, ctypes.addressof(size))
            if len(table) > 10000:
                table.clear()
            count = table[key] = size.value
        if count > 0:
            workspace = like.new_empty((count,), dtype=torch.uint8)
    lib.call(backend, name, *arguments, threads, workspace)


def _call_without(name: str, *arguments: Any) -> None:
    """A call that takes no workspace."""
    lib.call(backend, name, *arguments, backend.threads(), None)


def _key(argument: Any) -> Any:
    if isinstance(argument, Tensor):
        return argument.shape, argument.stride(), argument.dtype
    return argument[1:] if isinstance(argument, tuple) else argument


def observe(x: Optional[Tensor], observer: int, momentum: float, levels: Levels, state: Tensor, scale: Tensor,
            zero_point: Optional[Tensor]) -> None:
    """Reads and writes state, writes scale and zero_point; x None: sees nothing."""
    _call("observe", state, x, observer, momentum, _LEVELS_BYTES, *levels, state, scale, zero_point)


def quantize_levels(x: Tensor, levels: Levels, scale: Tensor, zero_point: Optional[Tensor], q: Tensor,
                    passes: Optional[Tensor], residual: Optional[Tensor]) -> None:
    """Writes q, passes and residual."""
    _call("quantize_levels", x, x, _LEVELS_BYTES, *levels, scale, zero_point, q, passes, residual)


def quantize_weights(w: Tensor, levels: Levels, scales: Tensor, q: Tensor, passes: Optional[Tensor],
                     residual: Optional[Tensor]) -> None:
    """Writes scales (unless they are given), q, passes and residual."""
    _call("quantize_weights", w, w, _LEVELS_BYTES, *levels, scales, q, passes, residual)


def conv2d_real(conv: LevelConv, scale: Tensor, w_scales: Tensor, bias: Optional[Tensor], relu: bool, y: Tensor,
                passes: Optional[Tensor]) -> None:
    """Writes y and passes."""
    _call("conv2d_real", y, *_conv(conv), scale, w_scales, bias, int(relu), y, passes)


def conv2d_gradient_sums(conv: LevelConv, g: Tensor, sums: Tensor, at: At = None) -> None:
    """Writes sums."""
    _call("conv2d_gradient_sums", g, *_conv(conv), g, sums, at=at)


def conv2d_normalize_gradient(conv: LevelConv, factors: Tensor, g: Tensor, at: At = None) -> None:
    """Changes g in place."""
    _call("conv2d_normalize_gradient", g, *_conv(conv), factors, g, at=at)


def max_pool_levels(q: Tensor, kernel_h: int, kernel_w: int, window: Window, y: Tensor, at: At = None) -> None:
    """Writes y."""
    _call("max_pool_levels", q, q, kernel_h, kernel_w, *window, y, at=at)


def max_pool_gradient(q: Tensor, kernel_h: int, kernel_w: int, window: Window, dy: Tensor, passes: Optional[Tensor],
                      dx: Tensor) -> None:
    """Writes dx."""
    _call("max_pool_gradient", q, q, kernel_h, kernel_w, *window, dy, passes, dx)


def gradient_operand(dy: Tensor, passes: Optional[Tensor], g: Tensor, bias_gradient: Optional[Tensor]) -> None:
    """Writes g and bias_gradient."""
    _call("gradient_operand", dy, dy, passes, g, bias_gradient)


def conv2d_input_gradient(conv: LevelConv, w_scales: Tensor, g: Tensor, passes: Optional[Tensor], dx: Tensor,
                          at: At = None) -> None:
    """Writes dx; of conv.q the shape counts."""
    _call("conv2d_input_gradient", g, *_conv(conv), w_scales, g, passes, dx, at=at)


def conv2d_weight_gradient(conv: LevelConv, scale: Tensor, g: Tensor, passes: Optional[Tensor], dw: Tensor,
                           at: At = None) -> None:
    """Writes dw; of conv.w the shape counts."""
    _call("conv2d_weight_gradient", g, *_conv(conv), scale, g, passes, dw, at=at)


def chain_forward(conv: LevelConv, w: Optional[Tensor], w_levels: Levels, w_scales: Tensor, x_scale: Tensor, bias: Optional[Tensor],
                  norm: Optional[Tensor], normalization: Tuple[Any, ...], y_zero_point: Optional[Tensor], y_scale: Tensor,
                  range: Optional[Tensor], span: Optional[Tensor], flags: Tuple[bool, bool, bool], y: Tensor, passes: Tensor,
                  at: At = None) -> None:
    """Writes y, passes and range; with w conv.w and w_scales, with a norm that (torch.int64 [5, O]), with a span y_scale.

    normalization: gamma, beta, running mean and variance, batches, eps, momentum. flags: of_batch, relu, power_of_two.
    """
    *tensors, batches, eps, momentum = normalization
    _call("chain_forward", y, *_conv(conv), _CHAIN_BYTES, w, _LEVELS_BYTES, *w_levels, w_scales, x_scale, bias, norm,
          _NORMALIZATION_BYTES, *tensors, None if batches is None else (batches, lib.INT64, (1,)), eps, momentum, y_zero_point,
          y_scale, range, span, *map(int, flags), y, passes, at=at)


def observe_rows(ranges: Tensor, units: Tensor, spans: Tensor, observer: int, momentum: float, power_of_two: bool, state: Tensor,
                 first: Tensor, scales: Tensor) -> None:
    """Reads and writes state, writes scales."""
    _call_without("observe_rows", ranges, units, spans, observer, momentum, int(power_of_two), state, first, scales)


def normalization_gradient(norm: Tensor, sums: Tensor, pixels: int, of_batch: bool, factors: Tensor, gamma: Optional[Tensor],
                           beta: Optional[Tensor], bias: Optional[Tensor]) -> None:
    """Writes factors, and gradients of gamma, beta and the convolution's bias."""
    _call_without("normalization_gradient", norm, sums, pixels, int(of_batch), factors, gamma, beta, bias)


def step_gradient(dq: Tensor, q: Tensor, zero_point: Optional[Tensor], passes: Tensor, residual: Tensor, per_channel: bool,
                  dx: Tensor, step_gradients: Tensor) -> None:
    """Writes dx, which may be dq, and step_gradients."""
    _call("step_gradient", dq, dq, q, zero_point, passes, residual, int(per_channel), dx, step_gradients)
