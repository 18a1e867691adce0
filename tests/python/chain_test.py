"""QuantizedSequential: its bits are those of a second statement, its gradients those of float64 within their bound."""
import copy
import fractions
import math
import os
import random
import unittest

import numpy as np
import torch

import chain_maker
import chain_restated
import qsim
import qsim.torch as qt
from qsim._chain import levels
from qsim._training import calls

nn = torch.nn
SEED = int(os.environ.get("QSIM_CHAIN_SEED", "20261123"))
CASES = int(os.environ.get("QSIM_CHAIN_CASES", "24"))
ROUND = 2.0 ** -8  # half a step of bfloat16, relative


def small_chain(**options):
    torch.manual_seed(SEED)
    return qt.QuantizedSequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                  qt.Residual([nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)]),
                                  nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5), **options)


class RandomChains(unittest.TestCase):
    def chains(self):
        """(a name, a chain, its options for the second statement, an input) of each case."""
        for case in range(CASES):
            name = f"seed {SEED + case}"
            draw = random.Random(SEED + case)
            torch.manual_seed(SEED + case)
            maker, options = chain_maker.Maker(draw), chain_maker.options_of(draw)
            chain = qt.QuantizedSequential(*maker.layers(), **options)
            with self.subTest(name, layers=str(chain), **options):
                yield chain, chain_maker.restating(options), torch.randn(draw.randint(2, 5), *maker.input_shape)

    def step(self, chain, options, x, **more):
        """(y, the second statement after one pass): both draw the same random numbers."""
        stated = chain_restated.Restated(chain, **options, **more)
        torch.manual_seed(7)
        expected = stated(x)
        torch.manual_seed(7)
        return chain(x), expected, stated

    def test_training_steps_and_eval_equal_the_second_statement(self):
        varied = 0
        for chain, options, x in self.chains():
            for scale in (1.0, 1.5, 0.5):
                y, expected, stated = self.step(chain, options, x * scale)
                self.assertTrue(torch.equal(y, expected))
                self.assertTrue(torch.equal(chain.levels_scale, stated.scales))
                self.assertTrue(torch.equal(chain.levels_state, stated.state))
                varied += len(torch.unique(y))
                for found, known in zip(chain.buffers(), stated.chain.buffers()):
                    if found.dtype is torch.float32 and found.dim() == 1 and found is not chain.levels_scale:
                        torch.testing.assert_close(found, known, rtol=1e-6, atol=1e-6)
            chain.eval()
            y, expected, _ = self.step(chain, options, x)
            self.assertTrue(torch.equal(y, expected))
            with torch.no_grad():
                self.assertTrue(torch.equal(chain(x), expected))
        self.assertGreater(varied, 30 * CASES)

    def test_gradients_are_those_of_float64_within_the_bound(self):
        """Each gradient's sum of terms has three roundings to bfloat16 a step; the terms' absolute values bound what they do."""
        largest = 0.0
        for chain, options, x in self.chains():
            if CASES > 1 and random.Random(str(chain)).random() < 0.3:
                chain(x)
                chain.eval()
            before = copy.deepcopy(chain)
            given = x.clone().requires_grad_()
            y, _, stated = self.step(chain, options, given)
            dy = torch.randn_like(y)
            y.backward(dy)
            torch.manual_seed(7)
            bounds = chain_restated.Restated(before, **options, absolute=True)
            bounds(x)
            stated.y.backward(dy.double())
            bounds.y.backward(dy.double().abs())
            parameters = [one for step in chain._plan.convolutions() for one in step.parameters()]
            share = (1 + ROUND) ** (3 * stated.steps + 2) - 1
            for one, exact, bound in [(given, stated.x, bounds.x),
                                      *[trio for trio in zip((p for p in parameters if p is not None),
                                                             (p for p in stated.parameters if p is not None),
                                                             (p for p in bounds.parameters if p is not None))]]:
                error, limit = (one.grad.double() - exact.grad).abs(), share * bound.grad.abs() + 1e-30
                self.assertTrue(bool((error <= limit + 2e-6 * bound.grad.abs().max()).all()), (error / limit).max())
                norm = float(exact.grad.norm())
                if norm > 0.1 * float(bound.grad.norm()):
                    largest = max(largest, float(error.norm()) / norm)
        self.assertLess(largest, 0.1)
        self.assertGreater(largest, 1e-4)


def nearest(exact):
    """The float32 nearest to a Fraction, of two the even one."""
    middle = np.float32(float(exact))
    around = [np.nextafter(middle, np.float32(-np.inf)), middle, np.nextafter(middle, np.float32(np.inf))]
    return min(around, key=lambda one: (abs(fractions.Fraction(float(one)) - exact), int(one.view(np.int32)) & 1))


class Distances(unittest.TestCase):
    """Of the gradients of a chain on a GPU from those on the CPU."""
    def test_gradients_that_are_all_zero_are_no_distance_apart(self):
        zeros = [torch.zeros(3), torch.zeros(2, 2)]
        self.assertEqual(chain_maker.distances(zeros, copy.deepcopy(zeros)), [0.0, 0.0])

    def test_what_is_not_zero_there_or_no_number_is_infinitely_far(self):
        zero, one = torch.zeros(2), torch.ones(2)
        self.assertEqual(chain_maker.distances([zero], [one]), [math.inf])
        self.assertEqual(chain_maker.distances([one], [one * math.nan]), [math.inf])
        self.assertEqual(chain_maker.distances([zero], [one * math.nan]), [math.inf])
        self.assertAlmostEqual(chain_maker.distances([one], [1.5 * one])[0], 0.5, places=2)


