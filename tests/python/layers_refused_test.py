"""What export_onnx() refuses of quantized layers, each in one line: what no file gives the module's bits.

usage: layers_refused_test.py QSIM LIBRARY REPOSITORY_ROOT (in the environment of tools/ort)
"""
import types
import unittest
from unittest import mock

from export_case import SEED, ExportCase, trained

import torch
from torch.nn.utils import prune

import qsim
import qsim.torch as qt
from qsim._training import forward_steps

nn, functional = torch.nn, torch.nn.functional


class Count:
    """Of the calls, which a deep copy goes on with."""

    def __init__(self):
        self.count = 0

    def __next__(self):
        self.count += 1
        return self.count


class Own(nn.Module):
    """A forward pass that is given."""

    def __init__(self, run, **layers):
        super().__init__()
        self.run = run
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x):
        return self.run(self, x)


def conv(channels=2):
    return qt.QuantizedConv2d(2, channels, 3, padding=1)


def relu_of_a_view(self, x):
    y = self.a(x)
    y.view(y.size(0), -1).relu_()
    return y


def relu_of_a_flatten(self, x):
    y = self.a(x)
    z = functional.relu(y.flatten(1), inplace=True)
    return self.b(y).flatten(1) + z


def addition_under_two_names(self, x):
    y = z = self.a(x)
    y += x
    return self.b(z)


def addition_after_a_view(self, x):
    y = self.a(x)
    v = y.flatten(1)
    y += x
    return self.fc(v)


def addition_into_a_tensor(self, x):
    y = self.a(x)
    torch.add(y, x, out=y)
    return self.b(y)


def pool_by_positions(self, x):
    return torch.max_pool2d(functional.max_pool2d(self.a(x), 3, 1, 1), 2, (), 0, 1, True)


def relu_of_a_view_alone(self, x):
    y = self.b(self.a(x))
    y += x
    return y.view(y.size(0), -1).relu_()


