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

    def test_gradients_pass_where_a_threshold_is_near(self):
        x = torch.tensor([-0.5, 0.2, 0.6, 5.0], requires_grad=True)
        v, beta = torch.tensor([0.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
        y = abc_network.Quantize.apply(x, v, beta)
        self.assertEqual(y.tolist(), [-2.0, -2.0, 2.0, 2.0])
        y.backward(torch.tensor([1.0, 10.0, 100.0, 1000.0]))
        self.assertEqual(x.grad.tolist(), [0.0, 20.0, 200.0, 0.0])
        self.assertEqual(v.grad.tolist(), [222.0])  # ReLU's 0 is within reach of v too
        self.assertEqual(beta.grad.tolist(), [1089.0])

    def test_a_tiny_training_moves_all_parameters_and_its_network_is_emulated(self):
        kept = []
        trainers, rows = train_abc.train(pictures(16, 3), pictures(4, 4), [0, 2], epochs=2, batch=8, seed=1, seconds=0,
                                         keep=lambda trainer, row: kept.append(row))
        self.assertEqual([(row["bases"], row["epochs"]) for row in rows], [(0, 2), (2, 2)])
        self.assertEqual(kept, rows)
        model = trainers[1].model
        fresh = train_abc.Trainer(2, trainers[1].images, trainers[1].labels, trainers[1].rate, 1).model
        for (name, a), b in zip(model.named_parameters(), fresh.parameters()):
            self.assertFalse(torch.equal(a, b), name)
        state = {k: t.detach().float().numpy() for k, t in model.state_dict().items() if t.is_floating_point()}
        layers = list(abc_emulation.emulate(state, pictures(1, 5).images))
        self.assertEqual([signs.shape[1] for _, _, signs in layers], [32, 32, 16, 16, 8, 8, 8, 4, 4])
        self.assertEqual(abc_emulation.pack(layers[-1][2]).shape, (1, 4, 4, 2, 1))
        words = abc_emulation.pack(layers[3][2])  # 48 channels: the rest of a word is 0
        self.assertFalse(bool((words >> np.uint64(48)).any()))

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
