"""Quantized layers beside the arithmetic: states, modes, odd inputs, convert(), autocast, graphs and torch.compile."""
import copy
import math
import pickle
import unittest

from on_cuda import SEED, spread, torch

import qsim
import qsim.torch as qt
from qsim._library import has_cuda

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and has_cuda() else [])
nn = torch.nn


def pictures(*shape, device="cpu", dtype=torch.float32):
    return torch.randn(*shape).to(dtype).to(device)


def step_terms(values, scale, zero_point, lo, hi):
    """What a value adds to its step's gradient, for each unit of its own gradient: learned step size quantization, (3)."""
    levels = torch.round(values / scale) + zero_point
    kept = levels.clamp(lo, hi)
    return torch.where(levels == kept, kept - zero_point - values / scale, kept - zero_point).abs()


def magnitudes(twin, name, x, dy):
    """The largest sum of magnitudes of the terms of a step's gradient, which cancel: of a linear layer that learns its steps."""
    o, w = twin.options, twin.weight.detach()
    x, dy = x.flatten(0, -2), dy.flatten(0, -2)
    if name == "observer.scale":
        terms = step_terms(x, twin.observer.scale.detach(), twin.observer.zero_point, o.lo, o.hi)
        return float((dy.abs() @ w.abs() * terms).sum()) / math.sqrt(len(w[0]) * o.hi)
    terms = step_terms(w, twin.weight_step.detach()[:, None], 0, -o.weight_hi, o.weight_hi)
    return float((dy.abs().T @ x.abs() * terms).sum(1).max()) / math.sqrt(len(w[0]) * o.weight_hi)


class Layers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(SEED)

    def refused(self, message, work):
        with self.assertRaises(qsim.BadInput) as caught:
            work()
        self.assertEqual(str(caught.exception), message)


