"""Layers in eager mode, whose passes are one call each: the bits of the operators; what PyTorch's tensors can be; hooks; tracers."""
import copy
import pickle
import unittest

from on_cuda import SEED, spread, torch

import qsim
import qsim.torch as qt
from qsim._library import has_cuda
from qsim._training import eager, operators
from qsim._training.autograd import step_factor

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and has_cuda() else [])
nn = torch.nn


def pictures(*shape, device="cpu", dtype=torch.float32):
    return torch.randn(*shape).to(dtype).to(device)


def negative(*shape):
    """Numbers whose sign is a bit of the tensor."""
    return torch.randn(*shape, dtype=torch.complex64).conj().imag


class Eager(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(SEED)

    def test_one_call_has_the_bits_of_the_operators(self):
        cases = ({}, {"zero_points": True}, {"scale": 0.04}, {"scale": "power_of_two", "observer": "min_max"},
                 {"observer": "percentile", "weight_bits": 4}, {"bits": 4, "rounding": "toward_zero"}, {"per_channel": False},
                 {"scale": "learned"}, {"scale": "learned", "per_channel": False, "zero_points": True})
        for device in DEVICES:
            for index, options in enumerate(cases):
                for relu in (False, True):
                    kind = qt.QuantizedConv2dReLU if relu else qt.QuantizedConv2d
                    layer = kind(4, 6, 3, stride=(1, 2), padding=(2, 1), dilation=(2, 1), groups=2, **options).to(device)
                    dtype = (torch.float32, torch.float16, torch.bfloat16)[index % 3]
                    x = pictures(2, 4, 9, 8, device=device, dtype=dtype)
                    if index % 2:
                        x = x.contiguous(memory_format=torch.channels_last)
                    dy = pictures(2, 6, 9, 4, device=device, dtype=dtype)
                    found = self.gradients_of(layer, x, dy)
                    scale, point = layer.observer.scale.detach(), layer.observer.zero_point
                    steps = None if layer.weight_step is None else layer.weight_step.detach()
                    y, *kept = operators.quantized_conv2d(x, layer.weight.detach(), layer.bias.detach(), scale, point, steps,
                                                          list(layer._window()), 2, layer._how, dtype, relu, True)
                    gradients = operators.quantized_conv2d_backward(
                        dy, kept, scale, point, list(layer._window()), 2, layer._how, dtype, operators.is_channels_last(x), relu,
                        [True, True, True, steps is not None, steps is not None])
                    factors = (1, 1, 1, 1, step_factor(4 * 9 * 8, layer.options.hi),
                               step_factor(layer.weight.numel() // (1 if steps is None else len(steps)), layer.options.weight_hi))
                    for one, other in zip(found, (t * f for t, f in zip((y, *gradients), factors))):
                        self.assertTrue(torch.equal(one, other), f"{device} {options} {relu}")
                    with torch.no_grad():
                        self.assertTrue(torch.equal(layer.eval()(x), y))

    def test_weights_at_any_strides_give_the_bits_of_dense_ones(self):
        for device in DEVICES:
            x, dy = pictures(2, 4, 6, 5, device=device), pictures(2, 3, 4, 3, device=device)
            for options in ({}, {"per_channel": False}, {"scale": "learned", "per_channel": False}):
                layer = qt.QuantizedConv2d(4, 3, 3, **options).to(device)
                other = copy.deepcopy(layer)
                other.weight = nn.Parameter(spread(layer.weight.detach().transpose(0, 2)).transpose(0, 2))
                for one, two in zip(self.gradients_of(layer, x, dy), self.gradients_of(other, x, dy)):
                    self.assertTrue(torch.equal(one, two), f"{device} {options}")

    def gradients_of(self, layer, x, dy):
        """y, and the gradients of x, weight and bias; another pass before backward changes no scale of this one."""
        x = x.clone().requires_grad_()
        y = layer(x)
        state = copy.deepcopy(layer.state_dict())
        layer(3 * x.detach() + 1)
        y.backward(dy)
        layer.load_state_dict(state)
        learned = () if layer.weight_step is None else (layer.observer.scale.grad, layer.weight_step.grad)
        return (y.detach(), x.grad, layer.weight.grad, layer.bias.grad, *learned)

    def test_types_and_layouts_in_turn_do_not_mix(self):
        for device in DEVICES:
            layer = qt.QuantizedConv2d(4, 6, 3).to(device)
            for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float32):
                for layout in (torch.contiguous_format, torch.channels_last):
                    x = pictures(2, 4, 6, 5, device=device, dtype=dtype).contiguous(memory_format=layout)
                    layer.to(memory_format=layout)
                    dy = pictures(2, 6, 4, 3, device=device, dtype=dtype)
                    found = self.gradients_of(copy.deepcopy(layer), x, dy)
                    known = dict(eager._plans)
                    eager._plans.clear()
                    expected = self.gradients_of(copy.deepcopy(layer), x, dy)
                    eager._plans.update(known)
                    for one, two in zip(found, expected):
                        self.assertTrue(torch.equal(one, two) and one.dtype is two.dtype and one.stride() == two.stride())
                    self.assertIs(found[1].dtype, dtype)

    def test_a_negative_bit_is_a_sign(self):
        x, dy = negative(2, 3, 8, 8), negative(2, 4, 6, 6)
        self.assertTrue(x.is_neg() and dy.is_neg())
        chain = qt.QuantizedSequential(nn.Conv2d(3, 4, 3))
        for options in ({}, {"observer": "percentile"}, {"scale": "learned"}):
            one = qt.QuantizedConv2d(3, 4, 3, **options)
            two = copy.deepcopy(one)
            for a, b in zip(self.gradients_of(one, x, dy), self.gradients_of(two, x.resolve_neg(), dy.resolve_neg())):
                self.assertTrue(torch.equal(a, b), options)
        other = copy.deepcopy(chain)
        y, z = chain(x), other(x.resolve_neg())
        y.backward(dy)
        z.backward(dy.resolve_neg())
        self.assertTrue(torch.equal(y, z))
        self.assertTrue(torch.equal(chain[0].weight.grad, other[0].weight.grad))

    def test_hooks_of_an_observer_are_called_in_both_modes(self):
        layer, calls = qt.QuantizedConv2d(3, 4, 3), []
        layer.observer.register_forward_hook(lambda *_: calls.append("after"))
        layer.observer.register_forward_pre_hook(lambda *_: calls.append("before"))
        x = pictures(1, 3, 5, 5)
        y = layer(x)
        self.assertTrue(torch.equal(layer.eval()(x), y))
        self.assertEqual(calls, ["before", "after"] * 2)

    def test_a_tracer_sees_the_operators(self):
        try:
            from torch.fx.experimental.proxy_tensor import make_fx
        except ImportError as error:
            self.skipTest(str(error))
        if not hasattr(torch._C, "_len_torch_dispatch_stack"):
            self.skipTest("this PyTorch does not count its dispatch modes")
        layer = qt.QuantizedConv2d(3, 4, 3, scale=0.03).eval()
        x = pictures(1, 3, 5, 5)
        with torch.no_grad():
            graph = make_fx(layer)(x)
            self.assertIn("qsim", str(graph.graph))
            self.assertTrue(torch.equal(graph(2 * x), layer(2 * x)))

    def test_messages_name_the_layer(self):
        for message, work in (
                ("QuantizedConv2d: its kernel spans 3 rows; x with its pads has 2", lambda: qt.QuantizedConv2d(3, 4, 3)(torch.ones(1, 3, 2, 5))),
                ("QuantizedConv2dReLU: its kernel spans 5 columns; x with its pads has 4",
                 lambda: qt.QuantizedConv2dReLU(3, 4, 3, dilation=2, padding=(1, 0))(torch.ones(1, 3, 6, 4)))):
            with self.assertRaises(qsim.BadInput) as caught:
                work()
            self.assertEqual(str(caught.exception), message)

    def test_a_chain_takes_parameters_of_16_bits_and_names_the_layer_of_others(self):
        layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)]
        chain = qt.QuantizedSequential(*layers)
        x = pictures(4, 3, 6, 5)
        layers[1].weight.data = torch.linspace(0.5, 2, 8)[::2]
        wanted = copy.deepcopy(chain)
        wanted[1].weight.data = wanted[1].weight.data.contiguous()
        self.assertTrue(torch.equal(chain(x), wanted(x)))
        layers[0].bias.data = layers[0].bias.data.half()
        self.assertEqual(chain(x).shape, (4, 4, 4, 3))
        layers[1].bias.data = layers[1].bias.data.double()
        with self.assertRaisesRegex(qsim.BadInput, "^QuantizedSequential: beta of layer 0 is torch.float64; allowed: float32, "):
            chain(x)
        layers[1].bias.data = layers[1].bias.data.float()
        layers[1].running_var = layers[1].running_var.half()
        with self.assertRaisesRegex(qsim.BadInput, "^QuantizedSequential: running statistics after layer 0 are torch.float16"):
            chain(x)

    def test_sizes_of_workspaces_are_few_and_do_not_travel(self):
        chain = qt.QuantizedSequential(nn.Conv2d(3, 4, 1)).eval()
        chain.train()(torch.ones(1, 3, 2, 2))
        chain.eval()
        for size in range(1, 210):
            chain(torch.ones(1, 3, 1, size))
        self.assertLessEqual(len(chain._sizes), 101)
        self.assertGreater(len(chain._sizes), 0)
        for other in (copy.deepcopy(chain), pickle.loads(pickle.dumps(chain))):
            self.assertEqual(other._sizes, {})
            self.assertTrue(torch.equal(other(torch.ones(1, 3, 2, 2)), chain(torch.ones(1, 3, 2, 2))))


if __name__ == "__main__":
    unittest.main()
