"""The definitions of the kernels in numpy, for tests: docs/reference/kernels.md."""
from fractions import Fraction

import numpy as np

LARGEST = {"fp8_e4m3": 448, "fp8_e5m2": 57344, "fp4_e2m1": 6, "int8": 127, "int4": 7}
FORMATS = {"fp8_e4m3": (4, 3), "fp8_e5m2": (5, 2), "fp4_e2m1": (2, 1)}


def float_table(name):
    """The numbers of the codes from 0 to the largest finite one."""
    exponent_bits, mantissa_bits = FORMATS[name]
    bias = 2 ** (exponent_bits - 1) - 1
    numbers = []
    for code in range(2 ** (exponent_bits + mantissa_bits)):
        exponent, mantissa = code >> mantissa_bits, code & (2 ** mantissa_bits - 1)
        if exponent == 0:
            number = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        else:
            number = (2 ** mantissa_bits + mantissa) * 2.0 ** (exponent - bias - mantissa_bits)
        numbers.append(number)
        if number == LARGEST[name]:
            return np.array(numbers)
    raise AssertionError(name)


def encoded(values, name):
    """Codes of finite float32 numbers: to nearest, ties to the even code, saturating; zeros keep their sign."""
    table = float_table(name)
    magnitude = np.abs(values.astype(np.float64))
    above = np.clip(np.searchsorted(table, magnitude), 1, len(table) - 1)
    low, high = magnitude - table[above - 1], table[above] - magnitude
    up = (high < low) | ((high == low) & (above % 2 == 0))
    code = np.where(up, above, above - 1)
    sign_bit = 1 + sum(FORMATS[name])
    return (code | (np.signbit(values).astype(np.int64) << (sign_bit - 1))).astype(np.uint8)


def decoded(codes, name):
    """The numbers of codes."""
    table = float_table(name)
    bits = sum(FORMATS[name])
    sign = np.where(codes >> bits & 1, -1.0, 1.0)
    return (sign * table[codes & (2 ** bits - 1)]).astype(np.float32)


def quantized(x, name, group):
    """(codes or integers, scales) of finite float16 numbers [rows, K] with float32 scales."""
    rows, columns = x.shape
    groups = -(-columns // group)
    scales = np.ones((rows, groups), np.float32)
    codes = np.zeros(x.shape, np.int8 if name.startswith("int") else np.uint8)
    for row in range(rows):
        for g in range(groups):
            part = slice(g * group, min((g + 1) * group, columns))
            values = x[row, part].astype(np.float32)
            largest = np.abs(values).max()
            if largest != 0:
                scales[row, g] = np.maximum(largest / np.float32(LARGEST[name]), np.float32(2.0 ** -126))
            quotient = values / scales[row, g]
            if name.startswith("int"):
                codes[row, part] = np.clip(np.rint(quotient), -LARGEST[name], LARGEST[name])
            else:
                codes[row, part] = encoded(quotient, name)
    return codes, scales


def dequantized(codes, scales, name, group):
    """float16 of number times scale."""
    numbers = codes.astype(np.float32) if name.startswith("int") else decoded(codes, name)
    return (numbers * np.repeat(scales, group, axis=1)[:, :codes.shape[1]]).astype(np.float16)


def nibbles(values):
    """Integers [rows, K] two a byte, the first in the low nibble."""
    padded = np.pad(values.astype(np.int64), ((0, 0), (0, values.shape[1] % 2))) & 15
    return (padded[:, ::2] | padded[:, 1::2] << 4).astype(np.uint8)


def nearest_float32(fraction):
    """A fraction as float32, rounded once: to nearest, ties to even. Of normal results."""
    if fraction == 0:
        return np.float32(0)
    exponent = 0
    magnitude = abs(fraction)
    while magnitude >= 2 ** 24:
        magnitude /= 2
        exponent += 1
    while magnitude < 2 ** 23:
        magnitude *= 2
        exponent -= 1
    floor = magnitude.numerator // magnitude.denominator
    rest = magnitude - floor
    floor += int(rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1))
    number = np.ldexp(np.float64(floor), exponent)
    return np.float32(-number if fraction < 0 else number)


def linear(x, values, scales):
    """float32 y of float16 x, integer weights and one scale a channel (ADR 0016)."""
    y = np.zeros((x.shape[0], values.shape[0]), np.float32)
    for m in range(x.shape[0]):
        exact = [Fraction(float(number)) for number in x[m]]
        for n in range(values.shape[0]):
            total = sum(number * int(weight) for number, weight in zip(exact, values[n]))
            # In steps of 2^-24, rounded to float32, times scale, back.
            rounded = nearest_float32(total * 2 ** 24)
            y[m, n] = np.float32(rounded * scales[n]) * np.float32(2.0 ** -24)
    return y


def pad(picture, pads, value):
    """[B, H, W, C] with pads of a value."""
    return np.pad(picture, ((0, 0), (pads, pads), (pads, pads), (0, 0)), constant_values=value)


def windows(picture, kernel, stride):
    """[B, OH, OW, kernel, kernel, C] of a padded picture."""
    view = np.lib.stride_tricks.sliding_window_view(picture, (kernel, kernel), axis=(1, 2))
    return view[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)


def conv2d_int8(x, w, scales, bias, stride, pads, x_zero_point, y_zero_point):
    """int8 y [B, OH, OW, O] with ONNX Runtime's rounding: both products in float32."""
    inside = windows(pad(x.astype(np.int64) - x_zero_point, pads, 0), w.shape[1], stride)
    sums = np.tensordot(inside, w.astype(np.int64), axes=([3, 4, 5], [1, 2, 3])) + bias
    levels = np.rint(sums.astype(np.float32) * scales).astype(np.int64) + y_zero_point
    return np.clip(levels, -128, 127).astype(np.int8)


def words(bits):
    """Booleans [..., C] as int64 words of 64 channels."""
    channels = bits.shape[-1]
    padded = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, -channels % 64)])
    octets = np.packbits(padded, axis=-1, bitorder="little")
    return octets.view(np.int64)