class States(Layers):
    def test_a_float_layers_state_is_taken_and_a_quantized_ones_comes_back(self):
        for scale in ("float", "learned", 0.05):
            for quantized, plain in ((qt.QuantizedConv2d(3, 4, 3, scale=scale), nn.Conv2d(3, 4, 3)),
                                     (qt.QuantizedLinear(6, 4, scale=scale), nn.Linear(6, 4))):
                quantized.load_state_dict(plain.state_dict())
                self.assertTrue(torch.equal(quantized.weight, plain.weight))
                if scale == "learned":
                    step = 2 * plain.weight[1].abs().mean() / 127**0.5
                    torch.testing.assert_close(quantized.weight_step[1], step)
                x = pictures(2, 3, 5, 6)[:, :quantized.weight.shape[1] if quantized.weight.dim() == 4 else 3]
                quantized(x)
                other = copy.deepcopy(quantized)
                fresh = type(quantized)(*((3, 4, 3) if quantized.weight.dim() == 4 else (6, 4)), scale=scale)
                fresh.load_state_dict(quantized.state_dict())
                unpickled = pickle.loads(pickle.dumps(quantized))
                expected = quantized.eval()(x)
                for same in (other, fresh, unpickled):
                    self.assertTrue(torch.equal(same.eval()(x), expected))
        names = set(qt.QuantizedConv2d(3, 4, 3, zero_points=True).state_dict())
        self.assertEqual(names, {"weight", "bias", "observer.range_state", "observer.scale", "observer.zero_point"})

    def test_a_state_without_a_part_is_refused(self):
        state = qt.QuantizedConv2d(3, 4, 3, scale="learned").state_dict()
        del state["weight_step"]
        with self.assertRaisesRegex(RuntimeError, "weight_step"):
            qt.QuantizedConv2d(3, 4, 3, scale="learned").load_state_dict(state)

    def test_scales_are_those_of_the_options(self):
        first, second = torch.tensor([[-2.0, 0.5, 1.0, 3.0]]), torch.tensor([[-5.0, 0.5, 1.0, 1.5]])
        cases = ({"observer": "last"}, 5 / 127), ({"observer": "min_max"}, 5 / 127), \
            ({"observer": "min_max", "zero_points": True}, 8 / 255), \
            ({"observer": "moving_average", "momentum": 0.5}, 3.5 / 127), \
            ({"observer": "moving_average", "momentum": 0.5, "zero_points": True}, (3.5 + 2.25) / 255), \
            ({"observer": "percentile", "percentile": 75.0, "momentum": 0.5}, (2.0 + 1.5) / 2 / 127), \
            ({"observer": "percentile", "percentile": 75.0, "momentum": 1.0, "zero_points": True}, (1.0 + 0.0) / 255), \
            ({"observer": "last", "bits": 4}, 5 / 7), ({"scale": "power_of_two"}, 0.0625), ({"scale": 0.25}, 0.25), \
            ({"scale": "learned"}, 2 * 1.625 / 127**0.5), ({"scale": "learned", "zero_points": True}, 5 / 255)
        for options, expected in cases:
            layer = qt.QuantizedLinear(4, 2, **options)
            layer(first)
            layer(second)
            self.assertAlmostEqual(layer.observer.scale.item(), expected, delta=1e-6 * expected, msg=str(options))

    def test_a_percentile_is_of_finite_numbers_alone(self):
        x = torch.cat((torch.arange(1.0, 101.0), torch.tensor([float("nan"), float("inf"), -float("inf")]))).reshape(1, -1)
        for percentile, expected in ((75.0, 75.0), (75.1, 76.0), (100.0, 100.0), (0.5, 1.0)):
            layer = qt.QuantizedLinear(103, 1, observer="percentile", percentile=percentile)
            layer(x)
            self.assertEqual(layer.observer.range_state.tolist(), [-expected, expected, 1.0])
        layer(torch.full((2, 103), float("nan")))
        self.assertEqual(layer.observer.range_state.tolist(), [-expected, expected, 1.0])

    def test_eval_freezes_scales_and_changes_no_state(self):
        for options in ({}, {"zero_points": True}, {"observer": "percentile"}, {"scale": "learned"}):
            layer = qt.QuantizedConv2d(3, 4, 3, **options)
            layer(pictures(2, 3, 6, 6))
            layer.eval()
            before = {name: value.clone() for name, value in layer.state_dict().items()}
            x = 5 * pictures(2, 3, 6, 6)
            y = layer(x)
            for name, value in layer.state_dict().items():
                self.assertTrue(torch.equal(value, before[name]), name)
            with torch.no_grad():
                self.assertTrue(torch.equal(layer(x), y))
                layer.weight.mul_(-1)
                layer.bias.mul_(-1)
                self.assertTrue(torch.equal(layer(x), -y))  # weights are quantized as they are

    def test_what_has_no_scale_yet_is_told(self):
        message = ("a quantized layer in eval mode has seen no input; call it in train mode first, load a state, or give a "
                   "number as scale")
        for scale in ("float", "learned"):
            self.refused(message, lambda: qt.QuantizedLinear(4, 2, scale=scale).eval()(torch.ones(1, 4)))
        qt.QuantizedLinear(4, 2, scale=0.1).eval()(torch.ones(1, 4))

    def test_bad_options_and_inputs_are_told(self):
        self.refused("bits is 9; allowed: 2 to 8", lambda: qt.LayerOptions(bits=9))
        self.refused("weight_bits is 1; allowed: 2 to 8", lambda: qt.LayerOptions(weight_bits=1))
        self.refused("rounding is 'up'; allowed: half_even, toward_zero", lambda: qt.LayerOptions(rounding="up"))
        self.refused("observer is 'none'; allowed: last, min_max, moving_average, percentile", lambda: qt.LayerOptions(observer="none"))
        self.refused("scale is 'big'; allowed: float, power_of_two, learned", lambda: qt.LayerOptions(scale="big"))
        self.refused("scale is 0.0; allowed: float, power_of_two, learned, and numbers from 2^-126 on", lambda: qt.LayerOptions(scale=0.0))
        self.refused("zero_points is 'no'; allowed: True and False", lambda: qt.LayerOptions(zero_points="no"))
        self.refused("per_channel is 1; allowed: True and False", lambda: qt.QuantizedLinear(4, 2, per_channel=1))
        self.refused("zero_points is 'no'; allowed: True and False", lambda: qt.QuantizedSequential(nn.Linear(4, 2), zero_points="no"))
        for scale in ("power_of_two", 0.05):
            message = f"zero_points with the scale {scale}; allowed: with the scales float and learned"
            self.refused(message, lambda: qt.QuantizedLinear(4, 2, scale=scale, zero_points=True))
            self.refused(message, lambda: qt.TorchConv2d(4, 2, 1, scale=scale, zero_points=True))
            self.refused(message, lambda: qt.convert(nn.Sequential(nn.Linear(4, 2)), scale=scale, zero_points=True))
        self.refused("momentum is 0; allowed: above 0, to 1", lambda: qt.LayerOptions(momentum=0))
        self.refused("percentile is 101; allowed: above 0, to 100", lambda: qt.LayerOptions(percentile=101))
        self.refused("QuantizedConv2dReLU: x has the shape [2, 4, 5, 5]; allowed: [B, 3, H, W], or without B",
                     lambda: qt.QuantizedConv2dReLU(3, 4, 3)(torch.ones(2, 4, 5, 5)))
        self.refused("QuantizedLinear: x has the shape [2, 3]; allowed: [..., 4]", lambda: qt.QuantizedLinear(4, 2)(torch.ones(2, 3)))
        with self.assertRaisesRegex(qsim.BadInput, "float64"):
            qt.QuantizedLinear(4, 2)(torch.ones(2, 4).double())


