#!/usr/bin/env python3
"""What quantization-aware training computes forward equals integer arithmetic, level by level. Skips (77) without PyTorch."""
import sys
import unittest

SKIPPED = 77

try:
    import numpy as np
    import torch

    import small_networks
    from small_networks import CHAIN, RESIDUAL, pictures, random_weights
    import qat_export
    import qat_integers
    import qat_layers
    import qat_scales
    from qat_layers import Settings
    from qat_network import QatNetwork, best_scales
    from qat_scales import Levels
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

torch.set_num_threads(1)

# (kind, rounding): all that the accelerator has
ARITHMETICS = [("power_of_two", "half_even"), ("power_of_two", "half_up"), ("power_of_two", "floor"),
               ("power_of_two", "float32"), ("dyadic", "float32"), ("dyadic", "half_even"), ("dyadic", "floor"),
               ("float", "float32"), ("float", "half_even"), ("float", "half_up")]


def network(nodes, settings, seed=1, gain=1.0):
    return QatNetwork(nodes, random_weights(nodes, seed, gain), pictures(16, seed=seed), settings)


def integers_of(model):
    arrays, document = qat_export.trained(model, 8)
    return qat_integers.IntegerNetwork.of(model.nodes, arrays, document, model.settings.rounding)


class Arithmetic(unittest.TestCase):
    def assert_same_levels(self, model, images):
        """Every level of every tensor; not all of them equal, and no tensor all zero."""
        found = {name: levels for name, (levels, _) in model.tensors(images).items()}
        expected = integers_of(model).run(images.numpy())
        self.assertEqual(found.keys(), expected.keys())
        for name, levels in expected.items():
            self.assertGreater(len(np.unique(levels)), 3, name)
            np.testing.assert_array_equal(found[name].detach().numpy(), levels, name)

    def test_every_level_of_every_scale_kind_and_rounding_equals_integer_arithmetic(self):
        for nodes in (CHAIN, RESIDUAL):
            for kind, rounding in ARITHMETICS:
                for bits in (8, 4, 3, 2):
                    with self.subTest(last=nodes[-1].name, kind=kind, rounding=rounding, bits=bits):
                        self.assert_same_levels(network(nodes, Settings(bits, kind, rounding)), pictures(4, seed=bits))

    def test_levels_are_equal_with_one_scale_a_layer_too(self):
        for kind, rounding in ARITHMETICS:
            model = network(RESIDUAL, Settings(4, kind, rounding, per_channel=False))
            self.assertEqual(model.layers["left"].weight_scale().shape, (1,))
            self.assert_same_levels(model, pictures(4))

    def test_levels_are_equal_after_training_steps_that_move_weights_and_scales(self):
        for kind, rounding in ARITHMETICS:
            model = network(CHAIN, Settings(4, kind, rounding))
            before = integers_of(model)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.3)
            for step in range(3):
                optimizer.zero_grad()
                model(pictures(8, seed=step)).square().mean().backward()
                optimizer.step()
            after = integers_of(model)
            self.assertNotEqual(before.weights["conv2"].levels.tolist(), after.weights["conv2"].levels.tolist())
            self.assertNotEqual(before.tensors["conv2"].scale, after.tensors["conv2"].scale)
            self.assert_same_levels(model, pictures(4))

    def test_sums_beyond_24_bits_are_exact(self):
        node = small_networks.Node("wide", "fc", ("image",), False, 4096, 4)
        generator = torch.Generator().manual_seed(3)
        x = torch.randint(200, 256, (8, 4096), generator=generator).float()
        weight = torch.randint(90, 128, (4, 4096), generator=generator).float()
        expected = x.numpy().astype(np.int64) @ weight.numpy().astype(np.int64).T
        self.assertGreater(expected.min(), 2**24)
        found = qat_layers.exact_sums(node, x, weight, 255, False)
        self.assertEqual(found.dtype, torch.float64)
        np.testing.assert_array_equal(found.numpy(), expected)
        self.assertEqual(qat_layers.exact_sums(node, x - 200, weight - 90, 55, False).dtype, torch.float32)

    def test_the_matrix_product_of_a_gpu_is_the_convolution_of_a_cpu(self):
        numbers = torch.Generator().manual_seed(5)
        for kernel, stride, height, width in ((3, 1, 7, 6), (3, 2, 8, 5), (3, 2, 5, 8), (1, 2, 7, 6), (1, 1, 4, 4)):
            x = torch.randint(0, 256, (2, 5, height, width), generator=numbers).float()
            weight = torch.randint(-127, 128, (4, 5, kernel, kernel), generator=numbers).float()
            expected = torch.nn.functional.conv2d(x, weight, stride=stride, padding=kernel // 2)
            for read in (x, x.contiguous(memory_format=torch.channels_last)):
                self.assertTrue(torch.equal(qat_layers.matrix_conv(read, weight, stride, kernel // 2), expected))

    def test_the_gradient_of_split_sums_is_that_of_the_whole(self):
        node = small_networks.Node("wide", "conv", ("image",), False, 64, 4)
        generator = torch.Generator().manual_seed(4)
        x = torch.randint(0, 256, (2, 64, 4, 4), generator=generator).float().requires_grad_()
        weight = torch.randint(-127, 128, (4, 64, 3, 3), generator=generator).float().requires_grad_()
        whole = torch.autograd.grad(qat_layers.exact_sums(node, x, weight, 1, False).sum(), (x, weight))
        split = torch.autograd.grad(qat_layers.exact_sums(node, x, weight, 2**20, False).sum(), (x, weight))
        for a, b in zip(whole, split):
            torch.testing.assert_close(a, b)

    def test_additions_of_all_pairs_of_levels_round_as_float32_does_where_ties_are_near(self):
        a, b = torch.meshgrid(torch.arange(256), torch.arange(256), indexing="ij")
        node = small_networks.Node("sum", "add", ("a", "b"))
        inexact = 0
        for steps in (1, 3, 5, 77):
            scales = [torch.tensor([0.5 + steps * 2.0**-23]), torch.tensor([0.5 - steps * 2.0**-24])]
            read = (Levels(0, 255, 128), Levels(0, 255, 3))
            layer = qat_layers.QatAdd(node, Settings(8, "float", "float32"), Levels(0, 255, 100), 1.0, 1)
            found = layer(a.float(), b.float(), read, scales)[0].detach().numpy()
            of = [qat_integers.Quantization(np.float32(float(s)), q.zero_point, 0, 255) for s, q in zip(scales, read)]
            to = qat_integers.Quantization(np.float32(float(layer.scale())), 100, 0, 255)
            np.testing.assert_array_equal(found, qat_integers.add(a.numpy(), b.numpy(), of, to, "float32"))
            inexact += int((found != qat_integers.add(a.numpy(), b.numpy(), of, to, "half_even")).sum())
        self.assertGreater(inexact, 1000)

    def test_shifts_stay_within_0_to_16(self):
        model = network(CHAIN, Settings(4))
        with torch.no_grad():
            for layer in model.weighted_layers():
                layer.weight_scale.log2.add_(torch.linspace(-30, 30, len(layer.weight_scale.log2)))
        for name, layer in integers_of(model).weights.items():
            node = next(n for n in CHAIN if n.name == name)
            tensors = integers_of(model).tensors
            shifts = np.log2(tensors[name].scale / (tensors[node.reads[0]].scale * layer.scales))
            self.assertEqual((shifts.min(), shifts.max()), (0, 16))
        self.assert_same_levels(model, pictures(2))


class Scales(unittest.TestCase):
    def test_rounding_of_ties_is_as_it_is_called(self):
        values = torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.25])
        expected = {"half_even": [-2, -2, 0, 0, 2, 2, 2], "half_up": [-2, -1, 0, 1, 2, 3, 2],
                    "floor": [-3, -2, -1, 0, 1, 2, 2]}
        for rounding, levels in expected.items():
            self.assertEqual(qat_scales.round_to_integer(values, rounding).tolist(), levels)
        with self.assertRaisesRegex(ValueError, "half_away.*half_even, half_up, floor"):
            qat_scales.round_to_integer(values, "half_away")

    def test_powers_of_two_are_exact(self):
        exponents = torch.arange(-126, 128)
        self.assertEqual(qat_scales.power_of_two(exponents).double().tolist(), [2.0**int(e) for e in exponents])

    def test_dyadic_scales_are_the_nearest_of_eight_bits(self):
        scales = torch.rand(1000, generator=torch.Generator().manual_seed(5)) * 2.0 ** torch.arange(-10, 10).repeat(50)
        found = qat_scales.dyadic(scales)
        mantissa = torch.frexp(found)[0] * 256
        self.assertTrue(torch.equal(mantissa, mantissa.round()))
        self.assertLess(float(((found - scales) / scales).abs().max()), 2.0**-8 + 1e-7)

    def test_a_clamped_value_has_gradient_zero_and_another_passes_it_on(self):
        values = torch.tensor([-3.0, -0.4, 7.4, 7.6, 100.0], requires_grad=True)
        levels = qat_scales.round_clamp(values, 0, 0, 7)
        self.assertEqual(levels.tolist(), [0, 0, 7, 7, 7])
        levels.backward(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]))
        self.assertEqual(values.grad.tolist(), [0, 2, 3, 0, 0])

    def test_the_gradient_of_a_step_is_that_of_lsq(self):
        """Inside: round(v / s) - v / s, beyond: the limit; times 1 / sqrt(elements * q_max), and s ln 2 for the logarithm."""
        values = torch.randn(64, generator=torch.Generator().manual_seed(6))
        scale = qat_scales.LearnedScale(torch.tensor([0.23]), "float", 64, 7)
        step = scale()
        real = qat_scales.round_clamp(values / step, 0, -7, 7) * step
        real.sum().backward()
        quotient = values / 0.23
        expected = torch.where(quotient.abs() < 7.5, torch.round(quotient) - quotient, quotient.sign() * 7).sum()
        expected = expected * 0.23 * np.log(2) / np.sqrt(64 * 7)
        torch.testing.assert_close(scale.log2.grad[0], expected, rtol=1e-4, atol=1e-5)

    def test_a_power_of_two_step_rounds_its_logarithm_and_learns_it_straight_through(self):
        scale = qat_scales.LearnedScale(torch.tensor([0.3, 0.2]), "power_of_two", 1, 1)
        step = scale()
        self.assertEqual(step.tolist(), [0.25, 0.25])
        step.sum().backward()
        self.assertTrue(bool((scale.log2.grad > 0.1).all()))

    def test_the_first_scale_has_the_least_squared_error(self):
        values = torch.randn(3, 200, generator=torch.Generator().manual_seed(7))
        values[2] = 0
        found = best_scales(values, Levels(-7, 7), "power_of_two")

        def error(row, scale):
            return float(((values[row] / scale).round().clamp(-7, 7) * scale - values[row]).square().sum())

        for row in range(2):
            self.assertEqual(float(found[row]), min((2.0**e for e in range(-8, 8)), key=lambda s: error(row, s)))
        self.assertEqual(float(found[2]), 1)


if __name__ == "__main__":
    unittest.main()
