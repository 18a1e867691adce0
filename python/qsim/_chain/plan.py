"""What a QuantizedSequential computes, as steps on numbered tensors: made once of the layers, without data.

A convolution, the BatchNorm and the ReLU after it are one step. Each tensor of levels has a row of the chain's scales, and
a zero_point; pools that keep their levels, Flatten and Dropout share the row of what they read.
"""
from __future__ import annotations

import dataclasses
from typing import Any, List, Optional, Sequence, Set, Tuple, Union

from .. import _convolutions as convolutions
from .. import _library as lib
from .._torch_operations import torch

nn = torch.nn
LOWEST, HIGHEST = -128, 127  # the levels of a tensor
Pair = Tuple[int, int]


class Residual(nn.Module):
    """body(x) + shortcut(x), then ReLU unless `relu` is False. Without a shortcut x itself is added.

    body and shortcut: layers, or one nn.Sequential. It is a plain float module; in a QuantizedSequential its layers are
    steps of the chain.
    """

    def __init__(self, body: Any, shortcut: Any = None, relu: bool = True):
        super().__init__()
        self.body = body if isinstance(body, nn.Sequential) else nn.Sequential(*body)
        self.shortcut = shortcut if isinstance(shortcut, nn.Sequential) else nn.Sequential(*(shortcut or ()))
        self.relu = relu

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = self.body(x) + self.shortcut(x)
        return torch.relu(total) if self.relu else total


@dataclasses.dataclass
class Value:
    """A tensor of levels."""
    row: int  # of the scales
    zero_point: int = 0
    positive: bool = False  # after a ReLU
    uses: int = 0  # steps that read it


@dataclasses.dataclass
class Step:
    """x and y number tensors."""
    name: str
    x: int
    y: int


@dataclasses.dataclass
class Convolution(Step):
    """A Conv2d, a Linear (of pictures of one pixel), or an AvgPool2d: a convolution by ones with the scale 1 / size."""
    layer: Any
    window: convolutions.Window
    groups: int
    normalization: Any = None  # a BatchNorm2d, of a Linear a BatchNorm1d
    relu: bool = False

    def parameters(self) -> List[Any]:
        """weight, bias, and gamma and beta of the normalization; None for what there is not."""
        if isinstance(self.layer, nn.AvgPool2d):
            return [None] * 4
        norm = self.normalization
        return [self.layer.weight, self.layer.bias, getattr(norm, "weight", None), getattr(norm, "bias", None)]


@dataclasses.dataclass
class MaxPool(Step):
    kernel: Pair
    window: convolutions.Window


@dataclasses.dataclass
class GlobalAverage(Step):
    pass


@dataclasses.dataclass
class Add(Step):
    other: int
    relu: bool


@dataclasses.dataclass
class Flatten(Step):
    pass


@dataclasses.dataclass
class Dropout(Step):
    layer: Any


@dataclasses.dataclass
class Plan:
    values: List[Value]
    steps: List[Step]
    rows: int
    flat_input: bool  # x is [B, K]
    flat_output: bool  # y is
    output: int

    def read_backward(self) -> Set[int]:
        """Tensors whose levels the backward pass reads."""
        return {step.x for step in self.steps if isinstance(step, MaxPool)
                or (isinstance(step, Convolution) and not isinstance(step.layer, nn.AvgPool2d))}

    def convolutions(self) -> List[Convolution]:
        return [step for step in self.steps if isinstance(step, Convolution)]


def pair(value: Union[int, Sequence[int]]) -> Pair:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


def _conv_window(layer: Any) -> convolutions.Window:
    """Its steps, pads and distances."""
    (sh, sw), (dh, dw) = pair(layer.stride), pair(layer.dilation)
    if layer.padding == "same":
        total = [(size - 1) * step for size, step in zip(layer.kernel_size, (dh, dw))]
        top, left = total[0] // 2, total[1] // 2
        return sh, sw, top, left, total[0] - top, total[1] - left, dh, dw
    ph, pw = (0, 0) if layer.padding == "valid" else pair(layer.padding)
    return sh, sw, ph, pw, ph, pw, dh, dw


