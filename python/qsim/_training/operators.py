"""torch.ops.qsim.observe, quantized_conv2d and quantized_conv2d_backward: a layer's forward and backward pass as operators.

They have no gradients of their own; autograd.py has. Pictures are [B, C, H, W] in any memory format. A result
that is not asked for has no elements.
"""
from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Tuple

from .. import _convolutions as convolutions
from .._torch_operations import torch
from . import calls as tr

Tensor = torch.Tensor


class How(NamedTuple):
    """The integers of `how`: levels lo..hi of the input, -w_hi..w_hi of the weights, codes of training.h."""
    lo: int
    hi: int
    w_hi: int
    rounding: int
    w_kind: int
    per_channel: int
    learned: int


class Kept(NamedTuple):
    """What forward gives beside y, and backward takes. Bits are as training.h has them."""
    q: Tensor  # int8 [B, H, W, C]
    x_passes: Tensor
    x_residual: Tensor  # of learned steps
    w_q: Tensor  # int8 [O, kh, kw, C / groups]
    w_scales: Tensor  # float32 [O]
    w_passes: Tensor
    w_residual: Tensor  # of learned steps
    y_passes: Tensor  # of ReLU


SCHEMAS = {
    "observe": "(Tensor x, Tensor(a!) state, Tensor(b!) scale, Tensor(c!)? zero_point, int observer, float momentum, "
               "int[] levels) -> ()",
    "quantized_conv2d": "(Tensor x, Tensor w, Tensor? bias, Tensor scale, Tensor? zero_point, Tensor? w_steps, int[] window, "
                        "int groups, int[] how, ScalarType dtype, bool relu, bool keep) -> (Tensor, Tensor, Tensor, Tensor, "
                        "Tensor, Tensor, Tensor, Tensor, Tensor)",
    "quantized_conv2d_backward": "(Tensor dy, Tensor[] kept, Tensor scale, Tensor? zero_point, int[] window, int groups, "
                                 "int[] how, ScalarType dtype, bool channels_last, bool relu, bool[] needs) -> (Tensor, "
                                 "Tensor, Tensor, Tensor, Tensor)",
}


def observe(x: Tensor, state: Tensor, scale: Tensor, zero_point: Optional[Tensor], observer: int, momentum: float,
            levels: List[int]) -> None:
    tr.observe(x.resolve_neg(), observer, momentum, tr.Levels(*levels), state, scale, zero_point)


def is_channels_last(x: Tensor) -> bool:
    """Whether the memory format of a result is channels_last where x's is."""
    return x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()


def _nhwc(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1)


def _bytes(like: Tensor, count: Any, wanted: bool, dtype: torch.dtype) -> Tensor:
    return like.new_empty((count if wanted else 0,), dtype=dtype)


