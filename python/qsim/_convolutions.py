"""Convolutions, once for all kinds of arrays: as _operations.py, whose Backend they take."""
from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Sequence, Tuple

from . import _library as lib
from . import _operations as ops

# stride, pads (top, left, bottom, right), dilation, as lib.WINDOW has them
Window = Tuple[int, int, int, int, int, int, int, int]


def window_of(stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]) -> Window:
    """[h, w] each; one number stands for both."""
    if len(stride) == len(padding) == len(dilation) == 2:
        return (*stride, *padding, *padding, *dilation)  # type: ignore[return-value]
    pairs: List[Tuple[int, int]] = []
    for name, given in (("stride", stride), ("padding", padding), ("dilation", dilation)):
        both = tuple(given) * 2 if len(given) == 1 else tuple(given)
        if len(both) != 2:
            raise lib.BadInput(f"{name} has {len(both)} numbers; allowed: 1 and 2")
        pairs.append(both)  # type: ignore[arg-type]
    (sh, sw), (ph, pw), (dh, dw) = pairs
    return sh, sw, ph, pw, ph, pw, dh, dw


def output_size(window: Window, size: Sequence[int], kernel: Sequence[int]) -> Tuple[int, int]:
    """[height, width] of a convolution; at least 0."""
    sizes = []
    for axis in (0, 1):
        stride, dilation = window[axis], window[6 + axis]
        span = size[axis] + window[2 + axis] + window[4 + axis] - (kernel[axis] - 1) * dilation - 1
        sizes.append(max(span // stride + 1, 0) if stride > 0 else 0)
    return sizes[0], sizes[1]


def pack_activations(b: ops.Backend, x: Any, v: Any) -> Any:
    """Bits [B, H, W, N, words] of x [B, H, W, C]."""
    ops.require_rank("pack_activations: x", b.shape(x), 4)
    bases = 1 if v is None else b.shape(v)[0]
    bits = b.empty((*b.shape(x)[:3], bases, -(-b.shape(x)[3] // 64)), "int64", x)
    lib.call(b, "pack_activations", x, v, bits, b.threads(), None)
    return bits


def binarize_weights(b: ops.Backend, w: Any, bases: int, u: Any, per_channel: bool) -> Tuple[Any, Any]:
    """(words [O, M, kh, kw, words], alpha [M, O]) of w [O, kh, kw, C]."""
    ops.require_rank("binarize_weights: w", b.shape(w), 4)
    out, height, width, channels = b.shape(w)
    words = b.empty((out, max(bases, 0), height, width, -(-channels // 64)), "int64", w)
    alpha = b.empty((max(bases, 0), out), "float32", w)
    lib.call(b, "binarize_weights", w, u, int(per_channel), words, alpha, b.threads(), None)
    return words, alpha


def binary_conv2d(b: ops.Backend, x: Any, v: Any, words: Any, alpha: Any, beta: Any, bias: Any, channels: int,
                  window: Window) -> Any:
    """y [B, OH, OW, O] of bits [B, H, W, N, words], or with v of floats [B, H, W, C]."""
    name = "binary_conv2d" if v is None else "abc_conv2d"
    ops.require_rank(f"{name}: {'bits' if v is None else 'x'}", b.shape(x), 5 if v is None else 4)
    ops.require_rank(f"{name}: words", b.shape(words), 5)
    size = output_size(window, b.shape(x)[1:3], b.shape(words)[2:4])
    y = b.empty((b.shape(x)[0], *size, b.shape(words)[0]), "float32", x)
    workspace = None
    if v is not None and b.is_on_gpu(x):  # the bits of x
        workspace = b.empty((8 * ops.rows_of(b.shape(x)) * ops.rows_of((*b.shape(v), 1)) * -(-channels // 64),), "uint8", x)
    thresholds = () if v is None else (v,)
    lib.call(b, name, x, *thresholds, channels, words, alpha, beta, bias, *window, y, b.threads(), workspace)
    return y


def binary_layer(b: ops.Backend, channels: int, words: Any, alpha: Any, beta: Any, bias: Any, window: Window,
                 size: Sequence[int], device: int) -> int:
    """A qsim_binary_layer of weights on the CPU for bits of `size` (batch, height, width) on a GPU."""
    made = ctypes.c_void_p()
    lib.call(b, "binary_layer_create", channels, words, alpha, beta, bias, *window, *size, device,
             ctypes.addressof(made))
    assert made.value is not None
    return made.value


def binary_layer_run(b: ops.Backend, bits: Any, packed: Any, layer: int, size: Sequence[int], constant: bool) -> Any:
    """y of `size` (height, width, channels) by a layer. constant: no work that the stream has writes `packed`."""
    y = b.empty((b.shape(bits)[0], *size), "float32", bits)
    lib.call(b, "binary_layer_run", layer, packed, bits, y, b.threads(), None, constant)
    return y


def conv2d_int8(b: ops.Backend, x: Any, w: Any, scales: Any, bias: Any, window: Window, groups: int,
                zero_points: Tuple[int, int], rounding: str, clamp: Tuple[Optional[int], Optional[int]],
                out_kind: str) -> Any:
    """y [B, OH, OW, O] of x [B, H, W, C] and w [O, kh, kw, C / groups]."""
    ops.require_rank("conv2d_int8: x", b.shape(x), 4)
    ops.require_rank("conv2d_int8: w", b.shape(w), 4)
    mode = ops.word("rounding", rounding, lib.ROUNDINGS)
    size = output_size(window, b.shape(x)[1:3], b.shape(w)[1:3])
    y = b.empty((b.shape(x)[0], *size, b.shape(w)[0]), out_kind, x)
    least, most = (0, 255) if out_kind == "uint8" else (-128, 127)
    how = (scales, mode, *zero_points, least if clamp[0] is None else clamp[0], most if clamp[1] is None else clamp[1])
    lib.call(b, "conv2d_int8", x, w, bias, *window, lib.whole("groups", groups, *lib.INT64_RANGE), *how, y, b.threads(),
             None)
    return y
