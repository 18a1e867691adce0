"""QuantizedSequential: its bits are those of a second statement, its gradients those of float64 within their bound."""
import copy
import os
import random
import unittest

import torch

import chain_maker
import chain_restated
import qsim
import qsim.torch as qt

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
        self.assertGreater(varied, 50 * CASES)

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


if __name__ == "__main__":
    print(f"QSIM_CHAIN_SEED={SEED}")
    unittest.main()
