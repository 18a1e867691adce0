#!/usr/bin/env python3
"""`qsim golden convert` against exact rational arithmetic: the definition of docs/reference/kernels.md in
Fractions, with formats, roundings and Philox of its own, on files that NumPy writes and reads.

usage: golden_convert_exact_test.py QSIM [SEED]
"""
import bisect
import pathlib
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np


def floats(exponent_bits, mantissa_bits, count):
    """The finite numbers of a format from 0 on, by code."""
    numbers = []
    for code in range(count):
        field, fraction = code >> mantissa_bits, code % 2 ** mantissa_bits
        significand = fraction + (2 ** mantissa_bits if field else 0)
        numbers.append(significand * Fraction(2) ** (max(field, 1) - 2 ** (exponent_bits - 1) + 1 - mantissa_bits))
    return numbers


E4M3 = floats(4, 3, 127)
# name: numbers from 0 on by code, sign bit, code of NaN
FLOATS = {"fp8_e4m3": (E4M3, 0x80, 0x7F), "fp8_e5m2": (floats(5, 2, 124), 0x80, 0x7F),
          "fp4_e2m1": (floats(2, 1, 8), 8, 7)}
LARGEST = {"int8": 127, "int4": 7}
PRESETS = {"mxfp8": ("fp8_e4m3", 32, "ue8m0"), "mxfp8_e5m2": ("fp8_e5m2", 32, "ue8m0"),
           "mxfp4": ("fp4_e2m1", 32, "ue8m0"), "nvfp4": ("fp4_e2m1", 16, "e4m3")}


def floor_log2(value):
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= value else exponent - 1


def rn32(value):
    if value == 0:
        return Fraction(0)
    unit = Fraction(2) ** max(floor_log2(abs(value)) - 23, -149)
    return round(value / unit) * unit  # Python rounds ties to even


def philox(index, seed):
    c, k = [index // 4 % 2 ** 32, index // 4 >> 32, 0, 0], [seed % 2 ** 32, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second % 2 ** 32, first >> 32 ^ c[3] ^ k[1], first % 2 ** 32]
        k = [(k[0] + 0x9E3779B9) % 2 ** 32, (k[1] + 0xBB67AE85) % 2 ** 32]
    return c[index % 4]


def rounded(steps, word):
    """A number that is not negative to an integer."""
    return round(steps) if word is None else int(steps) + (int((steps - int(steps)) * 2 ** 32) + word >= 2 ** 32)


def float_code(value, numbers, word=None):
    if value >= numbers[-1]:
        return len(numbers) - 1
    code = bisect.bisect_right(numbers, value) - 1
    step = numbers[code + 1] - numbers[code]
    rest = (value - numbers[code]) / step
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and code % 2) if word is None else rounded(rest, word)
    return code + int(up)


def group_scale(amax, case, largest, tensor_amax):
    """(scale, what the file has) of a group without zero_point."""
    if case["scales"] == "fp32":
        scale = max(rn32(amax / largest), Fraction(2) ** -126) if amax else Fraction(1)
        return scale, scale
    if case["scales"] == "ue8m0":
        if not amax:
            return Fraction(1), 127
        if case["rounding"] == "floor":
            power = floor_log2(amax) - floor_log2(Fraction(largest))
        else:
            quotient = rn32(amax / largest)
            power = floor_log2(quotient)
            rest = quotient / Fraction(2) ** power
            power += rest > 1 if case["rounding"] == "ceil" else rest >= Fraction(3, 2)
        return Fraction(2) ** max(power, -127), max(power, -127) + 127
    whole = rn32(tensor_amax / (448 * largest)) if tensor_amax else Fraction(1)
    code = max(float_code(rn32(rn32(amax / largest) / whole), E4M3), 1) if amax else 0x38
    return rn32(E4M3[code] * whole), code


