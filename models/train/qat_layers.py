"""A network in quantization-aware training: forward gives the accelerator's own levels, backward goes straight through.

Between layers run the levels themselves, as float32. A convolution sums levels of activations times levels of weights:
all sums are integers, exact in float32 below 2^24 in whatever order they are added; beyond that, weights are split in
two. The requantizer multiplies the sum with its bias by scale_x * scale_w / scale_y, rounds and clamps, as core/numerics/requantize.h
and core/numerics/requantizer.h do. Since levels times scales are real numbers, the gradients of LSQ follow by the chain rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qat_graph import Node
from qat_scales import LearnedScale, Levels, power_of_two, round_clamp, straight_through, weight_levels

MAX_SHIFT = 16  # up to here ONNX Runtime's float requantizing of uint8 rounds only once
EXACT_FLOAT32 = 2**24
INPUT_SCALE = 2.0**-7  # of normalized pixels (p - 128) / 128: the levels are the pixels
INPUT_LEVELS = Levels(0, 255, 128)
SPLIT = 16  # a weight is SPLIT * high + low, with both at most 8 in size


@dataclass(frozen=True)
class Settings:
    """How a network is quantized. `rounding` is a name of qat_scales.ROUNDINGS, or float32: as ONNX Runtime's product."""

    bits: int = 4
    kind: str = "power_of_two"
    rounding: str = "half_even"
    per_channel: bool = True
    fast_backward: bool = False  # bfloat16 in the backward pass of convolutions


def matrix_conv(x: Tensor, weight: Tensor, stride: int, pad: int) -> Tensor:
    """Convolution as one matrix product of all windows, in channels_last: one copy and one product of the GPU."""
    kernel = weight.shape[2]
    windows = F.pad(x, [pad] * 4).unfold(2, kernel, stride).unfold(3, kernel, stride)  # [N, in, H, W, ky, kx]
    rows = windows.permute(0, 2, 3, 4, 5, 1).reshape(-1, weight[0].numel())
    total = rows @ weight.permute(0, 2, 3, 1).reshape(len(weight), -1).T
    return total.view(len(x), windows.shape[2], windows.shape[3], len(weight)).permute(0, 3, 1, 2)


