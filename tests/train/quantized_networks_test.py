#!/usr/bin/env python3
"""The networks and the step of models/train/train_quantized.py beside PyTorch's. Skips (77) without PyTorch."""
import copy
import pathlib
import sys
import unittest
from unittest import mock

SKIPPED = 77
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models/train"))

try:
    import torch

    from augment import RECIPES, Recipe
    from captured_step import Averaged, Step
    from data import LabelledImages
    from picture_sets import kept
    from train import make_optimizer
    import quantized_networks
    import varied_batches
    import vgg8
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

torch.set_num_threads(1)


class Batches(unittest.TestCase):
    """26 pictures of 4x4 pixels, each of a color of its own, in batches of 4, of which 2 are varied at once."""

    def setUp(self):
        images = torch.arange(26, dtype=torch.uint8).view(-1, 1, 1, 1).expand(26, 3, 4, 4).contiguous()
        self.pictures = kept(LabelledImages(images, torch.arange(26) % 2), ("even", "odd"))
        patch = mock.patch.object(varied_batches, "VARIED_BYTES", 2 * 4 * 4 * 3 * 16 + 1)
        patch.start()
        self.addCleanup(patch.stop)

    def seen(self, recipe, seed, steps):
        """By step: the pictures' numbers where the recipe leaves colors as they are, and all that a step was given."""
        batches = varied_batches.VariedBatches(self.pictures, recipe, 4, seed)
        found = {step: tuple(tensor.clone() for tensor in batches.of(step)) for step in steps}
        return {step: (images[:, 0, 0, 0] * 128 + 128).round().int().tolist() for step, (images, _) in found.items()}, found

    def test_an_epoch_has_each_picture_at_most_once_with_its_label_in_an_order_of_epoch_and_seed(self):
        as_it_is = Recipe("none", shift_px=0, cutout_px=0)
        numbers, given = self.seen(as_it_is, 1, range(12))
        epochs = [sum((numbers[step] for step in range(first, first + 6)), []) for first in (0, 6)]
        for epoch in epochs:
            self.assertEqual(len(set(epoch)), 24)
        self.assertNotEqual(*epochs)
        self.assertNotEqual(numbers[0], self.seen(as_it_is, 2, [0])[0][0])
        for step, (_, shares) in given.items():
            self.assertEqual(shares.argmax(1).tolist(), [number % 2 for number in numbers[step]])

    def test_a_steps_pictures_depend_on_its_number_and_not_on_what_came_before(self):
        _, whole = self.seen(RECIPES["strong"], 1, range(12))
        _, resumed = self.seen(RECIPES["strong"], 1, [9, 3, 4, 2, 5])
        for step, tensors in resumed.items():
            for a, b in zip(tensors, whole[step]):
                self.assertTrue(torch.equal(a, b), step)
        self.assertFalse(torch.equal(whole[0][0], self.seen(RECIPES["strong"], 2, [0])[1][0][0]))


class Steps(unittest.TestCase):
    def test_a_step_is_that_of_pytorchs_sgd(self):
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3)).double()
        other = copy.deepcopy(model)
        step, recipe = Step(model, RECIPES["plain"], 0.0, amp=False, graph=False), RECIPES["plain"]
        optimizer = make_optimizer(other, recipe)
        for number in range(5):
            images, targets = torch.randn(8, 3, 2, 2).double(), torch.rand(8, 3)
            step.run(images, targets, 0.1, number)
            for group in optimizer.param_groups:
                group["lr"] = 0.1
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(other(images).float(), targets, label_smoothing=recipe.label_smoothing).backward()
            optimizer.step()
        for ours, theirs in zip(model.parameters(), other.parameters()):
            torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)

    def test_averages_are_those_of_their_definition(self):
        model = torch.nn.Linear(1, 1, bias=False)
        averaged, expected = Averaged(model, 0.5), float(model.weight)
        for step, value in enumerate((1.0, 3.0, -2.0, 8.0, 5.0, 7.0, 1.0, 2.0, 6.0, 4.0)):
            torch.nn.init.constant_(model.weight, value)
            averaged.set_step(step)
            averaged.update()
            share = min(0.5, (1 + step) / (10 + step))
            expected = share * expected + (1 - share) * value
        self.assertAlmostEqual(float(averaged.network().weight), expected, places=5)

    def test_batch_statistics_are_averaged_and_other_buffers_are_the_last(self):
        model = torch.nn.BatchNorm1d(1)
        averaged = Averaged(model, 0.999)
        for step in range(2):
            model.running_mean.fill_(10.0 * (step + 1))
            model.num_batches_tracked.fill_(step + 5)
            averaged.set_step(step)
            averaged.update()
        found = averaged.network()
        self.assertAlmostEqual(float(found.running_mean), 9.0 * 2 / 11 + 20.0 * 9 / 11, places=5)
        self.assertEqual(int(found.num_batches_tracked), 6)
        self.assertFalse(found.training)


class Networks(unittest.TestCase):
    def test_the_plain_vgg8_computes_what_the_repositorys_float_network_does(self):
        torch.manual_seed(1)
        ours, theirs = quantized_networks.make_network("vgg8", 10, 32, 0.2, None).eval(), vgg8.Vgg8(0.2).eval()
        wanted = [t for spec in vgg8.LAYERS for part in ((theirs.layers, theirs.norms) if spec.relu else (theirs.layers,))
                  for t in part[spec.name].state_dict().values()]
        ours.load_state_dict(dict(zip(ours.state_dict(), wanted)))
        images = torch.randn(2, 3, 32, 32)
        self.assertTrue(torch.equal(ours(images), theirs(images)))
        self.assertGreater(float(ours(images).abs().max()), 0.01)

    def test_vgg16_has_the_layers_of_torchvisions(self):
        shapes = {}
        inputs, index = 3, 0
        for outputs in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
            if outputs:
                shapes |= {f"features.{index}.weight": (outputs, inputs, 3, 3), f"features.{index}.bias": (outputs,)}
                inputs = outputs
            index += 2 if outputs else 1
        for at, (outputs, inputs) in zip((0, 3, 6), ((4096, 25088), (4096, 4096), (1000, 4096))):
            shapes |= {f"classifier.{at}.weight": (outputs, inputs), f"classifier.{at}.bias": (outputs,)}
        with mock.patch.object(torch.nn.init, "kaiming_normal_"), mock.patch.object(torch.nn.init, "kaiming_uniform_"):
            model = quantized_networks.make_network("vgg16", 1000, 224, 0.5, None)
        found = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
        self.assertEqual(quantized_networks.vgg16_weights(shapes), found)


if __name__ == "__main__":
    unittest.main()