class Inputs(Layers):
    def test_an_empty_batch_gives_an_empty_result_and_zero_gradients(self):
        for device in DEVICES:
            for layer, shape, expected in ((qt.QuantizedConv2dReLU(3, 4, 3, scale="learned"), (0, 3, 6, 5), (0, 4, 4, 3)),
                                           (qt.QuantizedLinear(3, 4), (0, 7, 3), (0, 7, 4))):
                layer.to(device)
                x = pictures(*shape, device=device).requires_grad_()
                y = layer(x)
                self.assertEqual(tuple(y.shape), expected)
                y.sum().backward()
                self.assertEqual(x.grad.shape, x.shape)
                for parameter in layer.parameters():
                    self.assertTrue(torch.equal(parameter.grad, torch.zeros_like(parameter)))
                self.assertEqual(layer.observer.range_state[2].item(), 0)  # nothing was seen
                with self.assertRaisesRegex(qsim.BadInput, "has seen no input"):
                    layer.eval()(pictures(2, *shape[1:], device=device))

    def test_zeros_are_defined(self):
        for device in DEVICES:
            layer = qt.QuantizedConv2d(3, 4, 3).to(device)
            x = torch.zeros(2, 3, 6, 5, device=device, requires_grad=True)
            y = layer(x)
            self.assertTrue(torch.equal(y, layer.bias.detach().reshape(-1, 1, 1).expand_as(y)))
            self.assertEqual(layer.observer.scale.item(), 1)
            y.backward(torch.ones_like(y))
            self.assertEqual(layer.weight.grad.abs().max().item(), 0)
            self.assertGreater(x.grad.abs().max().item(), 0)
            with torch.no_grad():
                layer.weight[1] = 0
            x = pictures(2, 3, 6, 5, device=device).requires_grad_()
            y = layer(x)
            self.assertTrue(torch.equal(y[:, 1], layer.bias.detach()[1].expand_as(y[:, 1])))
            layer.weight.grad = None
            y.backward(torch.ones_like(y))
            self.assertGreater(layer.weight.grad[1].abs().max().item(), 0)
            x.grad = layer.weight.grad = None
            layer(x).backward(torch.zeros_like(y))
            self.assertEqual(max(x.grad.abs().max().item(), layer.weight.grad.abs().max().item()), 0)

    def test_weights_that_are_not_finite_have_no_gradient(self):
        for device in DEVICES:
            layer = qt.QuantizedConv2d(3, 4, 3).to(device)
            with torch.no_grad():
                layer.weight[0, 0, 0, 0], layer.weight[1, 2, 1, 1] = float("inf"), float("nan")
            y = layer(pictures(2, 3, 6, 5, device=device))
            self.assertTrue(torch.isfinite(y).all())
            y.square().sum().backward()
            self.assertEqual((layer.weight.grad == 0).nonzero().tolist(), [[0, 0, 0, 0], [1, 2, 1, 1]])

    def test_results_and_gradients_have_the_memory_format_of_x(self):
        for device in DEVICES:
            layer = qt.QuantizedConv2d(3, 4, 3).to(device)
            for memory, other in ((torch.contiguous_format, torch.channels_last), (torch.channels_last, torch.contiguous_format)):
                x = pictures(2, 3, 6, 5, device=device).contiguous(memory_format=memory).requires_grad_()
                y = layer(x)
                gradient, = torch.autograd.grad(y.sum(), x)
                for tensor in (y, gradient):
                    self.assertTrue(tensor.is_contiguous(memory_format=memory))
                    self.assertFalse(tensor.is_contiguous(memory_format=other))

    def test_strides_and_expanded_gradients_change_nothing(self):
        for device in DEVICES:
            layer = qt.QuantizedConv2dReLU(3, 4, 3).to(device)
            x = pictures(2, 3, 6, 5, device=device)
            found = []
            for given in (x, spread(x), x.contiguous(memory_format=torch.channels_last), x.flip(3).flip(3)):
                given = given.detach().requires_grad_()
                y = layer(given)
                layer.weight.grad = None
                y.sum().backward()  # a gradient whose strides are 0
                found.append((y, given.grad, layer.weight.grad))
            for other in found[1:]:
                for one, two in zip(found[0], other):
                    self.assertTrue(torch.equal(one, two))

    def test_a_layer_used_twice_has_the_sum_of_both_gradients(self):
        for options in ({}, {"scale": "learned"}, {"observer": "moving_average", "zero_points": True}):
            layer = qt.QuantizedConv2d(3, 3, 3, padding=1, **options)
            layer(pictures(2, 3, 6, 5))
            twice = copy.deepcopy(layer)
            x = pictures(2, 3, 6, 5)
            middle = layer(x)
            y = layer(middle)
            dy = pictures(*y.shape)
            parameters = [p for p in layer.parameters()]
            found = torch.autograd.grad(y, parameters, dy)
            first = twice(x)
            after = copy.deepcopy(twice)  # so that the second input does not change what the first is differentiated with
            given = first.detach().requires_grad_()
            late = torch.autograd.grad(after(given), [given, *after.parameters()], dy)
            early = torch.autograd.grad(first, [p for p in twice.parameters()], late[0])
            for one, a, b in zip(found, late[1:], early):
                self.assertTrue(torch.equal(one, a + b))

    def test_a_second_derivative_is_refused(self):
        layer = qt.QuantizedConv2d(3, 4, 3)
        x = pictures(2, 3, 6, 5).requires_grad_()
        slope, = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "differentiate twice"):
            slope.sum().backward()

    def test_other_pads_and_pictures_without_a_batch(self):
        for mode in ("reflect", "replicate", "circular"):
            options = {"padding": (1, 2), "padding_mode": mode}
            layer, twin = qt.QuantizedConv2d(3, 4, 3, **options), qt.TorchConv2d(3, 4, 3, **options)
            twin.load_state_dict(layer.state_dict())
            x = pictures(3, 6, 5)
            y = layer(x)
            self.assertEqual(tuple(y.shape), (4, 6, 7))
            torch.testing.assert_close(y, twin(x))
        for padding in ("same", "valid"):
            layer = qt.QuantizedConv2d(3, 4, (2, 3), padding=padding)
            self.assertEqual(layer(pictures(2, 3, 6, 5)).shape, nn.Conv2d(3, 4, (2, 3), padding=padding)(pictures(2, 3, 6, 5)).shape)

    def test_linear_layers_are_convolutions_of_a_pixel(self):
        for device in DEVICES:
            for options in ({}, {"scale": "learned", "zero_points": True}, {"bits": 4, "per_channel": False}):
                layer, twin = qt.QuantizedLinear(37, 11, **options), qt.TorchLinear(37, 11, **options)
                twin.load_state_dict(layer.state_dict())
                layer.to(device)
                x = pictures(4, 5, 37)
                here, there = x.to(device).requires_grad_(), x.requires_grad_()
                found, expected = layer(here), twin(there)
                torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-5)
                dy = pictures(4, 5, 11)
                found.backward(dy.to(device))
                expected.backward(dy)
                for one, (name, two) in zip((here, *layer.parameters()), (("x", there), *twin.named_parameters())):
                    most = magnitudes(twin, name, x, dy) if name in ("observer.scale", "weight_step") else float(two.grad.abs().max())
                    torch.testing.assert_close(one.grad.cpu(), two.grad, rtol=0.01, atol=0.01 * most, msg=lambda text: f"{name}: {text}")


