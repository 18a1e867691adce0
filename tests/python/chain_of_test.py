"""QuantizedSequential.of(): the chain of a converted network has its float layers, its weights' levels, and measured scales."""
import types
import unittest

import torch
from torch.nn.utils import prune

import qsim
import qsim.torch as qt
from qsim._chain import run as runs
from qsim._export import integer_layer

nn, functional = torch.nn, torch.nn.functional


def layers():
    """Of a float network for pictures [3, 9, 9], each kind of place that convert() changes."""
    torch.manual_seed(5)
    shared = nn.Conv2d(6, 6, 1, bias=False)
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(3, 6, 3, 2, padding=1, groups=3), nn.ReLU()), nn.Conv2d(6, 6, 3, padding="same"), nn.BatchNorm2d(6),
        nn.ReLU(), qt.Residual([nn.Conv2d(6, 6, 1), nn.ReLU(), shared], [shared], False), nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.5), nn.Linear(24, 4))


class Block(nn.Module):
    """As the residual networks of image classification have it."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.one, self.two = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm, self.norm2, self.relu = nn.BatchNorm2d(out), nn.BatchNorm2d(out), nn.ReLU(inplace=True)
        self.down = None if stride == 1 else nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.norm2(self.two(self.relu(self.norm(self.one(x)))))
        y += x if self.down is None else self.down(x)
        return self.relu(y)

    def as_layers(self):
        """What a chain has of it."""
        body = [self.one, self.norm, nn.ReLU(), self.two, self.norm2]
        return [qt.Residual(body, self.down), nn.Identity()]


class Net(nn.Module):
    """A forward pass of its own, with functions in it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(6)
        self.stem, self.bn = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.layers = nn.Sequential(Block(4, 4, 1), Block(4, 6, 2))
        self.drop, self.fc = nn.Dropout(0.5), nn.Linear(6, 5)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.bn(self.stem(x))), 2)
        x = functional.adaptive_avg_pool2d(self.layers(x), 1)
        return self.fc(self.drop(torch.flatten(x, 1)))

    def as_layers(self):
        blocks = [layer for block in self.layers for layer in block.as_layers()]
        return nn.Sequential(self.stem, self.bn, nn.ReLU(), nn.MaxPool2d(2), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                             self.drop, self.fc)


def pictures(count=8, seed=1):
    return torch.randn(count, 3, 9, 9, generator=torch.Generator().manual_seed(seed))


def trained(model):
    """Running statistics and observers that have seen pictures."""
    for seed in range(3):
        model(pictures(seed=seed))
    return model


def in_eval(chain):
    """What of() measures with: the chain observes, its layers are in eval mode."""
    chain.train()
    for layer in chain.modules():
        if isinstance(layer, (nn.BatchNorm2d, nn.Dropout)):
            layer.eval()
    return chain


