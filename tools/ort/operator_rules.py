"""What ONNX Runtime 1.30 computes for quantized operators on an x86 processor: one function an operator.

Every function takes and returns arrays of uint8 or int8 in ONNX's layouts (NCHW) with a Quantization for
each. Paths in docstrings are those of ONNX Runtime's repository. docs/reference/onnx.md has the
rules. Operators that ONNX Runtime runs by tables are in table_rules.py. `fma` says whether the processor has FMA3 (Haswell, Zen and later): two operators differ.
"""
import collections
import functools

import numpy as np

import float32

F = np.float32

# scale: np.float32, or a vector of them for weights per output channel; zero_point: int; dtype: np.uint8 or np.int8.
Quantization = collections.namedtuple("Quantization", "scale zero_point dtype")
# strides, dilations: (h, w); pads: (top, left, bottom, right).
Window = collections.namedtuple("Window", "kernel strides pads dilations", defaults=((1, 1), (0, 0, 0, 0), (1, 1)))


def limits(dtype):
    info = np.iinfo(dtype)
    return info.min, info.max


def centred(values, zero_point):
    """values - zero_point as int64."""
    return values.astype(np.int64) - np.int64(zero_point)


def saturated(values, dtype):
    return np.clip(values, *limits(dtype)).astype(dtype)


def dequantize_linear(x, xq):
    """float32(x - zero_point) * scale: one rounding. core/providers/cpu/quantization/quantize_linear.cc."""
    return centred(x, xq.zero_point).astype(F) * F(xq.scale)


def quantize_linear(values, yq):
    """saturate(rint(values / scale) + zero_point), the quotient in float32: core/mlas/lib/quantize.cpp."""
    return saturated(np.rint(values / F(yq.scale)).astype(np.int64) + yq.zero_point, yq.dtype)


def output_scale(x_scale, w_scale, y_scale):
    """(x_scale * w_scale) / y_scale in float32, in this order: qlinearconv.cc, quantize_linear_matmul.cc."""
    return (F(x_scale) * np.asarray(w_scale, F)) / F(y_scale)


def requantize(sums, scale, yq):
    """saturate(rint(float32(sums) * scale) + zero_point): the product in float32, computed here by integers alone.

    sums: int64 within int32, channels last where scale is a vector. MlasRequantizeOutput of core/mlas/lib/quantize.cpp;
    it clamps before it rounds, which is equal because the limits are integers.
    """
    return saturated(float32.scaled_to_integer(sums, scale) + yq.zero_point, yq.dtype)


def windows(x, window, fill):
    """[N, C, H', W', kh, kw]: what each output position reads, with `fill` outside the picture."""
    top, left, bottom, right = window.pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    reach = [(k - 1) * d + 1 for k, d in zip(window.kernel, window.dilations)]
    views = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3))
    return views[:, :, ::window.strides[0], ::window.strides[1], ::window.dilations[0], ::window.dilations[1]]


def convolution_sums(x, xq, w, wq, bias, window, group):
    """int32 sums [N, H', W', M] of a convolution; padding reads the zero_point. Exact below 2^53 in float64."""
    data = windows(centred(x, xq.zero_point).astype(np.float64), window, 0.0)
    weights = centred(w, wq.zero_point).astype(np.float64)
    parts = zip(np.split(data, group, 1), np.split(weights, group, 0))
    sums = np.concatenate([np.tensordot(d, v, ((1, 4, 5), (1, 2, 3))) for d, v in parts], -1).astype(np.int64)
    return sums if bias is None else sums + bias.astype(np.int64)


def qlinear_conv(x, xq, w, wq, bias, yq, window, group=1):
    """requantize(sum of (x - zero_point) * (w - zero_point) + bias, output_scale).

    w [M, C / group, kh, kw]; bias int32 [M] or None. core/providers/cpu/quantization/qlinearconv.cc.
    """
    sums = convolution_sums(x, xq, w, wq, bias, window, group)
    return requantize(sums, output_scale(xq.scale, wq.scale, yq.scale), yq).transpose(0, 3, 1, 2)


