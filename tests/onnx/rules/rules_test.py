"""The rules of tools/ort give ONNX Runtime's bytes, on this processor and on two that qemu-user emulates where it is
there: Haswell (FMA, no VNNI) and Nehalem (neither). float32.py is compared with fractions, which do not round.

usage: rules_test.py ORT_DIR
"""
import fractions
import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np
import onnx
from onnx import helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools/ort"))
sys.path.insert(0, str(HERE.parents[1] / "emulated"))
import emulator  # noqa: E402
import exact_session  # noqa: E402
import float32  # noqa: E402
import table_rules  # noqa: E402

PYTHON = pathlib.Path(sys.argv[1]) / "bin/python"
FMA = " fma " in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf8")
SEED = 11
F = np.float32


def counted(words, options=()):
    """Exit code and output of count_differences.py; words: what runs it."""
    # numpy 1.24's AVX2 functions crash in QEMU 7.2.
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"} if words else None
    done = subprocess.run([*words, PYTHON, "-B", HERE / "count_differences.py", *options], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf8", check=False)
    print(*words, done.stdout, done.stderr.replace("qemu-x86_64: warning:", "qemu:"), sep="\n")
    return done.returncode, done.stdout


def rounded(value, bits=24):
    """A Fraction to `bits` bits, half to even; a Fraction again."""
    if value == 0:
        return value
    unit = fractions.Fraction(2) ** (len(bin(int(abs(value) * 2 ** 200))) - 2 - 200 - bits)
    return round(value / unit) * unit


class Rules(unittest.TestCase):
    def test_onnx_runtime_gives_the_rules_values_on_this_processor(self):
        code, text = counted([], [] if FMA else ["--no-fma"])
        self.assertEqual(code, 0)
        self.assertEqual(text.count(" 0 differ  equal"), 21)

    @emulator.needs_emulator
    def test_onnx_runtime_gives_the_rules_values_without_vnni(self):
        self.assertEqual(counted(emulator.words_on("Haswell"), ["--cases", "6"])[0], 0)

    @emulator.needs_emulator
    def test_onnx_runtime_gives_the_rules_values_without_fma(self):
        self.assertEqual(counted(emulator.words_on("Nehalem"), ["--cases", "6", "--no-fma"])[0], 0)

    def test_fma_changes_values_of_add(self):
        code, text = counted([], ["--no-fma", "QLinearAdd"])
        self.assertEqual(code, 1)
        self.assertRegex(text, "by [+-]1")


    def test_sigmoid_equals_that_of_float32_bit_for_bit(self):
        # Bytes hide most of its bits: ONNX Runtime's float operator has the same kernel.
        values = np.random.default_rng(SEED).uniform(-20, 20, (1, 20001)).astype(F)
        shape = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, values.shape)
        result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
        graph = helper.make_graph([helper.make_node("Sigmoid", ["x"], ["y"])], "one", [shape], [result])
        model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 14)])
        found = exact_session.open_plain_session(model).run(None, {"x": values})[0]
        np.testing.assert_array_equal(found, table_rules.sigmoid(FMA)(values))


class Float32(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(SEED)

    def scales(self, count):
        return (2.0 ** self.random.uniform(-30, 3, count)).astype(F)

    def test_multiply_add_rounds_once(self):
        a, b, c = (self.random.normal(0, 300, 4000).astype(F) for _ in range(3))
        # Sums that cancel, and addends near half of the product's last place.
        c[:1000] = -(a * b)[:1000]
        c[1000:2000] = (a * b)[1000:2000] * F(2.0 ** -24)
        # Products halfway between two float32; far below float64's last place, c decides.
        a[2000:3000] = b[2000:3000] = 1 + 2.0 ** -12
        c[2000:3000] = self.random.choice([-1, 1], 1000) * 2.0 ** self.random.integers(-90, -60, 1000)
        fused = float32.multiply_add(a, b, c)
        for i, found in enumerate(fused):
            exact = fractions.Fraction(float(a[i])) * fractions.Fraction(float(b[i])) + fractions.Fraction(float(c[i]))
            self.assertEqual(fractions.Fraction(float(found)), rounded(exact), i)
        self.assertGreater(np.count_nonzero(fused != a * b + c), 500)

    def test_the_integer_requantizer_equals_float32_arithmetic(self):
        sums = np.concatenate([self.random.integers(-2 ** 31, 2 ** 31, 300000),
                               self.random.integers(-2 ** 24, 2 ** 24, 300000), np.arange(-3000, 3000)])
        scales = self.scales(sums.size)
        expected = np.rint(sums.astype(F) * scales)
        near = np.abs(expected) < 2 ** 31
        found = float32.scaled_to_integer(sums, scales)
        np.testing.assert_array_equal(found[near], expected[near].astype(np.int64))
        self.assertGreater(np.unique(found).size, 10000)
        self.assertTrue((np.sign(found[~near]) == np.sign(expected[~near])).all())
        self.assertTrue((np.abs(found[~near]) >= 2 ** 23).all())

    def test_one_rounding_differs_by_one_and_only_near_a_tie(self):
        sums = self.random.integers(-2 ** 26, 2 ** 26, 2000000)
        # Outputs of up to 300 in absolute value.
        scales = (300 * self.random.uniform(0.1, 1, sums.size) / 2 ** 26).astype(F)
        multiplier, shift = float32.dyadic(scales)
        once = float32.shift_half_even(sums * multiplier, shift)
        twice = float32.scaled_to_integer(sums, scales)
        differ = np.flatnonzero(once != twice)
        print(f"one rounding differs in {differ.size} of {sums.size} values")
        self.assertGreater(differ.size, 0)
        self.assertEqual(set(np.abs(once - twice)[differ]), {1})
        for i in differ:
            exact = fractions.Fraction(int(sums[i])) * fractions.Fraction(float(scales[i]))
            distance = abs(abs(exact - (exact.numerator // exact.denominator)) - fractions.Fraction(1, 2))
            # Each of the two roundings to 24 bits moves the value by at most 2^-24 of itself.
            self.assertLessEqual(distance, abs(exact) * fractions.Fraction(2 ** 24 * 2 + 1, 2 ** 48))


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
