"""QuantizedSequential as a module: state_dict, modes, double use, edges, refusals; it learns."""
import copy
import pickle
import unittest

import torch

import qsim
import qsim.torch as qt

nn = torch.nn
SEED = 20261123


def layers():
    torch.manual_seed(SEED)
    return [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            qt.Residual([nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)]), nn.AvgPool2d(2),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)]


def pictures(count=6, seed=1):
    return torch.randn(count, 3, 9, 8, generator=torch.Generator().manual_seed(seed))


def gradients(chain):
    return [parameter.grad.clone() for parameter in chain.parameters()]


def backward(chain, *batches):
    """The gradients of the sum of the chain's outputs."""
    chain.zero_grad(set_to_none=True)
    sum(chain(x).square().sum() for x in batches).backward()
    return gradients(chain)


class Module(unittest.TestCase):
    def setUp(self):
        self.chain = qt.QuantizedSequential(*layers())

    def equal(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertTrue(torch.equal(one, other))

    def test_a_float_networks_weights_load_and_two_entries_are_its_own(self):
        plain = nn.Sequential(*layers())
        nn.init.normal_(plain[0].weight)
        self.assertEqual(set(self.chain.state_dict()), {*plain.state_dict(), "levels_state", "levels_scale"})
        self.chain(pictures())
        self.chain.load_state_dict(plain.state_dict())
        self.assertTrue(torch.equal(self.chain[0].weight, plain[0].weight))
        with self.assertRaisesRegex(qsim.BadInput, "its scales are not known before the first step in training mode"):
            self.chain.eval()(pictures())
        with self.assertRaisesRegex(RuntimeError, "Missing key"):
            self.chain.load_state_dict({"levels_state": self.chain.levels_state})

    def test_training_goes_on_bit_for_bit_after_a_state_dict_and_after_pickling(self):
        for seed in range(3):
            self.chain(pictures(seed=seed))
        resumed = qt.QuantizedSequential(*layers())
        resumed.load_state_dict(self.chain.state_dict())
        others = [resumed, pickle.loads(pickle.dumps(self.chain)), copy.deepcopy(self.chain)]
        expected, scales = backward(self.chain, pictures(seed=9)), self.chain.levels_scale
        for other in others:
            self.equal(backward(other, pictures(seed=9)), expected)
            self.assertTrue(torch.equal(other.levels_scale, scales))
            self.assertTrue(torch.equal(other.eval()(pictures()), self.chain.eval()(pictures())))
            self.chain.train()

    def test_eval_changes_nothing_and_training_moves_scales_and_statistics(self):
        before = copy.deepcopy(self.chain.state_dict())
        self.chain(pictures())
        after = copy.deepcopy(self.chain.state_dict())
        for name in ("levels_state", "levels_scale", "1.running_mean", "1.running_var", "4.body.1.num_batches_tracked"):
            self.assertFalse(torch.equal(before[name], after[name]), name)
        self.chain.eval()(3 * pictures())
        for name, value in self.chain.state_dict().items():
            self.assertTrue(torch.equal(value, after[name]), name)

    def test_running_statistics_are_those_of_torch(self):
        """Of a BatchNorm2d that reads what the convolution gives, on the numbers that the levels stand for."""
        for momentum in (0.1, None):
            conv, norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=momentum)
            chain = qt.QuantizedSequential(conv, norm, input_scale=1 / 32)
            plain = nn.BatchNorm2d(4, momentum=momentum).double()
            x = (pictures() * 32).round().clamp(-128, 127) / 32
            with torch.no_grad():
                scale = conv.weight.abs().amax((1, 2, 3), keepdim=True) / 127
                conv.weight.copy_((conv.weight / scale).round() * scale)  # levels again
            for count in (1, 2, 3):
                chain(count * x)
                exact = (count * x * 32).clamp(-128, 127).double() / 32
                plain(nn.functional.conv2d(exact, conv.weight.detach().double(), conv.bias.detach().double()))
                torch.testing.assert_close(norm.running_mean.double(), plain.running_mean, rtol=1e-6, atol=1e-6)
                torch.testing.assert_close(norm.running_var.double(), plain.running_var, rtol=1e-6, atol=1e-6)
            self.assertEqual(int(norm.num_batches_tracked), 3)

    def test_a_chain_used_twice_in_one_graph_has_the_sum_of_the_gradients(self):
        self.chain(pictures())
        self.chain.eval()
        one, other = backward(self.chain, pictures(seed=2)), backward(self.chain, pictures(seed=3))
        self.equal(backward(self.chain, pictures(seed=2), pictures(seed=3)), [a + b for a, b in zip(one, other)])
        self.chain.train()  # scales move between the two uses; each has its own
        copied = copy.deepcopy(self.chain)
        first = backward(copied, pictures(seed=2))
        second = backward(copied, pictures(seed=3))
        self.equal(backward(self.chain, pictures(seed=2), pictures(seed=3)), [a + b for a, b in zip(first, second)])

    def test_a_graph_that_is_kept_gives_the_same_gradients_again(self):
        loss = self.chain(pictures()).square().sum()
        loss.backward(retain_graph=True)
        first = gradients(self.chain)
        self.chain.zero_grad()
        loss.backward()
        self.equal(gradients(self.chain), first)

    def test_zeros_are_defined(self):
        x = pictures().requires_grad_()
        self.chain(x).backward(torch.zeros(6, 5))
        for gradient in [x.grad, *gradients(self.chain)]:
            self.assertFalse(gradient.any())
        for parameter in self.chain.parameters():
            nn.init.zeros_(parameter)
        empty = qt.QuantizedSequential(*self.chain.children())
        for _ in range(2):
            self.assertFalse(empty(torch.zeros(6, 3, 9, 8)).any())
            backward(empty, torch.zeros(6, 3, 9, 8))
            self.assertFalse(any(gradient.any() for gradient in gradients(empty)[:-1]))
        self.assertTrue(torch.isfinite(empty.levels_scale).all())

    def test_an_empty_batch_has_an_empty_result_in_eval_alone(self):
        with self.assertRaisesRegex(qsim.BadInput, r"x has the shape \(0, 3, 9, 8\); a training step needs one picture"):
            self.chain(pictures(0))
        self.chain(pictures())
        y = self.chain.eval()(pictures(0).requires_grad_())
        self.assertEqual(y.shape, (0, 5))
        y.sum().backward()
        self.assertFalse(any(gradient.any() for gradient in gradients(self.chain)))

    def test_frozen_layers_and_inputs_have_no_gradients(self):
        self.chain[0].weight.requires_grad_(False)
        self.chain[8].requires_grad_(False)
        x = pictures()
        self.chain(x).sum().backward()
        self.assertIsNone(x.grad)
        found = {name for name, parameter in self.chain.named_parameters() if parameter.grad is not None}
        self.assertEqual(found, {name for name, parameter in self.chain.named_parameters() if parameter.requires_grad})

    def test_strides_threads_types_and_autocast_change_no_bit(self):
        x = pictures().half().float()
        expected = backward(copy.deepcopy(self.chain), x)
        wide = torch.empty(12, 3, 9, 16)[::2, :, :, ::2].copy_(x)
        for given in (x.contiguous(memory_format=torch.channels_last), wide, x.half()):
            self.equal(backward(copy.deepcopy(self.chain), given), expected)
        qt.set_threads(2)
        self.equal(backward(copy.deepcopy(self.chain), x), expected)
        qt.set_threads(1)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(self.chain(x).dtype, torch.float32)
        gradient = x.half().requires_grad_()
        self.chain(gradient).sum().backward()
        self.assertEqual((gradient.grad.dtype, gradient.grad.shape), (torch.float16, x.shape))

    def test_a_branch_that_starts_at_zero_is_not_clamped_when_it_wakes(self):
        chain = qt.QuantizedSequential(nn.Conv2d(3, 3, 1), qt.Residual([nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3)]))
        norm = chain[1].body[1]
        nn.init.zeros_(norm.weight)
        for _ in range(2):
            chain(pictures())
        self.assertEqual(float(chain.levels_scale[2]), 1.0)
        nn.init.ones_(norm.weight)
        chain(pictures())
        most = float(chain.levels_state[2, :2].abs().max())
        self.assertGreater(most, 1.0)
        self.assertLess(abs(float(chain.levels_scale[2]) * 127 - most), 1e-6 * most)

    def test_a_bias_far_above_the_weights_is_not_lost(self):
        """Around the threshold, where a unit of the sums is 2^-30 of the bias."""
        for weight in (1e-3, 1e-4, 2e-4 * 0.38, 1e-5, 1e-6, 1e-20):
            conv = nn.Conv2d(1, 1, 1)
            nn.init.constant_(conv.weight, weight)
            nn.init.constant_(conv.bias, 5.0)
            chain = qt.QuantizedSequential(conv, input_scale=1 / 128)
            x = torch.rand(2, 1, 4, 4)
            for _ in range(2):
                torch.testing.assert_close(chain(x), conv(x), rtol=0.01, atol=0.0)
            torch.testing.assert_close(chain.eval()(x), conv(x), rtol=0.01, atol=0.0)
            chain(x).sum().backward()
            self.assertEqual(float(conv.bias.grad), 32.0)

    def test_a_residual_block_is_a_plain_module_too(self):
        x = pictures()
        block = qt.Residual([nn.Conv2d(3, 3, 1)], [nn.Conv2d(3, 3, 1)])
        self.assertTrue(torch.equal(block(x), torch.relu(block.body(x) + block.shortcut(x))))
        self.assertTrue(torch.equal(qt.Residual([nn.Conv2d(3, 3, 1)], relu=False).shortcut(x), x))

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch 1 has no torch.compile")
    def test_torch_compile_calls_it_as_it_is(self):
        plain = nn.Sequential(self.chain, nn.Linear(5, 2))
        other = copy.deepcopy(plain)
        compiled = torch.compile(other)
        for seed in range(2):
            self.assertTrue(torch.equal(compiled(pictures(seed=seed)), plain(pictures(seed=seed))))
            self.equal(backward(compiled, pictures()), backward(plain, pictures()))

    def test_a_chain_learns(self):
        x, labels = pictures(40), torch.arange(40) % 5
        optimizer = torch.optim.SGD(self.chain.parameters(), lr=0.1, momentum=0.9)
        losses = []
        for _ in range(60):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.chain(x), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.3 * losses[0])
        with torch.no_grad():
            self.assertLess(nn.functional.cross_entropy(self.chain.eval()(x), labels), 0.6 * losses[0])