def matmul_integer(a, a_zero_point, b, b_zero_point):
    """int32 sums, mod 2^32, of [..., K] x [K, N]: core/providers/cpu/quantization/matmul_integer.cc."""
    sums = centred(a, a_zero_point).astype(np.float64) @ centred(b, b_zero_point).astype(np.float64)
    return sums.astype(np.int64).astype(np.int32)


def qlinear_matmul(a, aq, b, bq, yq):
    """requantize(matmul_integer, output_scale): core/providers/cpu/quantization/quantize_linear_matmul.cc."""
    sums = matmul_integer(a, aq.zero_point, b, bq.zero_point).astype(np.int64)
    return requantize(sums, output_scale(aq.scale, bq.scale, yq.scale), yq)


def qgemm(a, aq, b, bq, bias, yq, alpha=1.0):
    """requantize(a x b + bias, ((alpha * a_scale) * b_scale) / y_scale). b [K, N] (after transB); bias int32 or None.

    yq None: the sums times (alpha * a_scale) * b_scale, float32. contrib_ops/cpu/quantization/quant_gemm.cc.
    """
    sums = matmul_integer(a, aq.zero_point, b, bq.zero_point).astype(np.int64)
    sums = sums if bias is None else sums + bias.astype(np.int64)
    scale = (F(alpha) * F(aq.scale)) * np.asarray(bq.scale, F)
    if yq is None:
        return sums.astype(F) * scale
    return requantize(sums, scale / F(yq.scale), yq)


def repeats_first(a_shape, b_shape):
    """Whether broadcasting repeats single values of the first tensor along the innermost dimension that is not 1."""
    length = max(len(a_shape), len(b_shape))
    a_shape, b_shape = ((1,) * (length - len(shape)) + tuple(shape) for shape in (a_shape, b_shape))
    sizes = [pair for pair in zip(a_shape, b_shape) if pair != (1, 1)]
    return not sizes or sizes[-1][0] == 1


def qlinear_add(a, aq, b, bq, yq, fma=True):
    """saturate(rint(fixed + b * rb + a * ra)), ra = a_scale / y_scale, rb = b_scale / y_scale, in float32;
    fixed = y_zero_point - (ra * a_zero_point + rb * b_zero_point). It rounds after the zero_point is added.

    With FMA each `+ p * q` is one operation, the terms are added in this order, and fixed has one too:
    y_zero_point - fma(ra, a_zero_point, rb * b_zero_point). Without, a comes first. a and b change their roles where
    a's values are repeated. contrib_ops/cpu/quantization/qlinear_binary_op.cc, core/mlas/lib/qladd.cpp (SSE2),
    core/mlas/lib/intrinsics/avx2/qladd_avx2.cpp.
    """
    if repeats_first(a.shape, b.shape):
        (a, aq), (b, bq) = (b, bq), (a, aq)
    repeated = repeats_first(b.shape, a.shape)
    ra, rb = F(aq.scale) / F(yq.scale), F(bq.scale) / F(yq.scale)
    za, zb, zy = F(aq.zero_point), F(bq.zero_point), F(yq.zero_point)
    a, b = a.astype(F), b.astype(F)
    if fma:
        fixed = zy - float32.multiply_add(ra, za, rb * zb)
        sums = float32.multiply_add(a, ra, float32.multiply_add(b, rb, fixed))
    else:
        fixed = zy - (ra * za + rb * zb)
        sums = (fixed + b * rb) + a * ra if repeated else (fixed + a * ra) + b * rb
    return saturated(np.rint(sums).astype(np.int64), yq.dtype)


def qlinear_mul(a, aq, b, bq, yq):
    """saturate(rint(float32(a' * b') * ((a_scale * b_scale) / y_scale) + y_zero_point)), a' and b' without their
    zero_points, each operation in float32: contrib_ops/cpu/quantization/qlinear_binary_op.cc, core/mlas/lib/qlmul.cpp."""
    scale = (F(aq.scale) * F(bq.scale)) / F(yq.scale)
    products = (centred(a, aq.zero_point) * centred(b, bq.zero_point)).astype(F)
    return saturated(np.rint(products * scale + F(yq.zero_point)).astype(np.int64), yq.dtype)


