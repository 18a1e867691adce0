"""export_onnx() of quantized layers: the module in eval mode, ONNX Runtime and qsim give the same float32 bits; and
QuantizedSequential.of(), which makes a chain for the accelerator of them.

usage: layers_export_test.py QSIM LIBRARY REPOSITORY_ROOT (in the environment of tools/ort)
"""
import os
import random
import unittest

from export_case import SEED, ExportCase, trained

import numpy as np
import torch

import exact_session
import layers_maker
import qsim.torch as qt

nn, functional = torch.nn, torch.nn.functional
CASES = int(os.environ.get("QSIM_LAYERS_CASES", "200"))


class Block(nn.Module):
    """A forward pass of its own, as networks for pictures have it."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.two(self.relu(self.one(x)))
        y += x
        return self.relu(y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.block, self.fc = nn.Conv2d(3, 4, 3, 2), Block(), nn.Linear(36, 5)
        self.average = nn.AdaptiveAvgPool2d(3)

    def forward(self, x):
        x = functional.max_pool2d(self.block(functional.relu(self.stem(x))), 2)
        x = self.average(x)  # of pictures of 3x3
        x = functional.dropout(x.view(x.size(0), -1), training=self.training)
        return self.fc(x).relu()


class Exports(ExportCase):
    def test_random_networks_give_the_same_bits_everywhere(self):
        varied = 0
        for case in range(CASES):
            draw = random.Random(SEED + case)
            torch.manual_seed(SEED + case)
            maker, options = layers_maker.Maker(draw), layers_maker.options_of(draw)
            model = qt.convert(nn.Sequential(*maker.layers()), **options)
            with self.subTest(seed=SEED + case, model=str(model), **options):
                varied += self.compare(trained(model, maker.input_shape), maker.input_shape,
                                       optimizations=("disabled" if case % 4 == 0 else "all",))
        self.assertGreater(varied, 10 * CASES)

    def test_a_network_with_a_forward_pass_of_its_own(self):
        self.assertGreater(self.compare(trained(qt.convert(Net(), zero_points=True), (3, 15, 15)), (3, 15, 15)), 5)

    def test_single_layers(self):
        for layer, shape in ((qt.QuantizedConv2d(3, 4, 3, 2, 1), (3, 9, 7)), (qt.QuantizedConv2dReLU(4, 4, 3, groups=4), (4, 6, 6)),
                             (qt.QuantizedLinear(7, 9), (7,)), (qt.QuantizedLinear(7, 9, bias=False).half(), (7,))):
            with self.subTest(layer=str(layer)):
                self.assertGreater(self.compare(trained(layer, shape), shape), 10)

    def test_a_layer_in_two_places(self):
        conv, relu = qt.QuantizedConv2d(2, 2, 3, padding=1), nn.ReLU()
        self.assertGreater(self.compare(trained(nn.Sequential(conv, relu, conv, relu), (2, 6, 6)), (2, 6, 6)), 10)

    def test_numbers_far_beyond_the_range_and_ties_are_levels_too(self):
        layer = trained(qt.QuantizedConv2d(1, 3, 1, scale=0.5), (1, 4, 4))
        x = torch.tensor([0.25, 0.75, -0.25, 1.25, 63.75, -64.25, 1e30, -1e30, float("inf"), -float("inf"), 1e-45, -0.0, 3.0, 0, 0,
                          0])
        self.assertGreater(self.compare(layer, (1, 4, 4), x.reshape(1, 1, 4, 4)), 10)

    def test_sums_that_float32_rounds(self):
        for layer, shape in ((qt.QuantizedLinear(5000, 9, zero_points=True), (5000,)),
                             (qt.QuantizedConv2d(300, 6, 3), (300, 5, 5))):
            with torch.no_grad():
                layer.weight.uniform_(0.5, 1)
            x = torch.rand(4, *shape) / 2 + 0.5
            layer(x)
            sums = layer.eval()(x) / (layer.observer.scale * layer.weight.flatten(1).amax(1).max() / 127)
            self.assertGreater(sums.max(), 2.0**24)
            self.assertGreater(self.compare(layer, shape, x), 30)

    def test_the_accelerator_refuses_the_file_and_takes_the_chain_of_it(self):
        plain = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.MaxPool2d(2),
                              qt.Residual([nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()]), nn.Flatten(), nn.Linear(72, 5))
        for net, first in ((plain, "0"), (Net(), "stem")):
            model = trained(qt.convert(net, weight_bits=4, observer="min_max"), (3, 15, 15))
            qt.export_onnx(model, self.file, (3, 15, 15))
            x = torch.randn(8, 3, 15, 15)
            done = self.program(x, "run", "--config=pe16x16_dyadic", "--no-host")
            self.assertEqual(done.returncode, 4)
            self.assertIn(f"node '{first}' (ConvInteger): sums of integers that become float32 numbers: the accelerator computes "
                          "no float32; run it by `qsim golden run`, or export a QuantizedSequential", done.stderr)
            chain = qt.QuantizedSequential.of(model, x)
            self.assertFalse(chain.training)
            qt.export_onnx(chain, self.file, (3, 15, 15))
            with torch.no_grad():
                y, near = chain(x).numpy(), model(x).numpy()
            self.same(exact_session.open_session(str(self.file)).run(None, {"input": x.numpy()})[0], y)
            self.same(self.output(x, "golden", "run"), y)
            self.same(self.output(x, "run", "--config=pe16x16_dyadic"), y)
            self.assertLess(np.abs(y - near).max(), 0.05 * np.abs(near).max())
            self.assertGreater(np.abs(y - near).max(), 0)


if __name__ == "__main__":
    print(f"QSIM_LAYERS_SEED={SEED}")
    unittest.main(argv=[__file__])
