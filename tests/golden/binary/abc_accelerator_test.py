#!/usr/bin/env python3
"""Binary networks as int8 layers of the accelerator. Skips (77) without PyTorch.

usage: abc_accelerator_test.py QSIM
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "models/train"))
SKIPPED = 77

try:
    import numpy as np
    import abc_accelerator as accelerator
    import abc_emulation
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

QSIM = pathlib.Path(sys.argv.pop(1)).resolve()


def random_layer(rng, inputs, outputs, pool, negative):
    """One base; `negative`: some gains and all betas are below 0."""
    signs = rng.choice([-1, 1], (2, 6, 6, 1, inputs)).astype(np.int8)
    bases = rng.choice([-1, 1], (outputs, 1, 3, 3, inputs)).astype(np.int8)
    alpha = rng.uniform(0.01, 0.1, (1, outputs)).astype(np.float32)
    beta = np.array([-0.4 if negative else 0.4], np.float32)
    gain = rng.uniform(-2 if negative else 0.1, 2, outputs).astype(np.float32)
    gain[0] = 0  # a constant bit
    shift = rng.uniform(-1, 1, outputs).astype(np.float32)
    v = np.array([rng.uniform(-0.6, 0.4)], np.float32)
    y = abc_emulation.convolve(signs.astype(np.float32), bases.astype(np.float32).transpose(0, 1, 4, 2, 3), alpha, beta)
    written = abc_emulation.quantize(y, gain, shift, v, pool).astype(np.int8)
    return signs, accelerator.BinaryLayer("layer", pool, bases, alpha, beta, gain, shift, v, written)


class AbcAccelerator(unittest.TestCase):
    def test_the_sign_as_a_clamp_gives_every_bit_of_the_float_network(self):
        seed = 20261123
        print(f"seed {seed}")
        rng = np.random.default_rng(seed)
        negated = 0
        for case in range(60):
            inputs = int(rng.integers(1, 9))
            signs, layer = random_layer(rng, inputs, 5, pool=case % 2 == 0, negative=case % 3 != 0)
            flips = rng.choice([-1, 1], inputs)
            integers, written = accelerator.sign_layer(layer, flips)
            _, found = accelerator.run_integers(integers, (signs[:, :, :, 0] * flips).astype(np.int8))
            self.assertLessEqual(set(np.unique(found)), {-1, 1}, "a sign is never 0")
            found = accelerator.max_pool(found) if layer.pool else found
            np.testing.assert_array_equal(found * written, layer.signs[:, :, :, 0])
            negated += int((written < 0).sum())
        self.assertGreater(negated, 20)

    def test_a_max_pool_of_falling_channels_is_refused_where_codes_have_an_order(self):
        _, layer = random_layer(np.random.default_rng(1), 4, 5, pool=True, negative=True)
        with self.assertRaisesRegex(ValueError, "negative gain"):
            accelerator.sum_layer(layer, 0.01, np.array([0.4], np.float32), 0.01)

    def test_codes_of_sums_are_near_to_the_sums(self):
        for count in range(1, 6):
            values = accelerator.sums_of(np.random.default_rng(count).uniform(0.1, 0.5, count))
            step = accelerator.best_step(values)
            self.assertLessEqual(np.abs(values / step).max(), 127.5)
            self.assertLess(np.abs(values - np.rint(values / step) * step).max(), np.abs(values).max() / 80)

    def written_trace(self, folder, bases):
        """The trained network's layer trace, and how much each layer differs."""
        signs, layers = accelerator.read_network(ROOT / f"models/abc-cifar10/abc{bases}")
        signs = signs[:1]
        for layer in layers:
            layer.signs = layer.signs[:1]
        return accelerator.write_trace(folder, f"abc{bases}", signs, layers)

    def verify(self, folder, config, engines):
        done = subprocess.run([QSIM, "verify", "--model", folder, "--config", config, "--engines", engines, "--quiet"],
                              capture_output=True, text=True, check=False, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"golden against the trace +1  ")
        self.assertIn(" 0 mismatches", done.stdout)

    def test_a_trained_network_of_one_base_has_the_float_networks_bits_on_every_engine(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.written_trace(folder, 1), [0] * 8)
            self.verify(folder, "pe16x16", "interpreter,systemc,rtl")
            self.verify(folder, "pe16x16_dyadic", "systemc")

    def test_a_trained_network_of_three_bases_runs_as_codes(self):
        with tempfile.TemporaryDirectory() as folder:
            differences = self.written_trace(folder, 3)
            self.assertLess(differences[0], 0.01)
            self.assertLess(max(differences), 0.25)
            self.verify(folder, "pe16x16_dyadic", "interpreter,systemc,rtl")


if __name__ == "__main__":
    unittest.main()
