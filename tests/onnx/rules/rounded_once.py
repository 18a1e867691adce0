"""What an accelerator would compute for the same operators: the exact sum of products with float32 factors, rounded
once, half to even, then the zero_point. count_differences.py --rounded-once says how far that is from ONNX Runtime.
"""
import numpy as np

import float32
import operator_rules as rules
from operator_rules import F, centred, saturated


def requantize(sums, scale, yq):
    """Of QLinearConv, QLinearMatMul, QGemm and QLinearGlobalAveragePool."""
    multiplier, shift = float32.dyadic(scale)
    return saturated(float32.shift_half_even(sums * multiplier, shift) + yq.zero_point, yq.dtype)


def qlinear_add(a, aq, b, bq, yq, fma=True):
    """Two factors, each a float32; their products with the centred bytes have 33 bits, so float64 is exact."""
    del fma
    ratios = (np.float64(F(q.scale) / F(yq.scale)) for q in (aq, bq))
    products = [centred(x, q.zero_point) * ratio for x, q, ratio in zip((a, b), (aq, bq), ratios)]
    return saturated(np.rint(products[0] + products[1]).astype(np.int64) + yq.zero_point, yq.dtype)


def qlinear_mul(a, aq, b, bq, yq):
    factor = np.float64((F(aq.scale) * F(bq.scale)) / F(yq.scale))
    products = centred(a, aq.zero_point) * centred(b, bq.zero_point)
    return saturated(np.rint(products * factor).astype(np.int64) + yq.zero_point, yq.dtype)


def qlinear_average_pool(x, xq, yq, window, count_include_pad=False):
    """The sum of the centred bytes times a float32 that depends on how many there are."""
    sums = rules.windows(centred(x, xq.zero_point), window, 0).sum((4, 5))
    inside = rules.windows(np.ones((1, 1) + x.shape[2:], np.int64), window, 0).sum((4, 5))
    count = np.full_like(inside, window.kernel[0] * window.kernel[1]) if count_include_pad else inside
    return requantize(sums, F(xq.scale) / (F(yq.scale) * count.astype(F)), yq)


RULES = (requantize, qlinear_add, qlinear_mul, qlinear_average_pool)
OPERATORS = ("QLinearConv", "QLinearMatMul", "QGemm", "QLinearAdd", "QLinearMul", "QLinearAveragePool",
             "QLinearGlobalAveragePool")
