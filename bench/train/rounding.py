#!/usr/bin/env python3
"""What rounding toward zero costs against rounding half to even: the example of docs/reference/training.md.

usage: rounding.py [--values N] [--seed S]
Draws numbers, makes levels of them as qsim_quantize_levels does (float32, scale = max|x| / hi), and prints the errors.
Plain Python; needs no library.
"""
import argparse
import math
import random
import struct

ROUNDINGS = {"half_even": round, "toward_zero": math.trunc}


def float32(value):
    """The nearest float32. A quotient of two float32s that was rounded to float64 first is rounded right."""
    return struct.unpack("f", struct.pack("f", value))[0]


def scale_of(values, greatest_level):
    """max|x| / hi; 1 where all are zero."""
    largest = max(abs(value) for value in values)
    return max(float32(largest / greatest_level), 2.0**-126) if largest else 1.0


def levels(values, scale, bits, rounding):
    """Levels of the symmetric range of so many bits."""
    most = 2 ** (bits - 1) - 1
    return [max(-most, min(most, ROUNDINGS[rounding](float32(value / scale)))) for value in values]


def errors(values, scale, found):
    """(mean error in steps, mean error of the magnitude in steps, signal-to-quantization-noise ratio in dB)."""
    steps = [level - value / scale for value, level in zip(values, found)]
    mean = sum(steps) / len(steps)
    magnitude = sum(math.copysign(1, value) * step for value, step in zip(values, steps)) / len(steps)
    signal = sum((value / scale) ** 2 for value in values)
    return mean, magnitude, 10 * math.log10(signal / sum(step**2 for step in steps))


def show(values, seed):
    draw = random.Random(seed)
    normal = [float32(draw.gauss(0, 1)) for _ in range(values)]
    sets = {"normal": normal, "normal, after ReLU": [max(value, 0.0) for value in normal]}
    print("values              bits  rounding     mean error  of the magnitude  SQNR dB")
    for name, numbers in sets.items():
        for bits in (8, 4):
            scale = scale_of(numbers, 2 ** (bits - 1) - 1)
            for rounding in ROUNDINGS:
                mean, magnitude, ratio = errors(numbers, scale, levels(numbers, scale, bits, rounding))
                print(f"{name:18}  {bits:4}  {rounding:11}  {mean:10.4f}  {magnitude:16.4f}  {ratio:7.2f}")
    lost = sum(levels([value], scale_of([value], 127), 8, "toward_zero") != [int(math.copysign(127, value))]
               for value in normal if value)
    print(f"of {values:,} values as the greatest of their tensor, {lost:,} become 126 toward zero, "
          f"{sum(abs(levels([v], scale_of([v], 127), 8, 'half_even')[0]) != 127 for v in normal if v):,} half_even")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=int, default=40000)
    parser.add_argument("--seed", type=int, default=17)
    arguments = parser.parse_args()
    show(arguments.values, arguments.seed)


if __name__ == "__main__":
    main()
