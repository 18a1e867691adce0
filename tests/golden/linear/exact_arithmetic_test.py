#!/usr/bin/env python3
"""The weight-only linear layer against exact rational arithmetic: the definition of ADR 0016 in Fractions,
with roundings of its own, on files that NumPy writes.

usage: exact_arithmetic_test.py LINEAR_ON_FILES [SEED]
"""
import math
import pathlib
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np

NAN, INF = "nan", {1: "+inf", -1: "-inf"}
# significand bits, exponent of the smallest subnormal, exponent of the largest number
FORMATS = {"fp32": (24, -149, 127), "fp16": (11, -24, 15), "bf16": (8, -133, 127)}


def sign_of(value):
    return 1 if value > 0 else -1


def half_even(value):
    """A Fraction to the nearest integer, ties to even."""
    return round(value)  # Python's own definition for Fraction


def rounded(value, name):
    """A Fraction to the nearest number of a format, ties to even; a word beyond it; "-0" for a negative underflow."""
    bits, least, most = FORMATS[name]
    if value == 0:
        return Fraction(0)
    exponent = max(math.floor(math.log2(abs(value))) - bits + 2, least)
    while exponent > least and abs(value) < Fraction(2) ** (exponent + bits - 1):
        exponent -= 1
    while abs(value) >= Fraction(2) ** (exponent + bits):
        exponent += 1
    unit = Fraction(2) ** exponent
    result = half_even(value / unit) * unit
    if abs(result) >= Fraction(2) ** (most + 1):
        return INF[sign_of(value)]
    return result if result != 0 else "-0" if value < 0 else Fraction(0)


def exact(value):
    """A Fraction of a value that may be the word for -0."""
    return Fraction(0) if value == "-0" else value


def added(a, b, name="fp32"):
    """IEEE sum of a (rounded already, or exact) and b."""
    if NAN in (a, b) or (a in INF.values() and b in INF.values() and a != b):
        return NAN
    for value in (a, b):
        if value in INF.values():
            return value
    if a == "-0" and b == "-0":
        return "-0"
    return rounded(exact(a) + exact(b), name)


def times(a, b):
    """Exact product with a positive Fraction b."""
    return a if isinstance(a, str) else a * b


def step_of(row, dtype):
    if dtype == "fp16":
        return Fraction(1, 2 ** 24)
    finite = [abs(x) for x in row if not isinstance(x, str)]
    largest = max(finite, default=Fraction(0))
    exponent = -149
    while half_even(largest / Fraction(2) ** exponent) > 0x7F7F7F7F7F:
        exponent += 1
    return Fraction(2) ** exponent


def group_sum(row, step, weights):
    words = set()
    total = 0
    for x, weight in zip(row, weights):
        if not isinstance(x, str):
            total += half_even(x / step) * int(weight)
        elif x == NAN or weight == 0:
            words.add(NAN)
        else:
            words.add(INF[sign_of(int(weight)) * (1 if x == "+inf" else -1)])
    if words:
        return words.pop() if len(words) == 1 else NAN
    return rounded(Fraction(total), "fp32")


def linear(row, step, weights, scales, group, bias, y_dtype):
    total = Fraction(0)
    for index, scale in enumerate(scales):
        part = slice(index * group, (index + 1) * group)
        total = added(total, times(group_sum(row[part], step, weights[part]), Fraction(float(scale))))
    result = total if isinstance(total, str) else rounded(total * step, "fp32")
    if bias is not None:
        result = added(result, Fraction(float(bias)))
    return result if isinstance(result, str) else rounded(result, y_dtype)


LEAST_SCALE = Fraction(1, 2 ** 126)


def int8_row(row, static_scale):
    """The scale and the codes of a row of x."""
    finite = [abs(x) for x in row if not isinstance(x, str)]
    largest = max(finite, default=Fraction(0))
    scale = Fraction(1) if largest == 0 else max(exact(rounded(largest / 127, "fp32")), LEAST_SCALE)
    if static_scale is not None:
        scale = Fraction(static_scale)
    codes = []
    for x in row:
        if isinstance(x, str):
            codes.append({NAN: 0, "+inf": 127, "-inf": -127}[x])
            continue
        quotient = rounded(x / scale, "fp32")
        if quotient in INF.values():
            codes.append(127 if x > 0 else -127)
        else:
            codes.append(max(-127, min(127, half_even(exact(quotient)))))
    return scale, codes


def int8_linear(row, weights, weight_scale, bias, y_dtype):
    scale, codes = row
    result = rounded(Fraction(sum(code * int(weight) for code, weight in zip(codes, weights))), "fp32")
    for factor in (Fraction(float(weight_scale)), scale):
        if not isinstance(result, str):
            result = rounded(result * factor, "fp32")
    if bias is not None:
        result = added(result, Fraction(float(bias)))
    return result if isinstance(result, str) else rounded(result, y_dtype)


def fraction(value):
    value = float(value)
    if math.isnan(value):
        return NAN
    return INF[sign_of(value)] if math.isinf(value) else Fraction(value)