def _bits(like: Tensor, of: Tensor, wanted: bool) -> Tensor:
    return _bytes(like, (of.numel() + 7) // 8, wanted, torch.uint8)


def _picture(like: Tensor, shape: Tuple[Any, ...], dtype: torch.dtype, channels_last: bool) -> Tensor:
    """Memory for [B, C, H, W]."""
    if channels_last:
        batch, channels, height, width = shape
        return like.new_empty((batch, height, width, channels), dtype=dtype).permute(0, 3, 1, 2)
    return like.new_empty(shape, dtype=dtype)


def _allocated(x: Tensor, w: Tensor, window: List[int], how: How, dtype: torch.dtype, relu: bool, keep: bool) -> Tuple[Tensor, Kept]:
    """(y, kept), with nothing in them."""
    size = convolutions.output_size(tuple(window), x.shape[2:], w.shape[2:])  # type: ignore[arg-type]
    y = _picture(x, (x.shape[0], w.shape[0], *size), dtype, is_channels_last(x))
    steps = bool(keep and how.learned)
    kept = Kept(x.new_empty(_nhwc(x).shape, dtype=torch.int8), _bits(x, x, keep),
                x.new_empty(_nhwc(x).shape if steps else (0,), dtype=torch.int8),
                x.new_empty(_nhwc(w).shape, dtype=torch.int8), x.new_empty((w.shape[0],), dtype=torch.float32),
                _bits(x, w, keep), x.new_empty(_nhwc(w).shape if steps else (0,), dtype=torch.int8),
                _bits(x, y, keep and relu))
    return y, kept


def _given(tensor: Tensor, wanted: bool) -> Optional[Tensor]:
    return tensor if wanted else None


def _quantize_weights(w: Tensor, steps: Optional[Tensor], how: How, kept: Kept, keep: bool) -> None:
    """Weights' levels, scales, bits and residual into `kept`."""
    levels = tr.Levels(-how.w_hi, how.w_hi, how.rounding, how.w_kind)
    passes, residual = _given(kept.w_passes, keep), _given(kept.w_residual, bool(keep and how.learned))
    nhwc = _nhwc(w)
    if how.per_channel:
        if steps is not None:
            kept.w_scales.copy_(steps)
        tr.quantize_weights(nhwc, levels, kept.w_scales, kept.w_q, passes, residual)
        return
    scale = w.new_empty((1,), dtype=torch.float32) if steps is None else steps.contiguous()
    dense = nhwc.contiguous().view(1, -1)
    tr.quantize_weights(dense, levels, scale, kept.w_q.view(1, -1), passes, None if residual is None else residual.view(1, -1))
    kept.w_scales.copy_(scale.expand(w.shape[0]))


def quantized_conv2d(x: Tensor, w: Tensor, bias: Optional[Tensor], scale: Tensor, zero_point: Optional[Tensor],
                     w_steps: Optional[Tensor], window: List[int], groups: int, how: List[int], dtype: torch.dtype,
                     relu: bool, keep: bool) -> Tuple[Tensor, ...]:
    how_ = How(*how)
    x = x.resolve_neg()  # a kernel reads memory as it is
    y, kept = _allocated(x, w, window, how_, dtype, relu, keep)
    tr.quantize_levels(_nhwc(x), tr.Levels(how_.lo, how_.hi, how_.rounding, tr.GIVEN), scale, zero_point, kept.q,
                       _given(kept.x_passes, keep), _given(kept.x_residual, bool(keep and how_.learned)))
    _quantize_weights(w, w_steps, how_, kept, keep)
    conv = tr.LevelConv(kept.q, zero_point, kept.w_q, tuple(window), groups)  # type: ignore[arg-type]
    tr.conv2d_real(conv, scale, kept.w_scales, None if bias is None else bias.float(), relu, _nhwc(y),
                   _given(kept.y_passes, keep and relu))
    return (y, *kept)


def meta_quantized_conv2d(x: Tensor, w: Tensor, bias: Optional[Tensor], scale: Tensor, zero_point: Optional[Tensor],
                          w_steps: Optional[Tensor], window: List[int], groups: int, how: List[int], dtype: torch.dtype,
                          relu: bool, keep: bool) -> Tuple[Tensor, ...]:
    y, kept = _allocated(x, w, window, How(*how), dtype, relu, keep)
    return (y, *kept)


def _input_gradient(dy: Tensor, kept: Kept, how: How, dtype: torch.dtype, channels_last: bool, needs: List[bool]) -> Tensor:
    """dx, with nothing in it. Of a layer with learned steps it is in the order of the levels, without gaps."""
    batch, height, width, channels = kept.q.shape
    learned = bool(how.learned)
    if not (needs[0] or needs[3]):
        return dy.new_empty((0,))
    return _picture(dy, (batch, channels, height, width), torch.float32 if learned else dtype, channels_last or learned)


def _other_gradients(dy: Tensor, kept: Kept, how: How, channels_last: bool, needs: List[bool]) -> List[Tensor]:
    """dw, and the gradients of bias, step and weight steps, with nothing in them; dw as _input_gradient()."""
    out, kernel_h, kernel_w, of_group = kept.w_q.shape
    learned = bool(how.learned)
    dw = _picture(dy, (out, of_group, kernel_h, kernel_w), torch.float32,
                  channels_last or learned) if needs[1] or needs[4] else dy.new_empty((0,))
    steps = out if how.per_channel else 1
    return [dw] + [_bytes(dy, count, need, torch.float32) for count, need in zip((out, 1, steps), needs[2:])]


def meta_quantized_conv2d_backward(dy: Tensor, kept: List[Tensor], scale: Tensor, zero_point: Optional[Tensor],
                                   window: List[int], groups: int, how: List[int], dtype: torch.dtype, channels_last: bool,
                                   relu: bool, needs: List[bool]) -> Tuple[Tensor, ...]:
    k, how_ = Kept(*kept), How(*how)
    dx = _input_gradient(dy, k, how_, dtype, channels_last, needs)
    return (dx.to(dtype), *_other_gradients(dy, k, how_, channels_last, needs))


def _operand(dy: Tensor, kept: Kept, relu: bool, bias_gradient: Optional[Tensor]) -> Tensor:
    """g. dy itself where it is that already."""
    nhwc = _nhwc(dy)
    if dy.dtype == torch.bfloat16 and nhwc.is_contiguous() and not relu:
        if bias_gradient is not None:
            torch.sum(nhwc, (0, 1, 2), dtype=torch.float32, out=bias_gradient)
        return nhwc
    g = dy.new_empty(nhwc.shape, dtype=torch.bfloat16)
    tr.gradient_operand(nhwc, _given(kept.y_passes, relu), g, bias_gradient)
    return g


def _step_gradient(gradient: Tensor, q: Tensor, zero_point: Optional[Tensor], passes: Tensor, residual: Tensor,
                   per_channel: bool, steps: Tensor) -> None:
    """Masks the gradient of levels times scale, and sums up that of their steps."""
    levels = _nhwc(gradient)
    into = steps if steps.numel() > 0 else gradient.new_empty((q.shape[0] if per_channel else 1,))
    tr.step_gradient(levels, q, zero_point, passes, residual, per_channel, levels, into)


def quantized_conv2d_backward(dy: Tensor, kept: List[Tensor], scale: Tensor, zero_point: Optional[Tensor], window: List[int],
                              groups: int, how: List[int], dtype: torch.dtype, channels_last: bool, relu: bool,
                              needs: List[bool]) -> Tuple[Tensor, ...]:
    k, how_ = Kept(*kept), How(*how)
    dy = dy.resolve_neg()
    dw, bias_gradient, step, w_steps = _other_gradients(dy, k, how_, channels_last, needs)
    learned = bool(how_.learned)
    g = _operand(dy, k, relu, _given(bias_gradient, needs[2]))
    conv = tr.LevelConv(k.q, zero_point, k.w_q, tuple(window), groups)  # type: ignore[arg-type]
    if needs[1] or needs[4]:
        tr.conv2d_weight_gradient(conv, scale, g, None if learned else k.w_passes, _nhwc(dw))
        if learned:
            _step_gradient(dw, k.w_q, None, k.w_passes, k.w_residual, bool(how_.per_channel), w_steps)
    dx = _input_gradient(dy, k, how_, dtype, channels_last, needs)  # after the workspace of dw's sums is free
    if needs[0] or needs[3]:
        tr.conv2d_input_gradient(conv, k.w_scales, g, None if learned else k.x_passes, _nhwc(dx))
        if learned:
            _step_gradient(dx, k.q, zero_point, k.x_passes, k.x_residual, False, step)
    return dx.to(dtype), dw, bias_gradient, step, w_steps


META = {"observe": lambda *_: None, "quantized_conv2d": meta_quantized_conv2d,
        "quantized_conv2d_backward": meta_quantized_conv2d_backward}
OPERATORS = {"observe": observe, "quantized_conv2d": quantized_conv2d,
             "quantized_conv2d_backward": quantized_conv2d_backward}