class Refusals(unittest.TestCase):
    def refused(self, text, *given, error=qsim.Unsupported, **options):
        with self.assertRaisesRegex(error, text):
            qt.QuantizedSequential(*given, **options)

    def test_layers_that_it_has_not_are_refused_by_name(self):
        conv = nn.Conv2d(3, 3, 3)
        self.refused("layer 1 \\(Sigmoid\\) is not one of its layers; allowed: Conv2d", conv, nn.Sigmoid())
        self.refused("layer 0 \\(BatchNorm2d\\) does not follow a Conv2d or Linear directly", nn.BatchNorm2d(3), conv)
        self.refused("layer 1 \\(BatchNorm1d\\) does not follow a Linear directly", conv, nn.BatchNorm1d(3))
        self.refused("has no running statistics", conv, nn.BatchNorm2d(3, track_running_stats=False))
        self.refused("layer 2 \\(ReLU\\) does not follow", conv, nn.MaxPool2d(2), nn.ReLU())
        self.refused("layer 1 \\(MaxPool2d\\) has ceil_mode or return_indices", conv, nn.MaxPool2d(2, ceil_mode=True))
        self.refused("has ceil_mode, divisor_override or count_include_pad", conv, nn.AvgPool2d(2, divisor_override=3))
        self.refused("has output_size 2; allowed: 1", conv, nn.AdaptiveAvgPool2d(2))
        self.refused("does not join all dimensions but the first", conv, nn.Flatten(2))
        self.refused("layer 1 \\(Linear\\) reads pictures; put a Flatten before it", conv, nn.Linear(3, 3))
        self.refused("layer 2 \\(Conv2d\\) comes after Flatten", conv, nn.Flatten(), nn.Conv2d(3, 3, 1))
        self.refused("has padding_mode 'reflect'; allowed: zeros", nn.Conv2d(3, 3, 3, padding=1, padding_mode="reflect"))
        self.refused("has p 1; allowed: 0 to below 1", conv, nn.Dropout(1))
        self.refused("layer 1.body.0 \\(ReLU\\) does not follow", conv, qt.Residual([nn.ReLU(), nn.Conv2d(3, 3, 1)]))
        self.refused("layer 1 \\(Residual\\) has an empty body", conv, qt.Residual([]))
        self.refused("has no Conv2d and no Linear", nn.Flatten())

    def test_options_and_inputs_are_checked(self):
        conv = nn.Conv2d(3, 3, 3)
        bad = qsim.BadInput
        self.refused("rounding is 'up'; allowed: half_even, toward_zero", conv, rounding="up", error=bad)
        self.refused("scale is 'log'; allowed: float, power_of_two", conv, scale="log", error=bad)
        self.refused("observer is 'none'; allowed: last, min_max, moving_average", conv, observer="none", error=bad)
        self.refused("weight_bits is 9; allowed: 2 to 8", conv, weight_bits=9, error=bad)
        self.refused("momentum is -0.5; allowed: above 0, to 1", conv, momentum=-0.5, error=bad)
        self.refused("input_scale is 0.0; allowed: 2\\^-126 and more", conv, input_scale=0.0, error=bad)
        for x, text in ((torch.zeros(3, 4, 4), "x is torch.float32 with 3 dimensions; allowed: .* with 4"),
                        (torch.zeros(1, 3, 4, 4, dtype=torch.int8), "x is torch.int8 with 4 dimensions"),
                        (torch.zeros(1, 3, 4, 4, dtype=torch.float64), "x is torch.float64 with 4 dimensions; allowed: float32")):
            with self.assertRaisesRegex(bad, text):
                qt.QuantizedSequential(conv)(x)
        with self.assertRaisesRegex(bad, "its buffers are torch.float16; allowed: float32"):
            qt.QuantizedSequential(nn.Conv2d(3, 3, 3)).half()(pictures())
        with self.assertRaisesRegex(bad, "the weights of layer 0 are torch.float64; allowed: float32"):
            qt.QuantizedSequential(nn.Conv2d(3, 3, 3).double())(pictures())
        with self.assertRaisesRegex(bad, "BatchNorm2d: 1 values a channel; a training step needs 2 and more"):
            qt.QuantizedSequential(nn.Conv2d(3, 3, (9, 8)), nn.BatchNorm2d(3))(pictures(1))
        with self.assertRaisesRegex(bad, "BatchNorm1d: 1 values a channel; a training step needs 2 and more"):
            qt.QuantizedSequential(nn.Linear(3, 3), nn.BatchNorm1d(3))(torch.ones(1, 3))
        with self.assertRaisesRegex(bad, "layer 0 adds tensors of the shapes"):
            qt.QuantizedSequential(qt.Residual([nn.Conv2d(3, 3, 3)]))(pictures())


if __name__ == "__main__":
    unittest.main()