class Refused(ExportCase):
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
                (hooked, r"layer QuantizedConv2d \(QuantizedConv2d\) has a hook, which would be left out; remove it"),
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

    def test_changes_in_place_that_others_read_are_refused_whatever_tracing_sees(self):
        for run in (relu_of_a_view, relu_of_a_flatten):
            self.refused(trained(Own(run, a=conv(), b=conv()), (2, 4, 4)), "changes a tensor in place that is read elsewhere too")
        for run in (addition_under_two_names, addition_after_a_view, addition_into_a_tensor):
            with torch.no_grad():
                model = trained(Own(run, a=conv(), b=conv(), fc=qt.QuantizedLinear(32, 3)), (2, 4, 4))
            self.refused(model, "export_onnx: the model gives other numbers than its traced steps; write `y = y \\+ x`")
        self.assertGreater(self.compare(trained(Own(relu_of_a_view_alone, a=conv(), b=conv()), (2, 4, 4)), (2, 4, 4)), 10)

    def test_what_becomes_of_an_operation_must_have_its_bits(self):
        self.assertGreater(self.compare(trained(Own(pool_by_positions, a=conv()), (2, 5, 5)), (2, 5, 5)), 5)
        self.file.unlink()
        model = trained(Own(lambda self, x: functional.relu(self.a(x)), a=conv()), (2, 4, 4))
        with mock.patch.dict(forward_steps._FUNCTIONS, {functional.relu: lambda *_: nn.Softplus()}):
            self.refused(model, "the model gives other numbers than its traced steps")

    def test_numbers_that_do_not_come_of_x_alone_are_refused(self):
        state = torch.get_rng_state()
        counted = Own(lambda self, x: self.a(x) if next(self.calls) < 5 else self.a(self.a(x)), a=conv())
        counted.calls = Count()
        self.refused(trained(counted, (2, 4, 4)), "the model gives other numbers than its traced steps")
        torch.set_rng_state(state)
        model = trained(Own(lambda self, x: self.a(x), a=conv()), (2, 4, 4))
        before = torch.get_rng_state()
        qt.export_onnx(model, self.file, (2, 4, 4))
        self.assertTrue(torch.equal(torch.get_rng_state(), before))

    def test_what_a_call_does_beside_its_layer_is_refused(self):
        for change, message in (
                (lambda layer: setattr(layer, "forward", types.MethodType(lambda self, x: x, layer)),
                 r"export_onnx: layer 0 \(QuantizedConv2d\) has a forward of its own, which would be left out; remove it"),
                (lambda layer: layer.observer.register_forward_hook(lambda _module, _x, scale: 2 * scale),
                 r"export_onnx: the observer of layer 0 \(QuantizedConv2d\) has a hook, which would be left out; remove it"),
                (lambda layer: layer.register_forward_pre_hook(lambda *_: None), r"export_onnx: layer 0 .* has a hook, which")):
            model = trained(nn.Sequential(conv()), (2, 4, 4))
            change(model[0])
            self.refused(model, message)
        chain = trained(qt.QuantizedSequential(nn.Conv2d(2, 2, 1)), (2, 4, 4))
        chain.register_forward_hook(lambda _module, _x, y: 2 * y)
        self.refused(chain, r"layer QuantizedSequential \(QuantizedSequential\) has a hook, which would be left out")

        class Doubled(qt.QuantizedSequential):
            def forward(self, x):
                return 2 * super().forward(x)

        self.refused(trained(Doubled(nn.Conv2d(2, 2, 1)), (2, 4, 4)), r"layer Doubled \(Doubled\) has a forward of its own")
        more = Own(lambda self, x: self.up(self.a(x), output_size=[5, 5]), a=conv(), up=nn.ConvTranspose2d(2, 2, 1, 2))
        self.refused(trained(more, (2, 3, 3)), r"layer up \(ConvTranspose2d\) is called with more than x; allowed: x alone",
                     (2, 3, 3))

    def test_a_pool_whose_ceil_mode_needs_more_pads_than_its_kernel_is_refused(self):
        def pooled(pool):
            return trained(nn.Sequential(conv(), pool), (2, 9, 8))

        self.refused(pooled(nn.MaxPool2d(2, 3, 1, dilation=2, ceil_mode=True)), r"layer 1 \(MaxPool2d\) needs pads of \[2, 1\] where "
                     r"its kernel is \[2, 2\]; allowed: pads below the kernel", (2, 9, 8))
        for pool in (nn.MaxPool2d(3, 3, 1, dilation=2, ceil_mode=True), nn.MaxPool2d(2, 3, 1, dilation=2)):
            self.assertGreater(self.compare(pooled(pool), (2, 9, 8)), 5)

    def test_weights_that_are_computed_and_passes_that_torch_fx_refuses_are_told(self):
        for change in (nn.utils.weight_norm, nn.utils.spectral_norm, lambda layer: prune.l1_unstructured(layer, "weight", 0.5)):
            model = trained(nn.Sequential(conv()), (2, 4, 4))
            change(model[0])
            model(torch.randn(2, 2, 4, 4))
            self.refused(model, r"export_onnx: layer 0 \(QuantizedConv2d\) has a tensor 'weight' that is computed of others; make "
                                r"it a parameter again \(remove_weight_norm, prune.remove\)")
        prune.remove(model[0], "weight")
        self.assertGreater(self.compare(model, (2, 4, 4)), 10)
        self.file.unlink()
        chain = trained(qt.QuantizedSequential(nn.Conv2d(2, 2, 1)), (2, 4, 4))
        chain.kept = chain(torch.randn(1, 2, 4, 4))
        self.refused(chain, "export_onnx: layer QuantizedSequential .* has a tensor 'kept' that is computed of others")
        self.refused(trained(Own(lambda self, x: self.a(x) if len(x) > 2 else x, a=conv()), (2, 4, 4)),
                     r"export_onnx: torch.fx cannot trace the model's forward pass \('len' is not supported")
        flat = Own(lambda self, x: self.fc(torch.flatten(input=self.a(x), start_dim=1)), a=conv(), fc=qt.QuantizedLinear(32, 9))
        self.assertGreater(self.compare(trained(flat, (2, 4, 4)), (2, 4, 4)), 10)

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
    unittest.main(argv=[__file__])