class ExactConv(torch.autograd.Function):
    """Convolution of integers in float32: each sum is below 2^24, so it is exact. Backward in bfloat16 if `fast`.

    On a GPU as a matrix product, since cuDNN may take Winograd's or Fourier's algorithm, which are not exact.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, stride: int, pad: int, fast: bool) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.options = stride, pad, fast
        if not x.is_cuda:
            return F.conv2d(x, weight, stride=stride, padding=pad)
        return matrix_conv(x, weight, stride, pad)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        stride, pad, fast = ctx.options
        if fast:
            gradient, x, weight = (t.to(torch.bfloat16) for t in (gradient, x, weight))
        wanted = [ctx.needs_input_grad[0], ctx.needs_input_grad[1], False]
        gradient_x, gradient_weight, _ = torch.ops.aten.convolution_backward(
            gradient, x, weight, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, wanted
        )
        found = (g.float() if g is not None else None for g in (gradient_x, gradient_weight))
        return (*found, None, None, None)


def raw_sums(node: Node, x: Tensor, weight: Tensor, fast: bool) -> Tensor:
    if node.kind == "fc":
        return F.linear(x.flatten(1), weight)
    result: Tensor = ExactConv.apply(x, weight, node.stride, node.pad, fast)
    return result


def exact_sums(node: Node, x: Tensor, weight: Tensor, most_x: int, fast: bool) -> Tensor:
    """Sums of x * weight, both integers in float32 with |x| <= most_x; float64 where float32 could not hold them."""
    reach = float(weight.detach().abs().flatten(1).sum(1).max()) * most_x
    if reach < EXACT_FLOAT32:
        return raw_sums(node, x, weight, fast)
    high = torch.round(weight.detach() / SPLIT)  # the gradient goes through `low` alone, and is whole there
    low = weight - SPLIT * high
    return SPLIT * raw_sums(node, x, high, fast).double() + raw_sums(node, x, low, fast).double()


def per_channel(values: Tensor, like: Tensor) -> Tensor:
    """[out] or [1], to broadcast against `like` [N, out, ...]."""
    return values.view(1, -1, *[1] * (like.dim() - 2))


def requantize(total: Tensor, scale: Tensor, levels: Levels, rounding: str) -> Tensor:
    """float32 levels of the integers `total` times `scale`, one number or one a channel.

    float32: psum to float32, product to float32, to nearest with ties to even. The others round the exact product
    once: in float32 where the scale is a power of two (the caller says so by it being exact), else in float64.
    """
    scale = per_channel(scale, total)
    if rounding == "float32":
        return round_clamp(total.float() * scale, levels.zero_point, levels.lo, levels.hi)
    return round_clamp(total * scale, levels.zero_point, levels.lo, levels.hi, rounding)


class QatNode(nn.Module):
    """What all nodes that write levels of their own have: the scale of these levels."""

    def __init__(self, node: Node, settings: Settings, levels: Levels, scale: float, elements: int) -> None:
        super().__init__()
        self.node, self.settings, self.levels = node, settings, levels
        kind = "float" if settings.kind == "float" else "power_of_two"
        self.scale = LearnedScale(torch.tensor([scale]), kind, elements, self.levels.hi)

    def finish(self, total: Tensor, scale: Tensor) -> Tensor:
        if self.settings.kind != "power_of_two" and self.settings.rounding != "float32":
            total, scale = total.double(), scale.double()
        return requantize(total, scale, self.levels, self.settings.rounding)


class QatWeights(QatNode):
    """A convolution or a fully connected layer.

    The parameters are weights in units of their first step size and biases in units of the ofmap's, so that one learning
    rate fits every layer and channel. The units are powers of two: parameter * unit is exactly the trained float weight.
    """

    unit: Tensor
    bias_unit: Tensor

    def __init__(self, node: Node, settings: Settings, levels: Levels, scale: float, elements: int,
                 weight: Tensor, bias: Tensor, weight_scale: Tensor) -> None:
        super().__init__(node, settings, levels, scale, elements)
        self.weight_levels = weight_levels(settings.bits)
        self.weight_scale = LearnedScale(
            weight_scale, settings.kind, weight.numel() // weight_scale.numel(), self.weight_levels.hi
        )
        unit = power_of_two(torch.round(torch.log2(weight_scale))).view(-1, *[1] * (weight.dim() - 1))
        self.register_buffer("unit", unit)
        self.register_buffer("bias_unit", power_of_two(torch.round(torch.log2(torch.tensor([scale], device=bias.device)))))
        self.weight = nn.Parameter(weight / unit)
        self.bias = nn.Parameter(bias / self.bias_unit)

    def float_weight(self) -> Tensor:
        return self.weight * self.unit

    def float_bias(self) -> Tensor:
        return self.bias * self.bias_unit

    def scales(self, scale_x: Tensor) -> tuple[Tensor, Tensor]:
        """(scale of the ofmap [1], scales of the weights [1] or [out])."""
        scale_y = self.scale()
        shift_0 = torch.round(torch.log2(scale_y.detach()) - torch.log2(scale_x.detach()))
        most = shift_0 if self.settings.kind == "power_of_two" else None
        return scale_y, self.weight_scale(shift_0 - MAX_SHIFT, most)

    def weight_integers(self, scale_w: Tensor) -> Tensor:
        scale_w = scale_w.view(-1, *[1] * (self.weight.dim() - 1))
        return round_clamp(self.float_weight() / scale_w, 0, self.weight_levels.lo, self.weight_levels.hi)

    def bias_integers(self, scale_x: Tensor, scale_w: Tensor) -> Tensor:
        """float64. The limit is one that no shift up to MAX_SHIFT brings back into 8 bits, and float32 has its integers."""
        steps = self.float_bias().double() / (scale_x.double() * scale_w.double())
        return straight_through(torch.round(steps.detach()).clamp(-EXACT_FLOAT32, EXACT_FLOAT32), steps)

    def forward(self, x: Tensor, read: Levels, scale_x: Tensor) -> tuple[Tensor, Tensor]:
        """Levels that `read` describes -> (levels of the ofmap, their scale)."""
        scale_y, scale_w = self.scales(scale_x)
        weight, bias = self.weight_integers(scale_w), self.bias_integers(scale_x, scale_w)
        x = x - read.zero_point if read.zero_point else x
        total = exact_sums(self.node, x, weight, read.most, self.settings.fast_backward)
        bias = per_channel(bias, total)
        reach = read.most * float(weight.detach().abs().flatten(1).sum(1).max()) + float(bias.detach().abs().max())
        total = total + (bias.float() if reach < EXACT_FLOAT32 else bias)
        return self.finish(total, scale_x * scale_w / scale_y), scale_y


class QatAdd(QatNode):
    """ofmap = clamp(round(a' * (scale_a / scale_y) + b' * (scale_b / scale_y)) + zero_point), as core/numerics/adder.h."""

    def forward(self, a: Tensor, b: Tensor, read: tuple[Levels, Levels],
                scales: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        scale_y = self.scale()
        ratio_a, ratio_b = ((scale / scale_y).double() for scale in scales)
        rounding, levels = self.settings.rounding, self.levels
        if rounding != "float32":
            total = (a - read[0].zero_point) * ratio_a + (b - read[1].zero_point) * ratio_b
            return round_clamp(total, levels.zero_point, levels.lo, levels.hi, rounding), scale_y
        # ONNX Runtime: fused multiply-adds in float32. A float64 holds each exact sum, which is then rounded once.
        zero = (ratio_a * read[0].zero_point + (ratio_b * read[1].zero_point).float().double()).float()
        fixed = (levels.zero_point - zero).double()
        total = (a * ratio_a + (b * ratio_b + fixed).float().double()).float()
        return round_clamp(total, 0, levels.lo, levels.hi), scale_y


class QatAveragePool(QatNode):
    """The mean of the whole picture: its sum times scale_x / (scale_y * count)."""

    def forward(self, x: Tensor, read: Levels, scale_x: Tensor) -> tuple[Tensor, Tensor]:
        scale_y = self.scale()
        total = (x - read.zero_point).sum(dim=(2, 3), keepdim=True)
        return self.finish(total, scale_x / (scale_y * float(x.shape[2] * x.shape[3]))), scale_y