def bounded(values, case):
    """The finite numbers of a group that count for its scale, limited to its clip magnitude."""
    finite = [Fraction(float(x)) for x in values if np.isfinite(x)]
    if not finite:
        return [Fraction(0)]
    rank = -(-len(finite) * case["percentile"] // 10 ** 6)
    bound = min(sorted(map(abs, finite))[rank - 1], case["clip"])
    return [max(min(x, bound), -bound) for x in finite]


def code_of(x, scale, zero_point, case, word):
    to = case["to"]
    if to in FLOATS:
        numbers, sign, nan = FLOATS[to]
        if np.isnan(x):
            return nan
        code = len(numbers) - 1 if np.isinf(x) else float_code(rn32(abs(Fraction(float(x))) / scale), numbers, word)
        return code | (sign if np.signbit(x) else 0)
    most = LARGEST[to]
    least = -most - 1 if case["zero_point"] else -most
    if np.isnan(x):
        level = 0
    else:
        level = 1024 if np.isinf(x) else rounded(rn32(abs(Fraction(float(x))) / scale), word)
        level = -level if np.signbit(x) else level
    return min(max(level + zero_point, least), most) & (255 if to == "int8" else 15)


def expected(x, case):
    largest = LARGEST[case["to"]] if case["to"] in LARGEST else FLOATS[case["to"]][0][-1]
    size = {"token": x.shape[1], "tensor": x.shape[1]}.get(case["group"]) or int(case["group"])
    starts = range(0, x.shape[1], size)
    numbers = {(r, c): bounded(x[r, c:c + size], case) for r in range(x.shape[0]) for c in starts}
    if case["group"] == "tensor":
        numbers = {key: bounded(x.reshape(-1), case) for key in numbers}
    tensor_amax = max(max(map(abs, group)) for group in numbers.values())
    codes, scales, zero_points = np.zeros(x.shape, np.uint8), [], []
    for (r, c), group in numbers.items():
        zero_point = 0
        if case["zero_point"]:
            steps, least = (255, -128) if case["to"] == "int8" else (15, -8)
            lo, hi = min(group + [Fraction(0)]), max(group + [Fraction(0)])
            scale = rn32(rn32(hi / steps) - rn32(lo / steps)) or Fraction(1)
            zero_point = min(max(least - round(rn32(lo / scale)), least), -least - 1) if lo or hi else 0
            kept = scale
        else:
            scale, kept = group_scale(max(map(abs, group)), case, largest, tensor_amax)
        scales.append(kept)
        zero_points.append(zero_point)
        for col in range(c, min(c + size, x.shape[1])):
            word = philox(r * x.shape[1] + col, case["seed"]) if case["stochastic"] else None
            codes[r, col] = code_of(x[r, col], scale, zero_point, case, word)
    if case["group"] == "tensor":
        scales, zero_points = scales[:1], zero_points[:1]
    return codes, scales, zero_points


def packed(codes, to):
    if to not in ("int4", "fp4_e2m1"):
        return codes
    even = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)))
    return even[:, ::2] | even[:, 1::2] << 4


def random_case(rng):
    case = {"to": rng.choice(list(FLOATS) + list(LARGEST)), "group": rng.choice(["16", "48", "128", "token", "tensor"]),
            "scales": rng.choice(["fp32", "ue8m0", "e4m3"]), "rounding": rng.choice(["floor", "ceil", "half_up"]),
            "preset": rng.choice(list(PRESETS) + [None] * 6), "stochastic": rng.random() < 0.3,
            "seed": rng.randrange(2 ** 64), "zero_point": False, "column": rng.random() < 0.3,
            "clip": Fraction(rng.choice([1, 2, 65504, 65504])), "percentile": rng.choice([10 ** 6, 10 ** 6, 900000])}
    if case["preset"]:
        case["to"], group, case["scales"] = PRESETS[case["preset"]]
        case["group"], case["rounding"] = str(group), "floor"
    elif case["to"] in LARGEST and rng.random() < 0.5:
        case["zero_point"], case["scales"] = True, "fp32"
    return case


def arguments(case):
    words = ["--clip", str(int(case["clip"])), "--clip-percentile", str(case["percentile"] // 10000)]
    words += ["--seed", str(case["seed"])]
    if case["preset"]:
        words += ["--preset", case["preset"]]
    else:
        words += ["--to", case["to"], "--group", case["group"], "--scales", case["scales"]]
        # An option that would do nothing is refused.
        words += ["--scale-rounding", case["rounding"]] if case["scales"] == "ue8m0" else []
    words += ["--scale-order", "column"] if case["column"] else []
    return words + [f"--{name.replace('_', '-')}" for name in ("zero_point", "stochastic") if case[name]]


def check(qsim, rng, folder):
    case = random_case(rng)
    shape = (rng.randint(1, 4), rng.randint(1, 150))
    spread = rng.choice([0.01, 1, 3])
    x = np.array([rng.gauss(0, 1) * 2 ** rng.gauss(0, spread) for _ in range(shape[0] * shape[1])])
    x = x.astype(np.float16).reshape(shape)
    for _ in range(rng.choice([0, 0, 3])):
        x[rng.randrange(shape[0]), rng.randrange(shape[1])] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 6e-8])
    np.save(folder / "x.npy", x)
    subprocess.run([qsim, "golden", "convert", "--input", "x.npy", "--out", "q.npy", "--out-scales", "s.npy",
                    "--out-zero-points", "z.npy", "--quiet", "--threads", "1", *arguments(case)],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
    codes, scales, zero_points = expected(x, case)
    found = np.load(folder / "q.npy").view(np.uint8)
    assert np.array_equal(found, packed(codes, case["to"])), f"codes of {case} {shape}"
    kept = np.load(folder / "s.npy")
    kept = (kept.T if case["column"] and kept.ndim == 2 else kept).reshape(-1)
    assert [Fraction(float(scale)) for scale in kept] == scales, f"scales of {case} {shape}"
    if case["zero_point"]:
        kept = np.load(folder / "z.npy")
        kept = (kept.T if case["column"] and kept.ndim == 2 else kept).reshape(-1)
        assert kept.tolist() == zero_points, f"zero_points of {case} {shape}"
    return len(np.unique(found))


def main():
    qsim = str(pathlib.Path(sys.argv[1]).resolve())
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    print(f"seed {seed}")
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        different = [check(qsim, rng, pathlib.Path(folder)) for _ in range(120)]
    assert max(different) > 50, "the codes hardly differ"
    print(f"{len(different)} conversions equal exact arithmetic")


if __name__ == "__main__":
    main()
