"""What ONNX Runtime 1.30 computes for operators that map each byte alone, and for QLinearSoftmax, on x86.

A function of one variable is a table of 256 bytes, whatever kernel runs it: QLinearLeakyRelu and the like make such a
table, and in QDQ form the float operator gives the same values one by one. See operator_rules.py.
"""
import numpy as np

import float32
from operator_rules import F, dequantize_linear, limits, quantize_linear


def table_of(function, xq, yq):
    """256 bytes, by the bits of the input: quantize_linear(function(dequantize_linear(byte))).

    contrib_ops/cpu/quantization/qlinear_lookup_table.cc.
    """
    return quantize_linear(function(dequantize_linear(np.arange(256).astype(np.uint8).view(xq.dtype), xq)), yq)


def mapped(x, xq, yq, function):
    return table_of(function, xq, yq)[x.view(np.uint8)]


def qlinear_concat(tensors, yq, axis):
    """Each of [(x, xq), ...] as it is where scale and zero_point are the output's, else mapped by the identity.

    contrib_ops/cpu/quantization/qlinear_concat.cc.
    """
    parts = [x if F(xq.scale) == F(yq.scale) and xq.zero_point == yq.zero_point
             else mapped(x, xq, yq, lambda values: values) for x, xq in tensors]
    return np.concatenate(parts, axis)


def leaky_relu(alpha=0.01):
    """v where v >= 0, else alpha * v; alpha: PRelu's slopes too, of any shape that numpy repeats.
    contrib_ops/cpu/quantization/qlinear_activations.cc."""
    return lambda v: np.where(v >= 0, v, F(alpha) * v)


def relu(v):
    return np.maximum(v, F(0))


def clip(low, high):
    """Clip of a Relu6 and others: core/providers/cpu/math/clip.cc."""
    return lambda v: np.minimum(np.maximum(v, F(low)), F(high))


def hard_sigmoid(alpha=0.2, beta=0.5):
    """max(0, min(1, alpha * v + beta)), two roundings: core/providers/cpu/activation/activations.h."""
    return lambda v: np.maximum(np.minimum(F(alpha) * v + F(beta), F(1)), F(0))


def hard_swish(v):
    """v * hard_sigmoid(1 / 6, 0.5)(v): ONNX's definition of HardSwish, which ONNX Runtime expands."""
    return v * hard_sigmoid(1 / 6, 0.5)(v)


# Numerator and denominator of the logistic function less 1/2, odd and even powers of v from the highest: constants
# of Eigen's rational approximation, which ONNX Runtime names in core/mlas/lib/logistic.cpp.
ODD = (4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03, 2.48287947061529e-01)
EVEN = (6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06, 1.70198817374094e-03, 1.16817656904453e-01,
        9.93151921023180e-01)


def sigmoid(fma=True):
    """p(v) / q(v) + 1/2 in float32 by Horner's rule in v^2, v within -18 to 18, the result within 0 to 1.

    With FMA each step of Horner's rule is one operation: core/mlas/lib/logistic.cpp (SSE2),
    core/mlas/lib/x86_64/LogisticKernelFma3.S.
    """
    step = float32.multiply_add if fma else lambda a, b, c: a * b + c

    def polynomial(square, constants):
        value = F(constants[0])
        for constant in constants[1:]:
            value = step(square, value, F(constant))
        return value

    def function(v):
        v = np.clip(v, F(-18), F(18))
        quotient = v * polynomial(v * v, ODD) / polynomial(v * v, EVEN)
        return np.clip(quotient + F(0.5), F(0), F(1))
    return function


def qlinear_softmax(x, xq, yq):
    """Softmax of the last axis (opset 13) by a table of exponentials, float32.

    e[i] = float32(exp((i - 255 + s) * x_scale)), s = max(0, ln(greatest float32 / length) - 5) / x_scale, in float64.
    i is the byte (int8: + 128), moved so that the greatest of the row is 255. y = rint(e * floor(1 / y_scale) / sum) +
    y_zero_point, at most the type's greatest value; the sum is taken from the left. The product with 1 / y_scale is
    finite for a length from 1 / (148 * y_scale); below, the rule does not hold.
    contrib_ops/cpu/quantization/qlinear_softmax.cc.
    """
    length = x.shape[-1]
    shift = max(0.0, float(np.log(F(np.finfo(F).max) / F(length))) - 5) / float(xq.scale)
    table = np.exp((np.arange(256) - 255 + shift) * float(xq.scale)).astype(F)
    index = x.astype(np.int64)
    terms = table[index + 255 - index.max(-1, keepdims=True)]
    total = np.zeros(x.shape[:-1], F)
    for column in range(length):
        total = total + terms[..., column]
    y = np.rint(terms * np.floor(F(1) / F(yq.scale)) / total[..., np.newaxis]).astype(np.int64) + yq.zero_point
    return np.minimum(y, limits(yq.dtype)[1]).astype(yq.dtype)