def floats(bits, dtype):
    """The numbers of an array of bits."""
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view({"fp32": np.float32, "fp16": np.float16}[dtype])


def word(value):
    value = float(value)
    return "-0" if value == 0 and math.copysign(1, value) < 0 else fraction(value)


def random_x(random, dtype, shape, kind):
    unsigned = np.uint32 if dtype == "fp32" else np.uint16
    if kind == "any":
        return random.integers(0, 2 ** (32 if dtype == "fp32" else 16), shape).astype(unsigned)
    values = random.standard_normal(shape) * 10.0 ** random.integers(-4, 4, shape)
    if kind == "large":
        values = np.full(shape, 65504.0) if dtype == "fp16" else np.full(shape, 3e38)
    if kind == "small":
        values = random.standard_normal(shape) * (1e-7 if dtype == "fp16" else 1e-44)
    if kind == "tie":  # 2^24 and 1 or 3; FP16: 2^11 and 2^-13 or 3 * 2^-13
        values = np.zeros(shape)
        values[:, :2] = [[1, 2.0 ** -24], [1, 3 * 2.0 ** -24]]
        values *= 2.0 ** (11 if dtype == "fp16" else 24)
    if kind == "steps":  # the largest significand there is, and numbers of a few steps beside it
        values = random.integers(-9, 10, shape) * 2.0 ** (-24 if dtype == "fp16" else -38)
        values[:, 0] = 0xFFFFFF * 2.0 ** -23
    values = values.astype(np.float16 if dtype == "fp16" else np.float32)
    if dtype == "bf16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.view(unsigned)


def check(program, folder, random, case):
    dtype, y_dtype, kind, k, n, m, group, has_bias = case
    is_int8 = group == "int8"
    static_scale = float(np.float32(10.0 ** random.uniform(-3, 3))) if is_int8 and random.integers(2) else None
    group = 0 if is_int8 else group
    x = random_x(random, dtype, (m, k), kind)
    weights = random.integers(-127, 128, (n, k)).astype(np.int8)
    weights[random.random((n, k)) < 0.05] = 0
    if n > 1:
        weights[1] = 0
    if kind == "tie":
        weights[:, :2] = 1
    if kind == "steps":
        weights[:, 0] = 0
    groups = 1 if group == 0 else math.ceil(k / group)
    scales = (2.0 ** random.uniform(-12, 2, (n, groups))).astype(np.float32)
    bias = random.standard_normal(n).astype(np.float32)
    typed = {"fp32": np.float32, "fp16": np.float16, "bf16": np.uint16}
    np.save(folder / "x.npy", x.view(typed[dtype]))
    for name, array in (("w", weights), ("s", scales), ("b", bias)):
        np.save(folder / f"{name}.npy", array)
    found = {}
    for path in ("reference_int8", "packed_int8") if is_int8 else ("reference", "packed"):
        subprocess.run([program, "x.npy", "w.npy", "s.npy", "b.npy" if has_bias else "-", str(group), y_dtype, path,
                        "y.npy"] + ([] if static_scale is None else [repr(static_scale)]), cwd=folder, check=True)
        found[path] = floats(np.load(folder / "y.npy"), y_dtype)
    faults = 0
    for i in range(m):
        row = [fraction(value) for value in floats(x[i], dtype)]
        step = step_of(row, dtype)
        coded = int8_row(row, static_scale)
        for j in range(n):
            added_bias = bias[j] if has_bias else None
            expected = int8_linear(coded, weights[j], scales[j][0], added_bias, y_dtype) if is_int8 else \
                linear(row, step, weights[j], scales[j], group or k, added_bias, y_dtype)
            for path, y in found.items():
                if word(y[i][j]) != expected:
                    print(f"{case}, {path}: y[{i}, {j}] is {y[i][j]!r}; expected {expected}")
                    faults += 1
    return m * n, faults


def cases(random):
    types = ("fp32", "fp16", "bf16")
    for dtype in types:
        for kind in ("near", "any", "large", "small", "tie", "steps"):
            for k in (32, 33, 127, 1000):
                yield dtype, str(random.choice((dtype, "fp32"))), kind, k, 5, 2, int(random.choice((0, 32, 64, 128))), \
                    bool(random.integers(2))
                yield dtype, str(random.choice((dtype, "fp32"))), kind, k, 5, 2, "int8", bool(random.integers(2))
        yield dtype, dtype, "near", 8192, 2, 1, 0, True
        yield dtype, "fp32", "large", 8191, 2, 1, 128, False
        yield dtype, "fp32", "any", 1, 1, 3, 0, False
        yield dtype, dtype, "near", 8192, 2, 1, "int8", True
        yield dtype, "fp32", "any", 1, 1, 3, "int8", False


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    random = np.random.default_rng(seed)
    values = faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(random):
            count, wrong = check(program, pathlib.Path(folder), random, case)
            values += count
            faults += wrong
    print(f"seed {seed}: {values} values, {faults} wrong")
    return 1 if faults or values < 400 else 0


if __name__ == "__main__":
    sys.exit(main())
