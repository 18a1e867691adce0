"""quantized_conv2d with its gradient, for PyTorch's autograd and, where PyTorch has it, torch.compile.

Kept for the backward pass are int8 levels and a bit a value, never a float activation.
"""
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

from .. import _library as lib
from .._torch_operations import torch
from .operators import OPERATORS, How, is_channels_last

Tensor = torch.Tensor

_HAS_GRADIENTS = hasattr(torch.library, "register_autograd")  # of operators
_count_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)  # make_fx and others that see operators
is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


def is_eager(x: Tensor) -> bool:
    """Whether it has data, and no tracer looks on."""
    return type(x) is Tensor and not x.is_meta and not is_compiling() and not _count_modes()


def operator_for(x: Tensor, name: str) -> Any:
    """torch.ops.qsim.NAME, or for a tensor with data and without a tracer what it calls in the end, which is faster."""
    if is_eager(x):
        return OPERATORS[name]
    return getattr(torch.ops.qsim, name).default


def _keep(ctx: Any, inputs: Sequence[Any], output: Sequence[Tensor]) -> None:
    """Keeps what backward needs of quantized_conv2d's arguments and results."""
    x, w, bias, scale, zero_point, w_steps, window, groups, how, _, relu, _ = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*output[1:], scale, zero_point)
    ctx.numbers = (window, groups, how)
    ctx.dtypes = (x.dtype, w.dtype, None if bias is None else bias.dtype)
    ctx.format = (is_channels_last(x), relu)
    ctx.features = (x.shape[1] * x.shape[2] * x.shape[3], w.numel() // max(1 if w_steps is None else w_steps.numel(), 1))


def _gradient(ctx: Any, dy: Optional[Tensor], *_: Any) -> Tuple[Optional[Tensor], ...]:
    """Gradients of quantized_conv2d's twelve arguments."""
    nothing: List[Optional[Tensor]] = [None] * 12
    if dy is None:
        return tuple(nothing)
    *kept, scale, zero_point = ctx.saved_tensors
    window, groups, how = ctx.numbers
    needs = [bool(ctx.needs_input_grad[index]) for index in (0, 1, 2, 3, 5)]
    name = "quantized_conv2d_backward"  # where its own gradient may be asked for, that has to be refused
    operator = getattr(torch.ops.qsim, name).default if torch.is_grad_enabled() else operator_for(dy, name)
    dx, dw, bias, step, w_steps = operator(
        dy, kept, scale, zero_point, window, groups, how, ctx.dtypes[0], *ctx.format, needs)
    h = How(*how)
    if needs[0]:
        nothing[0] = dx
    if needs[1]:
        nothing[1] = dw.to(ctx.dtypes[1])
    if needs[2]:
        nothing[2] = bias.to(ctx.dtypes[2])
    if needs[3]:
        nothing[3] = step * step_factor(ctx.features[0], h.hi)
    if needs[4]:
        nothing[5] = w_steps * step_factor(ctx.features[1], h.w_hi)
    return tuple(nothing)


def step_factor(count: Any, hi: int) -> float:
    """By what the gradient of a step that `count` values share is less: learned step size quantization, section 2.2."""
    return 1 / math.sqrt(max(count * hi, 1))


class _QuantizedConv2d(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:  # type: ignore[override]
        output = operator_for(inputs[0], "quantized_conv2d")(*inputs)
        _keep(ctx, inputs, output)
        return output[0]

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[misc,unused-ignore]
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _gradient(ctx, *gradients)


def _refuse(_ctx: Any, *_gradients: Any) -> Any:
    raise lib.Unsupported("quantized_conv2d has no second derivative: its gradient is of rounded operands")


def register_gradients() -> None:
    """Gives the operators their gradients, for torch.compile; of PyTorch from 2.4 on."""
    register: Any = getattr(torch.library, "register_autograd", None)
    if register is None:
        return
    register("qsim::quantized_conv2d", _gradient, setup_context=_keep)
    register("qsim::quantized_conv2d_backward", _refuse)


def quantized_conv2d(x: Tensor, w: Tensor, bias: Optional[Tensor], scale: Tensor, zero_point: Optional[Tensor],
                     w_steps: Optional[Tensor], window: Sequence[int], groups: int, how: List[int], dtype: torch.dtype,
                     relu: bool) -> Tensor:
    """y [B, O, OH, OW] of x [B, C, H, W] and w [O, C / groups, kh, kw], with gradients of x, w, bias, scale and w_steps."""
    tensors = (x, w, bias, scale, w_steps)
    keep = torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)
    inputs = (x, w, bias, scale, zero_point, w_steps, list(window), groups, how, dtype, relu, keep)
    if not keep:
        return operator_for(x, "quantized_conv2d")(*inputs)[0]
    if _HAS_GRADIENTS and is_compiling():
        return torch.ops.qsim.quantized_conv2d.default(*inputs)[0]
    return _QuantizedConv2d.apply(*inputs)  # half the time of an operator's registered gradient
