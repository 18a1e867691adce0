"""VGG-8 in integers alone: uint8 activations, int8 weights, int32 accumulation, shifts. The reference for the export.

Scales are powers of two, scale = 2^-exponent, so that requantizing is t = acc + bias, then a shift by
s = input exponent + weight exponent - output exponent with rounding half to even, then a clamp to 0..255.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from vgg8 import LAYERS, after_layer

INPUT_EXPONENT = 7
INPUT_ZERO_POINT = 128
MAX_SHIFT = 16  # (255 + 0.5) * 2^16 <= 2^24: up to here ONNX Runtime's float requantizing rounds only once.


@dataclass
class QuantizedLayer:
    """weight: int8 [out, in, 3, 3] or [out, in]; bias: int32 [out]; weight_exponents: int64 [out]."""

    weight: np.ndarray
    bias: np.ndarray
    weight_exponents: np.ndarray
    input_exponent: int
    input_zero_point: int
    output_exponent: int
    output_zero_point: int

    @property
    def shifts(self):
        """int64 [out]; raises where a shift-only machine and ONNX Runtime would part."""
        shifts = self.input_exponent + self.weight_exponents - self.output_exponent
        if shifts.min() < 0 or shifts.max() > MAX_SHIFT:
            raise ValueError(f"shifts {shifts.min()}..{shifts.max()} leave 0..{MAX_SHIFT}")
        return shifts


def quantize_input(pixels):
    """uint8 [N, 3, 32, 32] -> int64: (p - 128) / 128 in scale 2^-7 with zero_point 128 is the pixel itself."""
    return pixels.to(torch.int64)


def accumulate(spec, layer, x):
    """int64 [N, in, H, W] or flattening to [N, in] -> int64 [N, out, ...]: sum of w (x - zero_point), no bias.

    Matrix products in float64 are exact here: every partial sum is an integer far below 2^53.
    """
    weight = torch.from_numpy(layer.weight.astype(np.float64)).to(x.device).flatten(1)
    x = (x - layer.input_zero_point).double()
    if not spec.is_conv:
        return (x.flatten(1) @ weight.T).round().to(torch.int64)
    n, _, height, width = x.shape
    columns = F.unfold(x, 3, padding=1)
    return (weight @ columns).round().to(torch.int64).view(n, -1, height, width)


def per_channel(values, like):
    """Integers [out] as int64 of shape [1, out, 1, ...], to broadcast against `like`."""
    tensor = torch.as_tensor(np.asarray(values, dtype=np.int64), device=like.device)
    return tensor.view(1, -1, *[1] * (like.dim() - 2))


def shift_half_even(total, shifts):
    """int64 tensors -> total / 2^shifts rounded to nearest, ties to even."""
    half = (torch.ones_like(shifts) << shifts) >> 1
    rounding = half - 1 + ((total >> shifts) & 1)
    return (total + torch.where(shifts > 0, rounding, torch.zeros_like(total))) >> shifts


def requantize(layer, accumulator):
    """int64 [N, out, ...] -> int64 in 0..255; checks that the accumulator with its bias fits int32."""
    total = accumulator + per_channel(layer.bias, accumulator)
    if total.abs().max() >= 2**31:
        raise OverflowError("an accumulator leaves int32")
    shifted = shift_half_even(total, per_channel(layer.shifts, total))
    return (shifted + layer.output_zero_point).clamp(0, 255)


def run_layer(spec, layer, x):
    """One layer with its pooling; ReLU is requantize()'s clamp at 0, since a hidden layer's zero_point is 0."""
    return after_layer(spec, requantize(layer, accumulate(spec, layer, x)))


@torch.no_grad()
def run_network(layers, pixels, batch=250):
    """uint8 [N, 3, 32, 32] -> uint8 logits [N, 10], with zero_point 128."""
    outputs = []
    for x in pixels.split(batch):
        x = quantize_input(x)
        for spec in LAYERS:
            x = run_layer(spec, layers[spec.name], x)
        outputs.append(x.to(torch.uint8))
    return torch.cat(outputs)


def save_network(path, layers):
    """Writes an .npz with "<layer>.<field>" arrays."""
    arrays = {f"{name}.{field}": value for name, layer in layers.items() for field, value in vars(layer).items()}
    np.savez(path, **arrays)


def load_network(path):
    """Returns {layer name: QuantizedLayer}."""
    with np.load(path) as arrays:
        values = {key: array if array.ndim else int(array) for key, array in arrays.items()}
    fields = QuantizedLayer.__dataclass_fields__
    return {
        spec.name: QuantizedLayer(**{field: values[f"{spec.name}.{field}"] for field in fields}) for spec in LAYERS
    }