class Keeping(Layers):
    def test_forward_keeps_no_float_activation(self):
        for device in DEVICES:
            x = pictures(2, 8, 16, 16, device=device).requires_grad_()
            for options, of_a_value in (({}, 1.125), ({"scale": "learned"}, 2.125)):
                layer = qt.QuantizedConv2dReLU(8, 8, 3, padding=1, **options).to(device)
                y = layer(x)
                kept = y.grad_fn.saved_tensors
                large = [t for t in kept if t is not None and t.numel() > 1000]
                self.assertTrue(all(t.dtype in (torch.int8, torch.uint8) for t in large))
                count = sum(t.numel() * t.element_size() for t in kept if t is not None)
                weights = layer.weight.numel() * of_a_value + 4 * 8
                pieces = 8 * 256  # of one tensor; each begins at 256 bytes
                self.assertLessEqual(count, x.numel() * of_a_value + y.numel() / 8 + weights + pieces)

    def test_autocast_gives_its_type_and_float32_gradients(self):
        for device in DEVICES:
            layer = qt.QuantizedConv2dReLU(3, 4, 3).to(device)
            x = pictures(2, 3, 6, 5, device=device).requires_grad_()
            with torch.autocast(device, dtype=torch.bfloat16):
                y = layer(x)
                z = qt.QuantizedLinear(4, 2).to(device)(y.mean((2, 3)))
            self.assertEqual((y.dtype, z.dtype), (torch.bfloat16, torch.bfloat16))
            self.assertTrue(torch.equal(y, layer(x).to(torch.bfloat16)))
            z.sum().backward()
            self.assertEqual((x.grad.dtype, layer.weight.grad.dtype, layer.bias.grad.dtype), (torch.float32,) * 3)
            self.assertGreater(layer.weight.grad.abs().max().item(), 0)

    def test_layers_of_half_precision_have_gradients_of_their_type(self):
        for device in DEVICES:
            for dtype in (torch.float16, torch.bfloat16):
                for scale in ("float", "learned"):
                    layer = qt.QuantizedConv2d(3, 4, 3, scale=scale).to(device)
                    layer(pictures(2, 3, 6, 5, device=device))
                    before = layer.observer.scale.clone()
                    layer.to(dtype)
                    self.assertTrue(torch.equal(layer.observer.scale, before))
                    x = pictures(2, 3, 6, 5, device=device, dtype=dtype).requires_grad_()
                    y = layer(x)
                    y.sum().backward()
                    self.assertEqual({t.dtype for t in (y, x.grad, layer.weight.grad, layer.bias.grad)}, {dtype})


if __name__ == "__main__":
    unittest.main()