class Of(unittest.TestCase):
    def test_it_is_the_chain_of_the_float_layers(self):
        for options in ({}, {"weight_bits": 4, "zero_points": True}, {"scale": "power_of_two"}):
            with self.subTest(**options):
                model = trained(qt.convert(layers(), observer="min_max", **options)).eval()
                chain = qt.QuantizedSequential.of(model, pictures())
                own = layers()
                own.load_state_dict(model.state_dict(), strict=False)
                expected = in_eval(qt.QuantizedSequential(own, **options))
                with torch.no_grad():
                    expected(pictures())
                self.assertEqual(list(chain.state_dict()), list(expected.state_dict()))
                for name, value in chain.state_dict().items():
                    self.assertTrue(torch.equal(value, expected.state_dict()[name]), name)
                x = pictures(seed=9)
                self.assertTrue(torch.equal(chain(x), expected.eval()(x)))
                self.assertGreater(len(chain(x).unique()), 5)
                self.assertIs(chain[4].body[2], chain[4].shortcut[0])

    def test_a_forward_pass_of_its_own_is_traced(self):
        model = trained(qt.convert(Net(), observer="min_max", weight_bits=4)).eval()
        chain = qt.QuantizedSequential.of(model, pictures())
        own = Net()
        own.load_state_dict(model.state_dict(), strict=False)
        expected = in_eval(qt.QuantizedSequential(own.as_layers(), weight_bits=4))
        with torch.no_grad():
            expected(pictures())
        x = pictures(seed=9)
        self.assertTrue(torch.equal(chain(x), expected.eval()(x)))
        self.assertGreater(len(chain(x).unique()), 5)
        self.assertEqual([name for name, _ in chain.named_children()],
                         ["stem", "bn", "relu", "max_pool2d", "add", "layers_0_relu_2", "add_1", "layers_1_relu_2",
                          "adaptive_avg_pool2d", "flatten", "drop", "fc"])
        self.assertIsInstance(chain.add_1.shortcut[0], nn.Conv2d)
        self.assertFalse(any(module.training for module in chain.modules()))
        model.train().bn.eval()
        chain = qt.QuantizedSequential.of(model, pictures())
        self.assertTrue(chain.training and chain.drop.training and chain.add.body[1].training and not chain.bn.training)

    def test_residual_blocks_in_residual_blocks_and_what_is_none(self):
        class Nested(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = (nn.Conv2d(3, 3, 1) for _ in range(3))

            def forward(self, x):
                y = self.a(x)
                z = self.b(y) + y
                return x + self.c(z)  # the shortcut first

        model = trained(qt.convert(Nested(), observer="min_max")).eval()
        chain = qt.QuantizedSequential.of(model, pictures())
        own = Nested()
        own.load_state_dict(model.state_dict(), strict=False)
        expected = in_eval(qt.QuantizedSequential(qt.Residual([own.a, qt.Residual([own.b], None, False), own.c], None, False)))
        with torch.no_grad():
            expected(pictures())
        self.assertTrue(torch.equal(chain(pictures()), expected.eval()(pictures())))

        class Dense(Nested):
            def forward(self, x):
                y = self.a(x)
                z = self.b(y)
                return self.c(z + y) + z

        class Turned(Nested):
            def forward(self, x):
                return self.a(x).view(-1, 9)

        for net, message in ((Dense(), r"of: layer b \(QuantizedConv2d\) is read in two places that no addition joins"),
                             (Turned(), r"of: the operation view makes \[9\] of \[3, 9, 9\]; allowed: one dimension")):
            with self.assertRaisesRegex(qsim.Unsupported, message):
                qt.QuantizedSequential.of(trained(qt.convert(net)), pictures())

    def test_its_numbers_are_near_the_float_networks(self):
        model = trained(qt.convert(layers(), observer="min_max")).eval()
        plain = layers()
        plain.load_state_dict(model.state_dict(), strict=False)
        chain = qt.QuantizedSequential.of(model, pictures(64))
        y, near = chain(pictures(64)), plain.eval()(pictures(64))
        self.assertLess((y - near).abs().max(), 0.05 * near.abs().max())
        self.assertGreater((y - near).abs().max(), 0)

    def test_its_weights_have_the_models_levels(self):
        model = trained(qt.convert(layers(), weight_bits=4))
        chain = qt.QuantizedSequential.of(model, pictures())
        run = chain.eval().new_run(pictures())
        runs.forward(run, chain.channels_last(pictures()), True)
        convolutions = [(step, kept) for step, kept in zip(chain._plan.steps, run.kept) if step in chain._plan.convolutions()]
        self.assertEqual(len(convolutions), 6)
        for step, (levels, scales, *_) in convolutions:
            expected, own = integer_layer.levels_of_weights(model.get_submodule(step.name))
            levels = levels.permute(0, 3, 1, 2) if expected.dim() == 4 else levels[:, 0, 0]
            self.assertTrue(torch.equal(levels, expected) and torch.equal(scales, own), step.name)
            self.assertEqual(levels.abs().max(), 7)

    def test_the_model_stays_and_the_chain_trains_on(self):
        model = trained(qt.convert(layers(), observer="min_max"))
        model[2].eval()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        chain = qt.QuantizedSequential.of(model, pictures())
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        self.assertTrue(chain.training and chain[7].training and not chain[2].training)
        self.assertTrue(torch.equal(chain[2].running_mean, before["2.running_mean"]))
        chain(pictures()).square().sum().backward()
        self.assertTrue(all(parameter.grad is not None and bool((parameter.grad != 0).any()) for parameter in chain.parameters()))
        self.assertTrue(all(parameter.grad is None for parameter in model.parameters()))
        self.assertFalse(qt.QuantizedSequential.of(model.eval(), pictures()).training)

    def test_one_layer_and_layers_that_convert_did_not_make(self):
        chain = qt.QuantizedSequential.of(trained(qt.QuantizedConv2dReLU(3, 4, 3)), pictures())
        self.assertEqual([type(layer) for layer in chain], [nn.Conv2d, nn.ReLU])
        pool = trained(nn.Sequential(qt.QuantizedConv2dReLU(3, 4, 3), nn.MaxPool2d(2), qt.QuantizedConv2dReLU(4, 4, 3)))
        chain = qt.QuantizedSequential.of(pool, pictures())
        self.assertEqual(list(dict(chain.named_children())), ["0", "0_relu", "1", "2", "2_relu"])
        self.assertTrue((chain(pictures()) >= 0).all())
        self.assertIsInstance(qt.QuantizedSequential.of(nn.Sequential(nn.Conv2d(3, 4, 3)), pictures())[0], nn.Conv2d)

    def test_pictures_may_be_many_with_labels(self):
        model = trained(qt.convert(layers(), observer="min_max")).eval()
        batches = [(factor * pictures(seed=factor), torch.zeros(8)) for factor in (1, 3, 2)]
        chain = qt.QuantizedSequential.of(model, batches, observer="min_max")
        self.assertEqual(chain.levels_state[0, 1], max(float(x.max()) for x, _ in batches))
        self.assertEqual(float(chain.levels_state[0, 2]), 3)

    def test_options_that_a_chain_lacks_are_told_and_may_be_given(self):
        def model(**options):
            return trained(qt.QuantizedConv2d(3, 4, 3, **options))

        of = qt.QuantizedSequential.of
        with self.assertRaisesRegex(qsim.Unsupported, "of: layer model has bits 4; a chain's tensors have 8"):
            of(model(bits=4), pictures())
        with self.assertRaisesRegex(qsim.Unsupported, "the layers have scale learned; allowed: one that a chain has, or scale= as"):
            of(model(scale="learned"), pictures())
        self.assertEqual(of(model(scale="learned"), pictures(), scale="float")[0].weight.dim(), 4)
        mixed = trained(nn.Sequential(qt.QuantizedConv2d(3, 3, 1, weight_bits=4), qt.QuantizedConv2d(3, 3, 1)))
        with self.assertRaisesRegex(qsim.Unsupported, "the layers have weight_bits 4, 8; allowed: one"):
            of(mixed, pictures())
        self.assertEqual(of(mixed, pictures(), weight_bits=8)._settings.weights.hi, 127)
        with self.assertRaisesRegex(qsim.BadInput, "of: there are no pictures; give x, or more of them"):
            of(model(), [])
        with self.assertRaisesRegex(qsim.Unsupported, r"layer 0 \(Upsample\) is not one of its layers"):
            of(nn.Upsample(2), pictures())
        hooked = model()
        hooked.register_forward_hook(lambda *_: None)
        with self.assertRaisesRegex(qsim.Unsupported, r"of: layer QuantizedConv2d \(.*\) has a hook, which would be left out"):
            of(hooked, pictures())

    def test_what_the_chain_would_leave_out_is_refused(self):
        class Added(nn.Module):
            """`y += x` under two names, which torch.fx does not see."""

            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1)

            def forward(self, x):
                y = z = self.a(x)
                y += x
                return self.b(z)

        def nest():
            return trained(qt.convert(layers()))

        hooked, own, pruned = nest(), nest(), nest()
        hooked[0].register_forward_hook(lambda _module, _x, y: 2 * y)
        own[0][0].forward = types.MethodType(lambda self, x: x, own[0][0])
        prune.l1_unstructured(pruned[1], "weight", 0.5)
        changed = trained(nn.Sequential(qt.QuantizedConv2d(3, 3, 1), qt.Residual([nn.Identity(), nn.ReLU(inplace=True)], None, False)))
        for model, message in (
                (trained(qt.convert(Added())), "of: the model gives other numbers than its traced steps; write `y = y"),
                (hooked, r"of: layer 0 \(Sequential\) has a hook, which would be left out; remove it"),
                (own, r"of: layer 0.0 \(QuantizedConv2dReLU\) has a forward of its own, which would be left out; remove it"),
                (pruned, r"of: layer 1 \(QuantizedConv2d\) has a tensor 'weight' that is computed of others; make it"),
                (changed, r"of: layer 1.body.1 \(ReLU\) changes a tensor in place that is read elsewhere too")):
            with self.subTest(message=message), self.assertRaisesRegex(qsim.Unsupported, message) as caught:
                qt.QuantizedSequential.of(model, pictures())
            self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
