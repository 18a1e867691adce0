"""A layer's forward and backward pass, each by one call of libqsim_golden: what layers take unless a tracer looks on.

The same numbers as operators.py, which torch.compile takes. Of what backward needs there is one tensor, kept; what follows from shapes
alone is found once.
"""
from __future__ import annotations

import ctypes
import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .. import _convolutions as convolutions
from .. import _library as lib
from .._torch_operations import backend, torch
from .operators import is_channels_last

Tensor = torch.Tensor
_LAYER_BYTES, _LEVELS_BYTES, _CONV_BYTES = 96, 24, 48
_UINT8, _FLOAT32, _BFLOAT16 = torch.uint8, torch.float32, torch.bfloat16


class Setup(NamedTuple):
    """What qsim_layer_forward takes that is no tensor."""
    lo: int
    hi: int
    rounding: int
    kind: int
    w_hi: int
    w_kind: int
    observer: int
    momentum: float
    one_scale: bool  # for all weights
    learned: bool


class Pass(NamedTuple):
    """One forward pass: numbers, and tensors without gradients. state: None where x is not observed."""
    setup: Setup
    scale: Tensor
    zero_point: Optional[Tensor]
    state: Optional[Tensor]
    window: Tuple[int, ...]
    groups: int
    relu: bool
    dtype: torch.dtype


