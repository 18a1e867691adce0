"""export_onnx() of quantized layers: the module in eval mode, ONNX Runtime and qsim give the same float32 bits; and
QuantizedSequential.of(), which makes a chain for the accelerator of them.

usage: layers_export_test.py QSIM LIBRARY REPOSITORY_ROOT (in the environment of tools/ort)
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import warnings

QSIM, ROOT = sys.argv[1], pathlib.Path(sys.argv[3])
os.environ["QSIM_GOLDEN_LIBRARY"] = sys.argv[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools/ort")]

import numpy as np
import torch

import exact_session
import layers_maker
import qsim
import qsim.torch as qt

nn, functional = torch.nn, torch.nn.functional
SEED = int(os.environ.get("QSIM_LAYERS_SEED", "20261123"))
CASES = int(os.environ.get("QSIM_LAYERS_CASES", "200"))
torch.set_num_threads(1)  # small tensors: more would wait for each other


def trained(model, shape):
    """Three passes of training mode, with different ranges, and steps that training has moved."""
    for factor in (1.0, 1.5, 0.5):
        model(factor * torch.randn(4, *shape))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("weight_step", "observer.scale")):
                parameter.mul_(torch.empty_like(parameter).uniform_(0.3, 1.5))
    return model.eval()


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


class Exports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "layers.onnx"
        torch.manual_seed(SEED)
        warnings.filterwarnings("ignore", message="Using padding='same'")

    def program(self, x, *words):
        np.save(self.folder / "x.npy", x.numpy())
        command = [QSIM, *words, f"--model={self.file}", f"--input={self.folder}/x.npy", f"--batch={len(x)}", "--quiet",
                   f"--out={self.folder}/out"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def output(self, x, *words):
        """output.npy of a command of qsim."""
        done = self.program(x, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "out/output.npy")

    def same(self, found, expected):
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        self.assertEqual(found.tobytes(), expected.tobytes())

    def compare(self, model, shape, x=None, optimizations=("all", "disabled")):
        """Exports, runs everywhere; returns how many different numbers y has."""
        qt.export_onnx(model, self.file, shape)
        x = torch.randn(3, *shape) if x is None else x
        with torch.no_grad():
            y = model(x.clone()).contiguous().numpy()
        for optimization in optimizations:
            session = exact_session.open_session(str(self.file), optimization)
            self.same(session.run(None, {"input": x.numpy()})[0], y)
        self.same(self.output(x, "golden", "run"), y)
        return len(np.unique(y))

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
            done = self.program(x, "run", "--config=pe16x16_dyadic")
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

    def test_what_cannot_be_exported_is_told(self):
        quantized = trained(qt.QuantizedConv2d(1, 1, 1), (1, 4, 4))

        class Twice(nn.Module):
            """Reads a tensor that it changes in place."""

            def __init__(self):
                super().__init__()
                self.conv = quantized

            def forward(self, x):
                y = self.conv(x)
                return functional.relu(y, inplace=True) + y

        class Branch(Twice):
            def forward(self, x):
                return self.conv(x) if x.sum() > 0 else x

        class Scaled(Twice):
            def forward(self, x):
                return self.conv(x) * 2

        class More(Twice):
            def forward(self, x):
                return self.conv(x) + x.size(0)

        class Weighted(Twice):
            def forward(self, x):
                return torch.add(self.conv(x), x, alpha=2)

        class Spread(Twice):
            def forward(self, x):
                return self.conv(x) + functional.max_pool2d(x, 4)

        class Turned(Twice):
            def forward(self, x):
                return self.conv(x).view(-1, 4)

        class Two(Twice):
            def forward(self, x):
                return self.conv(x), x

        hooked = trained(qt.QuantizedConv2d(1, 1, 1), (1, 4, 4))
        hooked.register_forward_hook(lambda *_: None)
        lone = nn.Sequential
        for model, message in (
                (nn.ReLU(), "the model has no quantized layer; allowed: quantized layers, "),
                (lone(quantized, nn.Conv2d(1, 1, 1)), r"layer 1 \(Conv2d\) is not written; allowed: quantized layers, "),
                (lone(quantized, nn.BatchNorm2d(1)), r"layer 1 \(BatchNorm2d\) is not written; .*QuantizedSequential has Batch"),
                (lone(quantized, nn.AvgPool2d(2)), r"layer 1 \(AvgPool2d\) is not written"),
                (lone(quantized, nn.AdaptiveAvgPool2d(1)), r"layer 1 \(AdaptiveAvgPool2d\) is not written"),
                (lone(quantized, trained(qt.QuantizedSequential(nn.Conv2d(1, 1, 1)), (1, 4, 4))),
                 r"layer 1 \(QuantizedSequential\) is not written"),
                (lone(trained(qt.TorchConv2d(1, 1, 1), (1, 4, 4))), r"layer 0 \(TorchConv2d\) is not written"),
                (trained(qt.QuantizedConv2d(1, 1, 1, rounding="toward_zero"), (1, 4, 4)),
                 r"layer QuantizedConv2d \(QuantizedConv2d\) rounds toward_zero, which ONNX does not have; train with half_even"),
                (trained(qt.QuantizedConv2d(1, 1, 2, padding=1, padding_mode="reflect"), (1, 4, 4)),
                 "has padding_mode 'reflect'; allowed: zeros"),
                (trained(lone(qt.QuantizedLinear(4, 2)), (1, 4, 4)), r"layer 0 \(QuantizedLinear\) reads a tensor of 4 dimensions"),
                (lone(quantized, nn.Flatten(2)), r"layer 1 \(Flatten\) makes \[1, 16\] of \[1, 4, 4\]; allowed: one dimension"),
                (lone(quantized, nn.MaxPool2d(2, return_indices=True)), "gives something else than a tensor"),
                (hooked, "has a hook, which is called here alone"),
                (Twice(), "changes a tensor in place that is read elsewhere too"),
                (Branch(), "the model's forward pass depends on its numbers"),
                (Scaled(), "the operation mul is no layer, and none of relu, "),
                (More(), "the operation add does not add two tensors of one shape"),
                (Weighted(), "the operation add does not add two tensors of one shape"),
                (Spread(), "the operation add does not add two tensors of one shape"),
                (Turned(), r"the operation view makes \[4\] of \[1, 4, 4\]"), (Two(), "gives something else than a tensor")):
            with self.subTest(message=message):
                with self.assertRaisesRegex(qsim.Unsupported, message) as caught:
                    qt.export_onnx(model, self.file, (1, 4, 4))
                self.assertNotIn("\n", str(caught.exception))
        self.assertFalse(self.file.exists())

    def test_numbers_that_cannot_be_exported_are_told(self):
        for change, message in ((lambda layer: layer.weight.fill_(1e-38), "has scales whose product float32 does not hold"),
                                (lambda layer: layer.bias.fill_(float("nan")), "has numbers that are not finite")):
            layer = trained(qt.QuantizedConv2d(1, 1, 1, scale=1e-30), (1, 4, 4))
            with torch.no_grad():
                change(layer)
            with self.assertRaisesRegex(qsim.BadInput, message):
                qt.export_onnx(layer, self.file, (1, 4, 4))
        wide = trained(qt.QuantizedLinear(140000, 1, scale=1.0), (140000,))
        with torch.no_grad():
            wide.weight.fill_(1.0)
        with self.assertRaisesRegex(qsim.Unsupported, "can be beyond int32; allowed: fewer weights for an output channel"):
            qt.export_onnx(wide, self.file, (140000,))
        with self.assertRaisesRegex(qsim.BadInput, r"input_shape is \(4, 4\); allowed: \(C, H, W\) or \(K,\)"):
            qt.export_onnx(wide, self.file, (4, 4))
        with self.assertRaisesRegex(qsim.BadInput, "a quantized layer in eval mode has seen no input"):
            qt.export_onnx(qt.QuantizedLinear(4, 4), self.file, (4,))
        self.assertFalse(self.file.exists())


if __name__ == "__main__":
    print(f"QSIM_LAYERS_SEED={SEED}")
    unittest.main(argv=sys.argv[:1])