def qlinear_global_average_pool(x, xq, yq):
    """requantize(sum of (x - zero_point), x_scale / (y_scale * float32(H * W))): [N, C, 1, 1].

    contrib_ops/cpu/quantization/qlinear_global_average_pool.cc, core/mlas/lib/qlgavgpool.cpp.
    """
    sums = centred(x, xq.zero_point).sum((2, 3), keepdims=True)
    return requantize(sums, F(xq.scale) / (F(yq.scale) * F(x.shape[2] * x.shape[3])), yq)


def qlinear_average_pool(x, xq, yq, window, count_include_pad=False):
    """saturate(rint(mean / y_scale + y_zero_point)), mean = the float32 sum of the dequantized values, row by row
    from the upper left, divided by their number (count_include_pad: by the kernel's size), all in float32.

    A kernel as large as the picture without pads takes qlinear_global_average_pool instead.
    contrib_ops/cpu/quantization/qlinear_pool.cc.
    """
    if tuple(window.kernel) == x.shape[2:] and not any(window.pads):
        return qlinear_global_average_pool(x, xq, yq)
    values = windows(dequantize_linear(x, xq), window, F(0))
    inside = windows(np.ones((1, 1) + x.shape[2:], np.int64), window, 0)
    total = np.zeros(values.shape[:4], F)
    for row in range(window.kernel[0]):
        for column in range(window.kernel[1]):
            total = total + values[..., row, column]
    count = np.full_like(inside.sum((4, 5)), window.kernel[0] * window.kernel[1]) if count_include_pad \
        else inside.sum((4, 5))
    mean = total / count.astype(F)
    return saturated(np.rint(mean / F(yq.scale) + F(yq.zero_point)).astype(np.int64), yq.dtype)


def max_pool(x, window):
    """The largest byte; pads are absent. core/providers/cpu/nn/pool.cc: bytes are compared as they are."""
    return windows(x, window, limits(x.dtype)[0]).max((4, 5))


def row_sums(rows, lead):
    """Float32 sums of rows [R, n] in the order of four lanes; lead: how many values come before the lanes.

    Eight values a step into two groups of four lanes, the second group added to the first, a last group of four, then
    (lane 0 + lane 2) + (lane 1 + lane 3), the values before the lanes, the values after them. Fewer than four: in order.
    """
    count = rows.shape[1]
    lead = min(lead, count)
    lanes, pairs = (count - lead) // 4 * 4, (count - lead) // 8 * 8
    if lanes == 0:
        return functools.reduce(np.add, rows.T)
    groups = rows[:, lead:lead + lanes].reshape(len(rows), -1, 4).transpose(1, 0, 2)
    total = groups[0]
    if lanes > 4:
        total = functools.reduce(np.add, groups[:pairs // 4:2]) + functools.reduce(np.add, groups[1:pairs // 4:2])
        total = total + groups[-1] if lanes > pairs else total
    result = (total[:, 0] + total[:, 2]) + (total[:, 1] + total[:, 3])
    return functools.reduce(np.add, [*rows.T[:lead], *rows.T[lead + lanes:]], result)


def reduce_mean(values):
    """Float32 means over the last two dimensions of [N, C, H, W]: row_sums divided by H * W; [N, C].

    The lanes begin at a multiple of 16 bytes, so a channel's place in memory decides how many values come before them.
    core/providers/cpu/reduction/reduction_ops.cc (FastReduceKR), and Eigen's sum with SSE.
    """
    size = values.shape[2] * values.shape[3]
    rows = values.reshape(-1, size)
    sums = np.empty(len(rows), F)
    leads = -np.arange(len(rows)) * size % 4
    for lead in np.unique(leads):
        sums[leads == lead] = row_sums(rows[leads == lead], int(lead))
    return (sums / F(size)).reshape(values.shape[:2])