class _Plan:
    """What follows from shapes, strides and types. Shapes are of pictures [B, H, W, C] and weights [O, kh, kw, C / groups]."""

    def __init__(self, x: Tensor, w: Tensor, one: Pass):
        self.flat = x.dim() == 2
        self.channels_last, self.w_channels_last = (False, False) if self.flat else (is_channels_last(x), is_channels_last(w))
        pictures, weights = _nhwc(x), _nhwc(w)
        size = convolutions.output_size(one.window, pictures.shape[1:3], weights.shape[1:3])  # type: ignore[arg-type]
        self.x_shape, self.w_shape = tuple(pictures.shape), tuple(weights.shape)
        self.y_size = (x.shape[0], w.shape[0]) if self.flat else (x.shape[0], w.shape[0], *size)
        self.x_size, self.w_size = tuple(x.shape), tuple(w.shape)
        self.x_dtype, self.w_dtype = x.dtype, w.dtype
        self.gapless = bool(one.setup.learned) and not self.flat
        self.w_steps = 1 if one.setup.one_scale else w.shape[0]
        self.relu, self.learned = int(one.relu), int(one.setup.learned)
        weights_of_step = w.numel() if one.setup.one_scale else w.numel() // max(w.shape[0], 1)
        self.factors = [1 / math.sqrt(max(count * hi, 1)) for count, hi in (
            (x.numel() // max(x.shape[0], 1), one.setup.hi), (weights_of_step, one.setup.w_hi))]  # of step gradients
        self.numbers = (*one.window, one.groups)
        found = ctypes.c_size_t()
        lib.call(backend, "layer_kept_bytes", *self.conv(x.new_empty((0,), dtype=_UINT8), None), self.relu, self.learned,
                 ctypes.addressof(found))
        self.kept_bytes = found.value
        self.forward_workspace = -1
        self.backward_workspace: Dict[Any, int] = {}

    def conv(self, like: Tensor, zero_point: Any) -> Tuple[Any, ...]:
        """A qsim_level_conv whose shapes alone count."""
        return (_CONV_BYTES, (like, lib.INT8, self.x_shape), zero_point, (like, lib.INT8, self.w_shape), *self.numbers)


_plans: Dict[Any, _Plan] = {}


def _plan(x: Tensor, w: Tensor, one: Pass, keep: bool) -> _Plan:
    key = (x.shape, x.stride(), x.dtype, x.device, w.shape, w.stride(), w.dtype, one.window, one.groups, one.relu, one.dtype,
           one.state is None, keep, one.setup)
    found = _plans.get(key)
    if found is None:
        if len(_plans) > 10000:
            _plans.clear()
        found = _plans[key] = _Plan(x, w, one)
    return found


def _nhwc(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1) if x.dim() == 4 else x.unsqueeze(1).unsqueeze(1)


def _picture(like: Tensor, size: Tuple[int, ...], dtype: torch.dtype, channels_last: bool) -> Tuple[Tensor, Tensor]:
    """Memory of this size, and as [B, H, W, C]."""
    if channels_last:
        batch, channels, height, width = size
        nhwc = like.new_empty((batch, height, width, channels), dtype=dtype)
        return nhwc.permute(0, 3, 1, 2), nhwc
    made = like.new_empty(size, dtype=dtype)
    return made, _nhwc(made)


def _asked(name: str, arguments: Tuple[Any, ...]) -> int:
    """Bytes of workspace of a call."""
    found = ctypes.c_size_t()
    lib.call(backend, name, *arguments, backend.threads(), ctypes.addressof(found))
    return found.value


def _compute(x: Tensor, w: Tensor, bias: Optional[Tensor], steps: Optional[Tensor], one: Pass,
             keep: bool) -> Tuple[Tensor, Optional[Tensor], _Plan]:
    """(y, kept, plan). steps: learned scales of w."""
    s = one.setup
    if s.one_scale and not (w.is_contiguous() or is_channels_last(w)):
        w = w.contiguous()
    plan = _plan(x, w, one, keep)
    y, pictures = _picture(x, plan.y_size, one.dtype, plan.channels_last)
    kept = x.new_empty((plan.kept_bytes,), dtype=_UINT8) if keep else None
    if bias is not None and bias.dtype is not _FLOAT32:
        bias = bias.float()
    arguments = (_LAYER_BYTES, _LEVELS_BYTES, s.lo, s.hi, s.rounding, s.kind, _LEVELS_BYTES, -s.w_hi, s.w_hi, s.rounding, s.w_kind,
                 one.scale, one.zero_point, _nhwc(w), bias, *plan.numbers, steps, plan.relu, int(s.one_scale), plan.learned,
                 _nhwc(x), s.observer, s.momentum,
                 one.state, pictures, kept)
    workspace = None
    if x.is_cuda:
        if plan.forward_workspace < 0:
            plan.forward_workspace = _asked("layer_forward", arguments)
        if plan.forward_workspace > 0:
            workspace = x.new_empty((plan.forward_workspace,), dtype=_UINT8)
    lib.call(backend, "layer_forward", *arguments, backend.threads(), workspace)
    return y, kept, plan


def _gradients(plan: _Plan, zero_point: Optional[Tensor], kept: Tensor, dy: Tensor, needs: Tuple[bool, ...]) -> List[Any]:
    """Gradients of x, w, bias, and of learned steps of x and w, as far as they are needed."""
    dx = pictures = dw = weights = bias = step = w_step = None
    into = None  # the bias gradient that the call writes
    learned = bool(plan.learned)
    if dy.is_neg():
        dy = dy.resolve_neg()
    given = _nhwc(dy)
    if needs[2]:
        bias = dy.new_empty((plan.w_size[0],), dtype=_FLOAT32)
        if dy.dtype is _BFLOAT16 and not plan.relu and given.is_contiguous():  # dy is the operand: it needs no copy
            torch.sum(given, (0, 1, 2), dtype=_FLOAT32, out=bias)
        else:
            into = bias
    if needs[3]:
        step = dy.new_empty((1,), dtype=_FLOAT32)
    if needs[4]:
        w_step = dy.new_empty((plan.w_steps,), dtype=_FLOAT32)
    if needs[0] or needs[3]:  # of learned steps in the order of the levels, without gaps
        dx, pictures = _picture(dy, plan.x_size, _FLOAT32 if learned else plan.x_dtype, plan.channels_last or plan.gapless)
    if needs[1] or needs[4]:
        dw, weights = _picture(dy, plan.w_size, _FLOAT32, plan.w_channels_last or plan.gapless)
    arguments = (*plan.conv(kept, zero_point), plan.relu, plan.learned, kept, given, pictures, weights, into, step, w_step)
    workspace = None
    if dy.is_cuda:
        key = (dy.stride(), dy.dtype, needs)
        count = plan.backward_workspace.get(key)
        if count is None:
            count = plan.backward_workspace[key] = _asked("layer_backward", arguments)
        if count > 0:
            workspace = dy.new_empty((count,), dtype=_UINT8)
    lib.call(backend, "layer_backward", *arguments, backend.threads(), workspace)
    if learned:
        return [None if dx is None or not needs[0] else dx.to(plan.x_dtype), None if dw is None or not needs[1] else dw.to(plan.w_dtype),
                bias, *(None if one is None else one * factor for one, factor in zip((step, w_step), plan.factors))]
    if dw is not None and plan.w_dtype is not _FLOAT32:
        dw = dw.to(plan.w_dtype)
    return [dx, dw, bias, None, None]


class _Layer(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, bias: Optional[Tensor], _scale: Optional[Tensor],  # type: ignore[override]
                steps: Optional[Tensor], one: Pass) -> Tensor:
        y, kept, plan = _compute(x, w, bias, steps, one, True)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(kept)
        ctx.plan, ctx.zero_point = plan, one.zero_point
        ctx.bias_dtype = None if bias is None else bias.dtype
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[misc,unused-ignore]
    def backward(ctx: Any, dy: Optional[Tensor]) -> Any:  # type: ignore[override]
        if dy is None:
            return (None,) * 6
        made = _gradients(ctx.plan, ctx.zero_point, ctx.saved_tensors[0], dy, ctx.needs_input_grad)
        if made[2] is not None and ctx.bias_dtype is not _FLOAT32:
            made[2] = made[2].to(ctx.bias_dtype)
        return (*made, None)


def layer(x: Tensor, w: Tensor, bias: Optional[Tensor], steps: Optional[Tensor], one: Pass) -> Tensor:
    """y of x and w, [B, C, H, W] and [O, C / groups, kh, kw], or both of two dimensions; with gradients of x, w and bias.

    With learned steps, those of w being `steps`, they and one.scale have gradients too.
    """
    scale = one.scale if one.setup.learned else None
    if torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in (x, w, bias, scale, steps)):
        return _Layer.apply(x, w, bias, scale, steps, one)
    return _compute(x, w, bias, steps, one, False)[0]
