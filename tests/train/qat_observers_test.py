#!/usr/bin/env python3
"""The observers for torch.ao.quantization: what they find, and that prepare and prepare_qat take them. Skips (77) without PyTorch."""
import copy
import pathlib
import sys
import unittest
import warnings

SKIPPED = 77
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models/train"))

try:
    import torch
    from torch import nn
    from torch.ao.quantization import FakeQuantize, QConfigMapping, prepare, prepare_qat
    from torch.ao.quantization.quantize_fx import convert_to_reference_fx, prepare_fx, prepare_qat_fx
    from qat_observers import DyadicObserver, PowerOfTwoObserver, dyadic_qconfig, power_of_two_qconfig
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

torch.set_num_threads(1)
warnings.simplefilter("ignore")


def observed(observer, *batches):
    for batch in batches:
        observer(torch.tensor(batch))
    scale, zero_point = observer.calculate_qparams()
    return scale.tolist(), zero_point.tolist()


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4 * 64, 5)

    def forward(self, x):
        return self.fc(torch.relu(self.norm(self.conv(x))).flatten(1))


class Observers(unittest.TestCase):
    def test_an_affine_scale_is_the_smallest_power_of_two_that_covers_what_was_seen(self):
        self.assertEqual(observed(PowerOfTwoObserver(), [0.0, 1.0], [0.5, 3.9]), ([2.0**-6], [0]))
        self.assertEqual(observed(PowerOfTwoObserver(), [0.0, 255 / 64]), ([2.0**-6], [0]))
        self.assertEqual(observed(PowerOfTwoObserver(), [0.0, 4.0]), ([2.0**-5], [0]))
        self.assertEqual(observed(PowerOfTwoObserver(), [-1.0, 2.9]), ([2.0**-6], [64]))
        self.assertEqual(observed(PowerOfTwoObserver(), [5.0, 6.0]), ([2.0**-5], [0]))

    def test_a_range_whose_ends_round_apart_gets_the_next_scale(self):
        # 255 steps of 1; but -99.5 rounds to -100 and 155.5 to 156, which are 256 apart.
        self.assertEqual(observed(PowerOfTwoObserver(), [-99.5, 155.5]), ([2.0], [50]))
        self.assertEqual(observed(PowerOfTwoObserver(), [-99.5, 155.4]), ([1.0], [100]))

    def test_symmetric_weights_have_a_scale_a_channel_and_zero_point_0(self):
        options = {"dtype": torch.qint8, "quant_min": -7, "quant_max": 7, "qscheme": torch.per_channel_symmetric}
        weights = [[0.5, -7.0], [3.5, 1.0], [0.0, 0.0], [7.1, 0.0]]
        self.assertEqual(observed(PowerOfTwoObserver(**options), weights), ([1, 0.5, 1, 2], [0] * 4))
        scale, _ = observed(DyadicObserver(**options), weights)
        self.assertEqual(scale[:3], [1, 0.5, 1])
        self.assertEqual(scale[3], 130 / 128)  # 7.1 / 7 = 1.0143 is 129.8 / 128

    def test_unsigned_symmetric_levels_have_the_middle_as_zero_point_where_something_is_negative(self):
        options = {"qscheme": torch.per_tensor_symmetric}
        self.assertEqual(observed(PowerOfTwoObserver(**options), [-1.0, 0.5]), ([2.0**-7], [128]))
        self.assertEqual(observed(PowerOfTwoObserver(**options), [0.0, 0.5]), ([2.0**-8], [0]))

    def test_a_moving_average_moves_by_its_constant(self):
        observer = PowerOfTwoObserver(averaging_constant=0.25)
        observed(observer, [0.0, 1.0], [-4.0, 5.0])
        self.assertEqual((float(observer.min_val), float(observer.max_val)), (-1.0, 2.0))

    def test_an_observer_without_values_or_with_infinite_ones_says_so(self):
        with self.assertRaisesRegex(RuntimeError, "seen no values"):
            PowerOfTwoObserver().calculate_qparams()
        with self.assertRaisesRegex(ValueError, "not finite"):
            PowerOfTwoObserver()(torch.tensor([1.0, float("nan")]))
        with self.assertRaisesRegex(ValueError, "levels 1..255"):
            PowerOfTwoObserver(quant_min=1, quant_max=255)
        with self.assertRaisesRegex(ValueError, "weights of 9 bits"):
            power_of_two_qconfig(weight_bits=9)

    def test_a_saved_observer_has_its_range_again(self):
        observer, fresh = (PowerOfTwoObserver(qscheme=torch.per_channel_symmetric, dtype=torch.qint8) for _ in range(2))
        observer(torch.tensor([[1.0, -2.0], [3.0, 4.0]]))
        fresh.load_state_dict(observer.state_dict())
        self.assertEqual(fresh.calculate_qparams()[0].tolist(), observer.calculate_qparams()[0].tolist())

    def assert_powers_of_two(self, model, minimum):
        fakes = [m for m in model.modules() if isinstance(m, (FakeQuantize, PowerOfTwoObserver))]
        self.assertGreaterEqual(len(fakes), minimum)
        scales = torch.cat([fake.calculate_qparams()[0] for fake in fakes])
        self.assertTrue(bool((torch.frexp(scales)[0] == 0.5).all()))

    def test_fx_training_takes_the_qconfig_and_quantizes_by_powers_of_two(self):
        mapping = QConfigMapping().set_global(power_of_two_qconfig(weight_bits=4))
        images = torch.randn(8, 3, 8, 8)
        model = prepare_qat_fx(Small().train(), mapping, (images,))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        before = copy.deepcopy(model.state_dict())
        for _ in range(2):
            optimizer.zero_grad()
            model(images).square().mean().backward()
            optimizer.step()
        self.assertFalse(torch.equal(before["fc.weight"], model.state_dict()["fc.weight"]))
        self.assert_powers_of_two(model, 4)
        weight = model.fc.weight_fake_quant(model.fc.weight)
        self.assertLessEqual(max(len(row.unique()) for row in weight), 15)
        self.assertGreater(len(weight.unique()), 5)

    def test_fx_calibration_converts_to_a_reference_model_with_these_scales(self):
        for qconfig in (power_of_two_qconfig(training=False), dyadic_qconfig(training=False)):
            images = torch.randn(8, 3, 8, 8)
            prepared = prepare_fx(Small().eval(), QConfigMapping().set_global(qconfig), (images,))
            expected = prepared(images)
            converted = convert_to_reference_fx(prepared)
            difference = float((converted(images) - expected).abs().max())
            self.assertGreater(difference, 0)
            self.assertLess(difference, 0.1)

    def test_eager_prepare_and_prepare_qat_take_the_qconfigs(self):
        images = torch.randn(8, 3, 8, 8)
        for qconfig in (power_of_two_qconfig(), dyadic_qconfig()):
            model = Small().train()
            model.qconfig = qconfig
            prepared = prepare_qat(model)
            prepared(images).sum().backward()
            self.assertTrue(bool((prepared.fc.weight.grad != 0).any()))
            self.assertIsInstance(prepared.fc.weight_fake_quant, FakeQuantize)
        model = Small().eval()
        model.qconfig = power_of_two_qconfig(training=False)
        prepared = prepare(model)
        prepared(images)
        self.assert_powers_of_two(prepared, 2)

    def test_the_fake_quantization_of_training_is_the_arithmetic_of_levels(self):
        fake = power_of_two_qconfig(weight_bits=4).weight()
        weights = torch.randn(6, 20, generator=torch.Generator().manual_seed(2))
        scale = fake.activation_post_process
        found = fake(weights)
        steps = scale.calculate_qparams()[0].view(-1, 1)
        self.assertTrue(torch.equal(found, torch.round(weights / steps).clamp(-7, 7) * steps))


if __name__ == "__main__":
    unittest.main()