class Arithmetic(unittest.TestCase):
    def test_scales_of_ranges_are_those_of_qsim_observe(self):
        draw = random.Random(SEED)
        ends = [0.0, 1e-40, 127 * 2.0 ** -126, 127 * 2.0 ** -125, 127.0, 127 * (1 + 2.0 ** -23), 254.0, 3.4e38]
        ends += [draw.uniform(0, 2) * 2.0 ** draw.randint(-130, 120) for _ in range(300)]
        ranges = torch.tensor([[-draw.choice((0.0, 0.5, 1.0)) * most, most] for most in ends])
        ranges[::2] = -ranges[::2].flip(1)
        for kind in (calls.MAX, calls.POWER_OF_TWO):
            found = levels.scales_of(ranges, torch.full((len(ends),), 127.0), kind == calls.POWER_OF_TWO)
            expected = torch.empty_like(found)
            for row, scale in zip(ranges, expected.split(1)):
                calls.observe(row, calls.LAST, 0.0, calls.Levels(-128, 127, calls.HALF_EVEN, kind), torch.zeros(3), scale, None)
            self.assertTrue(torch.equal(found, expected))
            self.assertGreater(len(found.unique()), 50)

    def test_a_fused_multiply_add_rounds_once(self):
        """Also where the sum in float64 is a tie of float32 and the exact sum is not."""
        draw = random.Random(SEED)
        a, b, c = [], [], []
        for _ in range(2000):
            level, factor = draw.randint(-128, 127), np.float32(draw.uniform(0.5, 2) * 2.0 ** draw.randint(-9, 8))
            a.append(np.float32(level))
            b.append(factor)
            half = np.float32(draw.randint(2 ** 23, 2 ** 24 - 1)) * np.float32(2.0 ** draw.randint(-30, 8))
            c.append(half if draw.random() < 0.5 else np.float32(-level * factor * (1 + draw.uniform(-1, 1) * 2.0 ** -20)))
        # 2^-24 of 1 is a tie of float32; 2^-60 more is not, and float64 drops it.
        a, b, c = a + [np.float32(1 + 2.0 ** -12)], b + [np.float32(2.0 ** -24 * (1 - 2.0 ** -12))], c + [np.float32(1)]
        a, b, c = a + [np.float32(1 + 2.0 ** -23)], b + [np.float32(2.0 ** -24)], c + [np.float32(2.0 ** 5)]
        a, b, c = a + [np.float32(1 + 2.0 ** -23)], b + [np.float32(2.0 ** -24 * (1 + 2.0 ** -22))], c + [np.float32(1)]
        a, b, c = a + [np.float32(2.0 ** -30)], b + [np.float32(2.0 ** -30)], c + [np.float32(1 + 2.0 ** -23)]
        found = levels.multiply_add(*(torch.tensor(np.array(part)) for part in (a, b, c))).numpy()
        for number, *parts in zip(found, a, b, c):
            one, other, added = (fractions.Fraction(float(part)) for part in parts)
            self.assertEqual(number, nearest(one * other + added), parts)

    def test_tables_of_sums_are_those_of_integers(self):
        """Scales whose ratios have few bits, so that many sums are nearly ties, and any others."""
        draw = random.Random(SEED)
        byte = np.arange(256).astype(np.uint8).view(np.int8).astype(np.float64)
        left, right = (torch.from_numpy(part.reshape(-1).copy()) for part in np.meshgrid(byte, byte, indexing="ij"))
        for _ in range(40):
            scales = [torch.tensor([draw.choice((0.1, 0.2, 0.15, 0.05, draw.uniform(0.001, 0.2)))]) for _ in range(3)]
            points = [draw.choice((0, -128)) for _ in range(3)]
            relu = draw.random() < 0.5
            found = levels.add_table(tuple(scales), tuple(points), relu)
            one, other = (chain_restated.Value(part, scale[0], point, part) for part, scale, point
                          in zip((left, right), scales, points))
            expected, passes = chain_restated.added(one, other, scales[2][0], points[2], relu)
            self.assertTrue(torch.equal(found.levels.double(), expected))
            self.assertTrue(torch.equal(found.passes, passes))

    def test_averages_divide_in_onnxruntimes_order(self):
        draw = random.Random(SEED)
        for _ in range(200):
            size, x_scale, y_scale = draw.randint(2, 200), np.float32(draw.uniform(0.001, 1)), np.float32(draw.uniform(0.001, 1))
            sums = np.arange(-127 * 40, 128 * 40, 3).astype(np.float32)
            product = sums * (x_scale / (y_scale * np.float32(size)))
            found = levels.average_levels(torch.from_numpy(sums), size, torch.tensor([x_scale]), torch.tensor([y_scale]), -128)
            rounded = np.rint(product) - 128
            self.assertTrue(np.array_equal(found.levels.numpy(), np.clip(rounded, -128, 127)))
            self.assertTrue(np.array_equal(found.passes.numpy(), (rounded >= -128) & (rounded <= 127)))

    def test_sums_in_float32_that_float64_rounds_to_a_tie_are_right(self):
        """1 + 2^-24 + 2^-60, a sum whose float64 is the tie 1 + 2^-24."""
        a, b = np.float32(1 + 2.0 ** -18), np.float32(2.0 ** -24 * (1 - 2.0 ** -18))  # 2^-24 (1 - 2^-36)
        self.assertEqual(levels.multiply_add(torch.tensor(a), torch.tensor(b), torch.tensor(np.float32(1 + 2.0 ** -23))),
                         np.float32(1 + 2.0 ** -23))
        self.assertEqual(np.float32(np.float64(a) * np.float64(b) + np.float64(1 + 2.0 ** -23)), np.float32(1 + 2.0 ** -22))


if __name__ == "__main__":
    print(f"QSIM_CHAIN_SEED={SEED}")
    unittest.main()
