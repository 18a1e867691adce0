"""A QuantizedSequential as an int8 ONNX file of QLinear operators, with the bytes of its eval mode."""
from __future__ import annotations

from typing import Any, List, Sequence

from .. import _library as lib
from .._chain import levels as arithmetic
from .._chain import norm as normalization
from .._chain import plan as plans
from .._chain import run as runs
from .._chain.module import QuantizedSequential
from .._torch_operations import torch
from .._training import calls
from .._training.forward_steps import copy_of, left_out, what_of
from .onnx_file import OnnxFile, window_attributes

LEAST_RATIO, LARGEST_RATIO = 2.0 ** -16, 2.0 ** 8  # of the scales of an addition, for qsim


class _Writer(OnnxFile):
    """`names` has the tensor of each value of the plan."""

    def __init__(self, onnx: Any, run: runs.Run):
        super().__init__(onnx)
        self.run = run
        self.names: List[str] = ["input.levels"] + [""] * (len(run.plan.values) - 1)

    def scale_of(self, value: int) -> List[str]:
        """The names of a tensor's scale and zero_point."""
        known = self.run.plan.values[value]
        point = torch.tensor(known.zero_point, dtype=torch.int8)
        return [self.constant(f"scale.{known.row}", self.run.scale(value)[0].clone()),
                self.constant(f"zero_point.{-known.zero_point}", point)]

    def quantized(self, value: int) -> List[str]:
        """A tensor, its scale and its zero_point."""
        return [self.names[value], *self.scale_of(value)]

    def after(self, step: Any, made: str) -> None:
        """The ReLU that a step has in it. Where the zero_point is the lowest level, saturation is ReLU."""
        if step.relu and self.run.plan.values[step.y].zero_point == 0:
            made = self.node("Relu", f"{step.name}.relu", [made], f"{step.name}.relu.out")
        self.names[step.y] = made

    def convolution(self, step: plans.Convolution, kept: runs.Tensors) -> None:
        w, w_scales, *norm = kept
        assert w is not None and w_scales is not None
        bias = getattr(step.layer, "bias", None)
        gain, offset = normalization.gain_and_offset(norm[0]) if norm else (None, None if bias is None else bias.detach().double())
        folded = arithmetic.fold(self.run.scale(step.x), w_scales, self.run.scale(step.y), gain, offset)
        sign = torch.where(folded.multipliers < 0, -1, 1).to(torch.int32)  # a scale is positive: the weights take the sign
        weights = w.to(torch.int32) * sign[:, None, None, None]
        if folded.alive is not None:
            weights = weights * folded.alive[:, None, None, None]
        flat = isinstance(step.layer, torch.nn.Linear)
        stored = weights[:, 0, 0] if flat else weights.permute(0, 3, 1, 2)
        products = self.run.scale(step.x) * folded.w_scales
        if not bool((products / self.run.scale(step.y) > 0).all()):
            raise lib.BadInput(f"export_onnx: a scale of layer {step.name} is too small for float32; train its weights on")
        reads = [*self.quantized(step.x), self.constant(f"{step.name}.weight", stored.to(torch.int8)),
                 self.constant(f"{step.name}.weight_scale", folded.w_scales),
                 self.constant(f"{step.name}.weight_zero_point", torch.zeros(len(w), dtype=torch.int8))]
        biases = [] if folded.bias is None else [self.constant(f"{step.name}.bias", folded.bias * sign)]
        made = f"{step.name}.out"
        if flat:
            self.node("QGemm", step.name, [*reads, *(biases or [""]), *self.scale_of(step.y)], made, transB=1)
        else:
            self.node("QLinearConv", step.name, [*reads, *self.scale_of(step.y), *biases], made, group=step.groups or len(w),
                      kernel_shape=list(w.shape[1:3]), **window_attributes(step.window))
        self.after(step, made)

    def add(self, step: plans.Add) -> None:
        for value in (step.x, step.other):
            ratio = float(self.run.scale(value) / self.run.scale(step.y))
            if not LEAST_RATIO <= ratio < LARGEST_RATIO:
                raise lib.Unsupported(f"export_onnx: layer {step.name} adds a tensor whose scale is {ratio} times its result's; "
                                      "allowed: 2^-16 to below 2^8, so train on")
        reads = [*self.quantized(step.x), *self.quantized(step.other), *self.scale_of(step.y)]
        self.after(step, self.node("QLinearAdd", step.name, reads, f"{step.name}.out"))

    def step(self, step: Any, kept: runs.Tensors) -> None:
        if isinstance(step, plans.Convolution):
            self.convolution(step, kept)
        elif isinstance(step, plans.Add):
            self.add(step)
        elif isinstance(step, plans.Dropout):
            self.names[step.y] = self.names[step.x]
        elif isinstance(step, plans.MaxPool):
            self.names[step.y] = self.node("MaxPool", step.name, [self.names[step.x]], f"{step.name}.out",
                                           kernel_shape=list(step.kernel), **window_attributes(step.window))
        elif isinstance(step, plans.Flatten):
            self.names[step.y] = self.node("Flatten", step.name, [self.names[step.x]], f"{step.name}.out", axis=1)
        else:
            reads = [*self.quantized(step.x), *self.scale_of(step.y)]
            self.names[step.y] = self.node("QLinearGlobalAveragePool", step.name, reads, f"{step.name}.out", channels_last=0)

    def model(self, input_shape: Sequence[int]) -> Any:
        plan = self.run.plan
        self.node("QuantizeLinear", "input.quantize", ["input", *self.scale_of(0)], self.names[0])
        for step, kept in zip(plan.steps, self.run.kept):
            self.step(step, kept)
        self.node("DequantizeLinear", "output.dequantize", self.quantized(plan.output), "output")
        _, height, width, channels = self.run.shapes[plan.output]
        output_shape = [channels] if plan.flat_output else [channels, height, width]
        return self.made(input_shape, output_shape)


def chain_file(onnx: Any, model: QuantizedSequential, shape: Sequence[int]) -> Any:
    """The ModelProto of a chain in eval mode that reads pictures of this shape."""
    if model._settings.input.rounding != calls.HALF_EVEN:
        raise lib.Unsupported("export_onnx: x is rounded toward_zero, which ONNX does not have; train with half_even")
    if len(shape) != (1 if model._plan.flat_input else 3):
        raise lib.BadInput(f"export_onnx: input_shape is {tuple(shape)}; allowed: (K,) where the first layer is a Linear, else "
                           "(C, H, W)")
    reason = left_out(model)
    if type(model).forward is not QuantizedSequential.forward:
        reason = "has a forward of its own, which would be left out"
    if reason:
        raise lib.Unsupported(f"export_onnx: {what_of('', model)} {reason}")
    chain = copy_of(model, "export_onnx").cpu().eval()
    x = torch.zeros((1, *shape))
    chain._check(x)
    run = chain.new_run(x)
    runs.forward(run, chain.channels_last(x), True)
    return _Writer(onnx, run).model(shape)
