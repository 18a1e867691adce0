"""The backward pass of a QuantizedSequential: gradients by the kernels of training.h, from what forward kept.

A gradient inside the chain is bfloat16 [B, H, W, C], of the tensor's real numbers. It is masked once by the tensor's bits: by the
kernel that makes it where one step alone reads the tensor, else when it is taken.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, cast

from .._torch_operations import nhwc, torch
from .._training import calls
from . import norm as normalization
from . import plan as plans
from . import run as runs

nn = torch.nn


class Gradients:
    """Gradients of tensors that are still to be read, and of parameters by step, in the order of Convolution.parameters()."""

    def __init__(self, run: runs.Run, needs: Sequence[Sequence[bool]], x_dtype: Optional[torch.dtype]):
        """needs: by convolution, which parameters need one; x_dtype: None where x needs none."""
        self.run, self.x_dtype = run, x_dtype
        steps = run.plan.convolutions()
        self.needs = {id(step): need for step, need in zip(steps, needs)}
        self.parameters: Dict[int, List[Optional[torch.Tensor]]] = {id(step): [None] * 4 for step in steps}
        self.wanted = [False] * len(run.plan.values)
        self.wanted[0] = x_dtype is not None
        for step in run.plan.steps:
            reads = self.wanted[step.x] or self.wanted[getattr(step, "other", step.x)]
            self.wanted[step.y] = reads or any(self.needs.get(id(step), ()))
        self._parts: Dict[int, torch.Tensor] = {}
        self._masked: Set[int] = set()

    def bits_for(self, value: int) -> Optional[torch.Tensor]:
        """The bits with which the only step that reads a tensor masks its gradient; None where give() is not told so."""
        return self.run.passes[value] if self.run.plan.values[value].uses == 1 else None

    def empty(self, value: int) -> torch.Tensor:
        """Memory for a gradient that give() takes."""
        dtype = self.x_dtype if value == 0 and self.run.plan.values[0].uses == 1 else torch.bfloat16
        return torch.empty(self.run.shapes[value], dtype=dtype, device=self.run.rows.device)

    def give(self, value: int, gradient: torch.Tensor, masked: bool = False) -> None:
        """Adds to the gradient of a tensor."""
        known = self._parts.get(value)
        self._parts[value] = gradient if known is None else known + gradient
        if masked and self.bits_for(value) is not None:
            self._masked.add(value)

    def take(self, value: int) -> torch.Tensor:
        """The gradient of a tensor, masked, bfloat16 (of x: its own type) without gaps; of a convolution's result new memory."""
        gradient = self._parts.pop(value)
        bits = self.run.passes[value]
        if value in self._masked or bits is None:
            return gradient.contiguous()
        result = torch.empty(self.run.shapes[value], dtype=torch.bfloat16, device=gradient.device)
        calls.gradient_operand(gradient, bits, result, None)
        return result


def _convolve(step: plans.Convolution, grads: Gradients, kept: runs.Tensors) -> None:
    run, g = grads.run, grads.take(step.y)
    w, w_scales, *norm = cast(List[torch.Tensor], kept)
    conv = runs.conv_of(run, step, w)
    needs, made = grads.needs[id(step)], grads.parameters[id(step)]
    if norm:
        sums = torch.empty((w.shape[0], 2), dtype=torch.float32, device=g.device)
        calls.conv2d_gradient_sums(conv, g, sums, run.at(step))
        pixels = g.shape[0] * g.shape[1] * g.shape[2]
        found = normalization.gradients(norm[0], sums, pixels, run.batch_statistics[id(step)], needs[1:])
        made[1:] = found[1:]
        calls.conv2d_normalize_gradient(conv, found.factors, g, run.at(step))
    elif needs[1]:
        made[1] = g.sum((0, 1, 2), dtype=torch.float32)
    if needs[0]:
        made[0] = _weight_gradient(run, step, conv, g)
    if grads.wanted[step.x]:
        dx = grads.empty(step.x)
        calls.conv2d_input_gradient(conv, w_scales, g, grads.bits_for(step.x), dx, run.at(step, dx.dtype))
        grads.give(step.x, dx, True)


def _weight_gradient(run: runs.Run, step: plans.Convolution, conv: calls.LevelConv, g: torch.Tensor) -> torch.Tensor:
    weight = step.layer.weight
    result = torch.empty_like(weight, dtype=torch.float32)  # in its layout: autograd takes it without a copy
    view = nhwc(result, step.name) if weight.dim() == 4 else result[:, None, None]
    calls.conv2d_weight_gradient(conv, run.scale(step.x), g, None, view, run.at(step, view.stride()))
    return result


def _max_pool(step: plans.MaxPool, grads: Gradients, _kept: runs.Tensors) -> None:
    dx = grads.empty(step.x)
    calls.max_pool_gradient(grads.run.given(step.x), *step.kernel, step.window, grads.take(step.y), grads.bits_for(step.x), dx)
    grads.give(step.x, dx, True)


def _global_average(step: plans.GlobalAverage, grads: Gradients, _kept: runs.Tensors) -> None:
    shape = grads.run.shapes[step.x]
    g = grads.take(step.y).float()
    share = g / g.new_full((), shape[1] * shape[2])
    grads.give(step.x, share.expand(shape))


def _add(step: plans.Add, grads: Gradients, _kept: runs.Tensors) -> None:
    g = grads.take(step.y)
    grads.give(step.x, g)
    grads.give(step.other, g)


def _flatten(step: plans.Flatten, grads: Gradients, _kept: runs.Tensors) -> None:
    batch, height, width, channels = grads.run.shapes[step.x]
    g = grads.take(step.y).view(batch, channels, height, width)
    grads.give(step.x, nhwc(g, step.name))


def _drop(step: plans.Dropout, grads: Gradients, kept: runs.Tensors) -> None:
    g = grads.take(step.y)
    if kept:
        dx = torch.empty_like(g)
        calls.gradient_operand(g.float() / g.new_full((), 1 - step.layer.p, dtype=torch.float32), kept[0], dx, None)
        g = dx
    grads.give(step.x, g)


_STEPS: Dict[type, Callable[[Any, Gradients, runs.Tensors], None]] = {
    plans.Convolution: _convolve, plans.MaxPool: _max_pool, plans.GlobalAverage: _global_average, plans.Add: _add,
    plans.Flatten: _flatten, plans.Dropout: _drop,
}


@torch.no_grad()
def backward(run: runs.Run, dy: torch.Tensor, needs: Sequence[Sequence[bool]],
             x_dtype: Optional[torch.dtype]) -> Tuple[Optional[torch.Tensor], List[Optional[torch.Tensor]]]:
    """(the gradient of x [B, H, W, C], those of all parameters) of dy [B, OH, OW, O]."""
    grads = Gradients(run, needs, x_dtype)
    grads.give(run.plan.output, dy)
    for step in reversed(run.plan.steps):
        kept = run.kept.pop()
        if grads.wanted[step.y]:
            _STEPS[type(step)](step, grads, kept)
        run.levels[step.y] = run.passes[step.y] = None  # all that read it are done: its memory is free
        if run.plan.values[step.x].uses == 1:
            run.levels[step.x] = None
    parameters: List[Optional[torch.Tensor]] = []
    for step in run.plan.convolutions():
        need = grads.needs[id(step)]
        parameters += [gradient if needed else None for gradient, needed in zip(grads.parameters[id(step)], need)]
    if x_dtype is None:
        return None, parameters
    return grads.take(0).to(x_dtype), parameters
