"""A quantized layer as ONNX nodes with its roundings: QuantizeLinear, ConvInteger or MatMulInteger, Cast, Mul, Add, Relu.

Levels are written as uint8, 128 larger, with zero_points 128 larger: each ONNX Runtime has that, and exact kernels for it.
"""
from __future__ import annotations

from typing import Any, List, Tuple

from .. import _library as lib
from .._torch_operations import nhwc, torch
from .._training import calls
from .._training.layer_options import LEAST_SCALE
from .._training.layers import QuantizedLinear
from .onnx_file import OnnxFile, window_attributes

Tensor = torch.Tensor
MOVED = 128
MOST_SUM = 2 ** 31 - 1


def levels_of_weights(layer: Any) -> Tuple[Tensor, Tensor]:
    """(int8 [O, C / groups, kh, kw] or [O, K], float32 [O]), as forward() makes them."""
    options, weight = layer.options, layer.weight.detach()
    view = nhwc(weight, "weight") if weight.dim() == 4 else weight[:, None, None]
    levels = calls.Levels(-options.weight_hi, options.weight_hi, options.rounding_code, options.weight_kind)
    rows = view if options.per_channel else view.contiguous().view(1, -1)
    q = torch.empty(rows.shape, dtype=torch.int8)
    scales = torch.empty(rows.shape[0], dtype=torch.float32)
    if layer.weight_step is not None:
        scales.copy_(layer.weight_step.detach().float().clamp(min=LEAST_SCALE))
    calls.quantize_weights(rows, levels, scales, q, None, None)
    q = q.view(view.shape)
    return (q.permute(0, 3, 1, 2) if weight.dim() == 4 else q[:, 0, 0]), scales.expand(weight.shape[0]).clone()


def _check(what: str, layer: Any, scale: Tensor, zero_point: int, w: Tensor, w_scales: Tensor) -> None:
    """Refuses what would have other bits elsewhere."""
    options = layer.options
    if options.rounding_code != calls.HALF_EVEN:
        raise lib.Unsupported(f"export_onnx: {what} rounds toward_zero, which ONNX does not have; train with half_even")
    if getattr(layer, "padding_mode", "zeros") != "zeros":
        raise lib.Unsupported(f"export_onnx: {what} has padding_mode '{layer.padding_mode}'; allowed: zeros")
    factors = scale * w_scales
    if not bool((torch.isfinite(factors) & (factors > 0)).all()):
        raise lib.BadInput(f"export_onnx: {what} has scales whose product float32 does not hold; train its weights on")
    if layer.bias is not None and not bool(torch.isfinite(layer.bias).all()):
        raise lib.BadInput(f"export_onnx: the bias of {what} has numbers that are not finite")
    most = max(options.hi - zero_point, zero_point - options.lo)
    if int(w.flatten(1).long().abs().sum(1).max()) * most > MOST_SUM:
        raise lib.Unsupported(f"export_onnx: sums of {what} can be beyond int32; allowed: fewer weights for an output channel")


def _moved(levels: Tensor) -> Tensor:
    return (levels.to(torch.int16) + MOVED).to(torch.uint8)


def _levels_of_x(file: OnnxFile, name: str, x: str, options: Any, scale: str, zero_point: str) -> str:
    """The name of x's levels."""
    levels = file.node("QuantizeLinear", f"{name}.quantize", [x, scale, zero_point], f"{name}.levels")
    if options.bits == 8:
        return levels
    ends = [file.constant(f"level.{end + MOVED}", torch.tensor(end + MOVED, dtype=torch.uint8))
            for end in (options.lo, options.hi)]
    return file.node("Clip", f"{name}.clip", [levels, *ends], f"{name}.clip.out")


def write_integer_layer(file: OnnxFile, name: str, what: str, x: str, layer: Any) -> str:
    """Adds a layer in eval mode that reads the tensor x; returns its output's name."""
    scale = layer.observer(torch.zeros(1)).detach().float()
    point = 0 if layer.observer.zero_point is None else int(layer.observer.zero_point)
    w, w_scales = levels_of_weights(layer)
    _check(what, layer, scale, point, w, w_scales)
    flat = isinstance(layer, QuantizedLinear)
    by_channel: List[int] = [-1] if flat else [1, -1, 1, 1]
    zero_point = file.constant(f"level.{point + MOVED}", torch.tensor(point + MOVED, dtype=torch.uint8))
    x_scale = file.constant(f"{name}.scale", scale[0].clone())
    reads = [_levels_of_x(file, name, x, layer.options, x_scale, zero_point),
             file.constant(f"{name}.weight", _moved(w.t() if flat else w)), zero_point,
             file.constant(f"level.{MOVED}", torch.tensor(MOVED, dtype=torch.uint8))]
    if flat:
        sums = file.node("MatMulInteger", name, reads, f"{name}.sums")
    else:
        sums = file.node("ConvInteger", name, reads, f"{name}.sums", group=layer.groups, kernel_shape=list(w.shape[2:]),
                         **window_attributes(layer._window()))
    reals = file.node("Cast", f"{name}.cast", [sums], f"{name}.cast.out", to=file.onnx.TensorProto.FLOAT)
    weight_scale = file.constant(f"{name}.weight_scale", w_scales.reshape(by_channel))
    factors = file.node("Mul", f"{name}.scales", [x_scale, weight_scale], f"{name}.scales.out")
    y = file.node("Mul", f"{name}.scaled", [reals, factors], f"{name}.scaled.out")
    if layer.bias is not None:
        bias = file.constant(f"{name}.bias", layer.bias.detach().float().reshape(by_channel))
        y = file.node("Add", f"{name}.biased", [y, bias], f"{name}.biased.out")
    if getattr(layer, "_relu", False):
        y = file.node("Relu", f"{name}.relu", [y], f"{name}.relu.out")
    return y