class _Maker:
    """Makes a Plan: the layers one after another."""

    def __init__(self, zero_points: bool):
        self.zero_points = zero_points
        self.values: List[Value] = [Value(0)]
        self.steps: List[Step] = []
        self.rows = 1
        self.flat = False
        self.flat_input = False

    def refuse(self, name: str, layer: Any, why: str) -> None:
        raise lib.Unsupported(f"QuantizedSequential: layer {name} ({type(layer).__name__}) {why}")

    def value(self, like: int = -1, row: int = -1) -> int:
        """A new tensor, with a zero_point as that of `like`, and a row of its own unless one is given."""
        if row < 0:
            row = self.rows
            self.rows += 1
        known = self.values[like] if like >= 0 else Value(0)
        self.values.append(Value(row, known.zero_point, known.positive))
        return len(self.values) - 1

    def same(self, x: int) -> int:
        """A new tensor whose levels are those of x."""
        return self.value(x, self.values[x].row)

    def chain(self, layers: Any, prefix: str, x: int) -> int:
        """Adds the layers of an nn.Sequential; returns the tensor of the last."""
        for key, layer in layers._modules.items():  # named_children() leaves out a layer's second place
            x = self.layer(prefix + key, layer, x)
        return x

    def layer(self, name: str, layer: Any, x: int) -> int:
        for kind, method in ((nn.Conv2d, self.conv), (nn.Linear, self.linear), (nn.BatchNorm2d, self.normalize),
                             (nn.BatchNorm1d, self.normalize),
                             (nn.ReLU, self.relu), (nn.MaxPool2d, self.max_pool), (nn.AvgPool2d, self.average),
                             (nn.AdaptiveAvgPool2d, self.global_average), (nn.Flatten, self.flatten),
                             (nn.Dropout, self.dropout), (Residual, self.residual)):
            if type(layer) is kind:
                return method(name, layer, x)
        if isinstance(layer, nn.Identity):
            return x
        if hasattr(layer, "levels_scale"):
            self.refuse(name, layer, "is a chain inside a chain; allowed: its layers, in an nn.Sequential")
        if isinstance(layer, nn.Sequential):
            return self.chain(layer, name + ".", x)
        self.refuse(name, layer, "is not one of its layers; allowed: Conv2d, BatchNorm2d, BatchNorm1d, ReLU, MaxPool2d, AvgPool2d, "
                                 "AdaptiveAvgPool2d(1), Flatten, Linear, Dropout, Identity, Sequential, Residual")
        return x

    def conv(self, name: str, layer: Any, x: int) -> int:
        if self.flat:
            self.refuse(name, layer, "comes after Flatten; give it pictures")
        if layer.padding_mode != "zeros":
            self.refuse(name, layer, f"has padding_mode '{layer.padding_mode}'; allowed: zeros")
        y = self.value()
        self.steps.append(Convolution(name, x, y, layer, _conv_window(layer), layer.groups))
        return y

    def linear(self, name: str, layer: Any, x: int) -> int:
        if not self.flat and x == 0:
            self.flat_input = self.flat = True
        if not self.flat:
            self.refuse(name, layer, "reads pictures; put a Flatten before it")
        y = self.value()
        self.steps.append(Convolution(name, x, y, layer, (1, 1, 0, 0, 0, 0, 1, 1), 1))
        return y

    def _before(self, name: str, layer: Any, x: int) -> Any:
        """The step that made x, which takes this layer in."""
        step = self.steps[-1] if self.steps else None
        if step is None or step.y != x or not isinstance(step, Convolution) or step.relu or self.values[x].uses:
            self.refuse(name, layer, "does not follow a Conv2d or Linear directly")
        return step

    def normalize(self, name: str, layer: Any, x: int) -> int:
        step = self._before(name, layer, x)
        before = nn.Conv2d if isinstance(layer, nn.BatchNorm2d) else nn.Linear
        if step.normalization is not None or not isinstance(step.layer, before):
            self.refuse(name, layer, f"does not follow a {before.__name__} directly")
        if not layer.track_running_stats:
            self.refuse(name, layer, "has no running statistics; leave track_running_stats True")
        step.normalization = layer
        return x

    def relu(self, name: str, layer: Any, x: int) -> int:
        if self.values[x].positive:
            return x
        step = self.steps[-1] if self.steps else None
        made: Any = step if isinstance(step, Add) and step.y == x else self._before(name, layer, x)
        made.relu = True
        self.rectified(x)
        return x

    def rectified(self, x: int) -> None:
        self.values[x].positive = True
        self.values[x].zero_point = LOWEST if self.zero_points else 0

    def max_pool(self, name: str, layer: Any, x: int) -> int:
        if layer.ceil_mode or layer.return_indices:
            self.refuse(name, layer, "has ceil_mode or return_indices, which are not possible here")
        (sh, sw), (ph, pw), (dh, dw) = pair(layer.stride), pair(layer.padding), pair(layer.dilation)
        y = self.same(x)
        self.steps.append(MaxPool(name, x, y, pair(layer.kernel_size), (sh, sw, ph, pw, ph, pw, dh, dw)))
        return y

    def average(self, name: str, layer: Any, x: int) -> int:
        if layer.ceil_mode or layer.divisor_override or (pair(layer.padding) != (0, 0) and not layer.count_include_pad):
            self.refuse(name, layer, "has ceil_mode, divisor_override or count_include_pad=False with pads, which are not "
                                     "possible here")
        (sh, sw), (ph, pw) = pair(layer.stride), pair(layer.padding)
        y = self.value(x)
        self.steps.append(Convolution(name, x, y, layer, (sh, sw, ph, pw, ph, pw, 1, 1), 0))
        return y

    def global_average(self, name: str, layer: Any, x: int) -> int:
        if layer.output_size not in (1, (1, 1), [1, 1]):
            self.refuse(name, layer, f"has output_size {layer.output_size}; allowed: 1")
        y = self.value(x)
        self.steps.append(GlobalAverage(name, x, y))
        return y

    def flatten(self, name: str, layer: Any, x: int) -> int:
        if (layer.start_dim, layer.end_dim) not in ((1, -1), (1, 3)):
            self.refuse(name, layer, "does not join all dimensions but the first; allowed: start_dim 1, end_dim -1")
        if self.flat:
            return x
        self.flat = True
        y = self.same(x)
        self.steps.append(Flatten(name, x, y))
        return y

    def dropout(self, name: str, layer: Any, x: int) -> int:
        if not 0 <= layer.p < 1:
            self.refuse(name, layer, f"has p {layer.p}; allowed: 0 to below 1")
        y = self.same(x)
        self.steps.append(Dropout(name, x, y, layer))
        return y

    def residual(self, name: str, layer: Any, x: int) -> int:
        self.values[x].uses += 1  # so that a ReLU in a branch is not taken for x's
        one, other = self.chain(layer.body, name + ".body.", x), self.chain(layer.shortcut, name + ".shortcut.", x)
        self.values[x].uses -= 1
        if one == x:
            self.refuse(name, layer, "has an empty body")
        y = self.value()
        self.steps.append(Add(name, one, y, other, layer.relu))
        if layer.relu:
            self.rectified(y)
        return y


def make_plan(layers: Any, zero_points: bool) -> Plan:
    """The plan of an nn.Sequential."""
    maker = _Maker(zero_points)
    output = maker.chain(layers, "", 0)
    if not any(isinstance(step, Convolution) for step in maker.steps):
        raise lib.Unsupported("QuantizedSequential has no Conv2d and no Linear; give it one layer with weights at least")
    for step in maker.steps:
        maker.values[step.x].uses += 1
        if isinstance(step, Add):
            maker.values[step.other].uses += 1
    return Plan(maker.values, maker.steps, maker.rows, maker.flat_input, maker.flat, output)
