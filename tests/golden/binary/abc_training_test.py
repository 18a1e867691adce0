#!/usr/bin/env python3
"""The scripts that train and emulate binary networks, on a few random pictures on a CPU. Skips (77) without PyTorch."""
import pathlib
import sys
import unittest

TRAIN = pathlib.Path(__file__).resolve().parents[3] / "models/train"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TRAIN))
SKIPPED = 77

try:
    import numpy as np
    import torch
    import abc_emulation
    import abc_network
    import data
    import train_abc
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)


def pictures(count, seed):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 256, (count, 3, 32, 32), generator=generator, dtype=torch.uint8)
    return data.LabelledImages(images, torch.arange(count) % 10)


class AbcTraining(unittest.TestCase):
    def test_the_alphas_are_those_of_least_squares(self):
        weight = torch.randn(5, 3, 3, 3, generator=torch.Generator().manual_seed(1))
        for bases in abc_network.NORMAL_U:
            u = torch.tensor(abc_network.NORMAL_U[bases])
            ((signs, alpha),) = abc_network.approximate_weights([weight], u)
            for channel in range(5):
                expected = np.linalg.lstsq(signs[channel].T.numpy(), weight[channel].flatten().numpy(), rcond=None)[0]
                np.testing.assert_allclose(alpha[channel], expected, rtol=1e-3, atol=1e-5)

    def test_a_base_that_repeats_an_earlier_one_has_alpha_0(self):
        weight = torch.randn(2, 1, 3, 3, generator=torch.Generator().manual_seed(2))
        ((_, alpha),) = abc_network.approximate_weights([weight], torch.tensor([0.0, 0.0]))
        self.assertTrue(bool((alpha[:, 1] == 0).all() and (alpha[:, 0] > 0).all()))

    def test_channels_of_several_sizes_are_approximated_as_each_by_itself(self):
        generator = torch.Generator().manual_seed(9)
        weights = [torch.randn(4, channels, 3, 3, generator=generator) for channels in (2, 5, 3)]
        u = torch.tensor(abc_network.NORMAL_U[3])
        for weight, (bases, alpha) in zip(weights, abc_network.approximate_weights(weights, u)):
            ((own_bases, own_alpha),) = abc_network.approximate_weights([weight], u)
            self.assertTrue(torch.equal(bases, own_bases))
            torch.testing.assert_close(alpha, own_alpha)

    def test_gradients_pass_where_a_threshold_is_near(self):
        x = torch.tensor([-0.5, 0.2, 0.6, 5.0], requires_grad=True)
        v, beta = torch.tensor([0.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
        y = abc_network.Quantize.apply(x, v, beta)
        self.assertEqual(y.tolist(), [-2.0, -2.0, 2.0, 2.0])
        y.backward(torch.tensor([1.0, 10.0, 100.0, 1000.0]))
        self.assertEqual(x.grad.tolist(), [0.0, 40.0, 400.0, 0.0])
        self.assertEqual(v.grad.tolist(), [444.0])  # ReLU's 0 is within reach of v too
        self.assertEqual(beta.grad.tolist(), [1089.0])

    def test_a_tiny_training_moves_all_parameters_and_its_network_is_emulated(self):
        kept = []
        trainers, rows = train_abc.train(pictures(16, 3), pictures(4, 4), train_abc.methods_of([2]), epochs=2, batch=8, seed=1,
                                         end=0, keep=lambda trainer, row: kept.append(row))
        self.assertEqual([(row["name"], row["bases"], row["epochs"]) for row in rows],
                         [("float", 0, 2), ("M = N = 2", 2, 4), ("float, as long", 0, 4)])
        self.assertEqual(kept, rows)
        model = trainers[1].model
        fresh = train_abc.Trainer(trainers[1].method, trainers[1].images, trainers[1].labels, trainers[1].rate, 1).model
        for (name, a), b in zip(model.named_parameters(), fresh.parameters()):
            self.assertFalse(torch.equal(a, b), name)
        state = {k: t.detach().float().numpy() for k, t in model.state_dict().items() if t.is_floating_point()}
        layers = list(abc_emulation.emulate(state, pictures(1, 5).images))
        self.assertEqual([signs.shape[1] for _, _, signs in layers], [32, 32, 16, 16, 8, 8, 8, 4, 4])
        self.assertEqual(abc_emulation.pack(layers[-1][2]).shape, (1, 4, 4, 2, 1))
        words = abc_emulation.pack(layers[3][2])  # 48 channels: the rest of a word is 0
        self.assertFalse(bool((words >> np.uint64(48)).any()))

    def test_the_teacher_has_half_of_a_binary_networks_loss_and_none_of_a_float_networks(self):
        images, labels, rate = torch.zeros(4, 3, 32, 32), torch.arange(4), torch.ones(())
        logits = torch.randn(4, 10, generator=torch.Generator().manual_seed(8))
        loss = torch.tensor(1.5)
        for bases, same, other in ((0, 1.5, 1.5), (1, 0.75, None)):
            trainer = train_abc.Trainer(train_abc.Method("", bases, 0.1), images, labels, rate, 1, teacher=logits)
            self.assertAlmostEqual(float(trainer.with_teacher(loss, logits.clone())), same, places=5)
            moved = float(trainer.with_teacher(loss, logits + torch.arange(10.0)))
            self.assertEqual(moved, other) if other else self.assertGreater(moved, same)

    def test_the_emulation_is_the_trained_networks_inference(self):
        torch.manual_seed(7)
        model = abc_network.AbcNet(3).eval()
        with torch.no_grad():
            images = pictures(2, 6)
            x = model.quantizers[0](model.norms[0](model.first(data.normalize(images.images))))
            for at, (layer, weight) in enumerate(zip(abc_network.LAYERS, model.weights()), 1):
                x = torch.nn.functional.conv2d(x, weight, padding=1)
                x = torch.nn.functional.max_pool2d(x, 2) if layer.pool else x
                x = model.quantizers[at](model.norms[at](x))
        state = {k: t.detach().float().numpy() for k, t in model.state_dict().items() if t.is_floating_point()}
        *_, (_, _, signs) = abc_emulation.emulate(state, images.images)
        beta = state["quantizers.8.beta"]
        emulated = np.einsum("nhwbc,b->nchw", signs, beta)
        self.assertGreater(np.mean(np.abs(emulated - x.numpy()) < 1e-3), 0.99)  # floats of another order near a threshold


if __name__ == "__main__":
    unittest.main()
