"""convert(), torch.compile, shapes without data, training, and on a GPU: the CPU's bits, no wait, CUDA graphs."""
import copy
import unittest

from on_cuda import SEED, bits, needs_gpu, torch
import torch.utils.checkpoint

import qsim
import qsim.torch as qt
from qsim._library import has_cuda

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and has_cuda() else [])
nn = torch.nn


def network():
    """A float model with a layer of each kind that convert() meets."""
    shared = nn.Conv2d(8, 8, 1)
    body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=2, bias=False), nn.BatchNorm2d(8),
                         nn.ReLU(), shared, nn.ReLU(), shared, nn.ConvTranspose2d(8, 4, 2))
    return nn.Sequential(body, nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 5))


def small(scale="float", **options):
    layers = (qt.QuantizedConv2dReLU(3, 8, 3, padding=1, scale=scale, zero_points=scale in ("float", "learned"), **options),
              qt.QuantizedConv2d(8, 4, 3, scale=scale, observer="moving_average", **options), nn.Flatten(),
              qt.QuantizedLinear(4 * 36, 5, scale=scale, observer="percentile", **options))
    return nn.Sequential(*layers)


class Converted(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(SEED)

    def test_convert_swaps_layers_and_keeps_weights_and_names(self):
        model = network()
        found = qt.convert(model, bits=4, observer="min_max")
        self.assertEqual([type(layer).__name__ for layer in found[0]],
                         ["QuantizedConv2dReLU", "Identity", "QuantizedConv2d", "BatchNorm2d", "ReLU", "QuantizedConv2d", "ReLU",
                          "QuantizedConv2d", "ConvTranspose2d"])
        self.assertIs(found[0][5], found[0][7])
        self.assertIsInstance(found[4], qt.QuantizedLinear)
        self.assertEqual((found[0][2].options.bits, found[0][2].groups, found[0][2].bias), (4, 2, None))
        self.assertIs(type(model[0][0]), nn.Conv2d)  # it was copied
        state = found.state_dict()
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(state[name], value), name)
        self.assertEqual(qt.unquantized(found), ["0.8: ConvTranspose2d"])
        y = found(torch.randn(2, 3, 9, 9))
        y.sum().backward()
        self.assertGreater(found[0][0].weight.grad.abs().max().item(), 0)

    def test_eight_bits_are_near_the_float_model(self):
        model = network()
        x = torch.randn(4, 3, 9, 9)
        expected = model.train()(x)
        for plain in (False, True):
            for scale in ("float", "power_of_two"):
                found = qt.convert(model, plain=plain, scale=scale)(x)
                error = ((found - expected).norm() / expected.norm()).item()
                self.assertLess(error, 0.1)
                self.assertGreater(error, 1e-5)

    def test_convert_in_place_keeps_parameters_modes_and_hooks(self):
        model = network().eval()
        parameter, seen = model[0][0].weight, []
        model[0][0].register_forward_hook(lambda *_: seen.append(1))
        self.assertIs(qt.convert(model, inplace=True, scale=0.1), model)
        self.assertIs(model[0][0].weight, parameter)
        self.assertFalse(model[0][0].training or model[0][0].observer.training)
        model(torch.randn(1, 3, 9, 9))
        self.assertEqual(seen, [1])

    def test_convert_leaves_what_is_named_and_what_it_does_not_know(self):
        class Own(nn.Conv2d):
            pass

        chain = qt.QuantizedSequential(nn.Conv2d(8, 8, 3), nn.ReLU())
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), Own(8, 8, 3), nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 4).double(),
                              chain, nn.Embedding(3, 4))
        found = qt.convert(model, skip=["0", "3"])
        self.assertEqual([type(layer) for layer in found], [type(layer) for layer in model])
        self.assertEqual([type(layer) for layer in found[5]], [nn.Conv2d, nn.ReLU])
        self.assertEqual(qt.unquantized(found), ["0: Conv2d", "2: Own", "3.0: Linear", "4: Linear", "6: Embedding"])
        with self.assertRaises(qsim.BadInput) as caught:
            qt.convert(model, skip=["9"])
        self.assertEqual(str(caught.exception), "convert: skip has '9'; allowed: names of named_modules()")
        self.assertIs(type(qt.convert(model, skip="0")[0]), nn.Conv2d)
        self.assertIsInstance(qt.convert(nn.Linear(3, 4)), qt.QuantizedLinear)
        self.assertIsInstance(qt.convert(nn.Conv2d(3, 4, 1), plain=True), qt.TorchConv2d)

    def test_a_trace_which_would_lack_the_layers_is_refused(self):
        x = torch.randn(2, 3, 6, 6)
        layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
        for model in (qt.convert(layers), qt.QuantizedSequential(*layers), nn.Sequential(qt.QuantizedSequential(*layers))):
            model(x)
            for enabled in (True, False):
                with torch.set_grad_enabled(enabled), self.assertRaisesRegex(qsim.Unsupported, "^Quantized[^ ]* cannot be traced"):
                    torch.jit.trace(model.eval(), x)
        plain = qt.convert(layers, plain=True)
        plain.train()(x)
        self.assertTrue(torch.equal(torch.jit.trace(plain.eval(), x, check_trace=False)(x), plain(x)))

    def test_training_lowers_the_loss_as_the_plain_twin_does(self):
        target = torch.randn(64, 2)
        x = torch.randn(64, 3, 6, 6)
        for options in ({}, {"scale": "learned", "bits": 4}, {"observer": "moving_average", "zero_points": True, "bits": 4}):
            model = qt.convert(nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 2)), **options)
            twin = qt.convert(nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 2)), plain=True, **options)
            twin.load_state_dict(model.state_dict())
            ends = []
            for one in (model, twin):
                optimizer = torch.optim.SGD(one.parameters(), 0.02, momentum=0.9)
                for step in range(40):
                    loss = (one(x) - target).square().mean()
                    first = loss.item() if step == 0 else first
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                ends.append(loss.item())
                self.assertLess(loss.item(), 0.5 * first, options)
            self.assertLess(abs(ends[0] - ends[1]), 0.1 * first, options)


class Shapes(unittest.TestCase):
    def test_shapes_without_data_are_those_of_results(self):
        for scale in ("float", "learned"):
            for dtype in (torch.float32, torch.bfloat16):
                for memory in (torch.contiguous_format, torch.channels_last):
                    layer = qt.QuantizedConv2dReLU(6, 4, 3, stride=2, groups=2, scale=scale, zero_points=True)
                    x = torch.randn(2, 6, 9, 8).to(dtype).contiguous(memory_format=memory)
                    layer(x)
                    w_steps = None if layer.weight_step is None else layer.weight_step.detach()
                    forward = (x, layer.weight.detach(), layer.bias.detach(), layer.observer.scale.detach(),
                               layer.observer.zero_point, w_steps, list(layer._window()), 2, layer._how, dtype, True, True)
                    y, *kept = torch.ops.qsim.quantized_conv2d(*forward)
                    needs = [True] * 3 + [scale == "learned"] * 2
                    backward = (y, kept, *forward[3:5], *forward[6:9], dtype, memory is torch.channels_last, True, needs)
                    for operator, given in ((torch.ops.qsim.quantized_conv2d, forward),
                                            (torch.ops.qsim.quantized_conv2d_backward, backward)):
                        for one, other in zip(operator(*given), operator(*on_meta(given))):
                            self.assertEqual((one.shape, one.dtype, one.stride()), (other.shape, other.dtype, other.stride()))
                            self.assertEqual(other.device.type, "meta")


    def test_layers_without_data_give_shapes_and_take_a_state(self):
        if not hasattr(torch, "compile"):
            self.skipTest("PyTorch 1 cannot assign a state")
        for scale in ("float", "learned"):
            layer, other = qt.QuantizedConv2dReLU(3, 4, 3, device="meta", scale=scale), qt.QuantizedConv2dReLU(3, 4, 3, scale=scale)
            y = layer(torch.empty(2, 3, 8, 8, device="meta"))
            self.assertEqual((y.device.type, y.shape), ("meta", (2, 4, 6, 6)))
            y.sum().backward()
            self.assertEqual(layer.weight.grad.shape, layer.weight.shape)
            x = torch.randn(2, 3, 8, 8)
            other(x)
            layer.load_state_dict(other.state_dict(), assign=True)
            self.assertTrue(torch.equal(layer.eval()(x), other.eval()(x)))

    def test_checkpointed_layers_have_the_same_gradients(self):
        layer, x = qt.QuantizedConv2d(3, 4, 3), torch.randn(2, 3, 8, 8)
        gradients = [torch.autograd.grad(y.square().sum(), layer.weight)[0] for y in (
            layer(x), torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False))]
        self.assertTrue(torch.equal(*gradients))


def on_meta(arguments):
    return [a.to("meta") if isinstance(a, torch.Tensor) else on_meta(a) if isinstance(a, list) else a for a in arguments]


class Compiled(unittest.TestCase):
    def test_torch_compile_keeps_results_gradients_and_states(self):
        if not hasattr(torch.library, "register_autograd"):
            self.skipTest("this PyTorch has no torch.library.register_autograd")
        cases = [(device, *case) for device in DEVICES for case in (("float", False), ("learned", False), ("float", True))]
        for device, scale, autocast in cases:
            torch.manual_seed(SEED)
            torch._dynamo.reset()
            model = small(scale).to(device)
            other = copy.deepcopy(model)
            compiled = torch.compile(other, backend="aot_eager", fullgraph=True)
            for _ in range(3):
                one = torch.randn(2, 3, 8, 8).to(device).requires_grad_()
                two = one.detach().clone().requires_grad_()
                with torch.autocast(device, torch.bfloat16, enabled=autocast):
                    found, expected = compiled(two), model(one)
                self.assertTrue(torch.equal(found, expected))
                expected.square().sum().backward()
                found.square().sum().backward()
                self.assertTrue(torch.equal(one.grad, two.grad))
                for a, b in zip(model.parameters(), other.parameters()):
                    self.assertTrue(torch.equal(a.grad, b.grad))
                for a, b in zip(model.state_dict().values(), other.state_dict().values()):
                    self.assertTrue(torch.equal(a, b))
            model.eval()
            other.eval()
            with torch.no_grad():
                self.assertTrue(torch.equal(compiled(two), model(two)))

    def test_an_operators_gradient_has_no_gradient(self):
        if not hasattr(torch.library, "register_autograd"):
            self.skipTest("this PyTorch has no torch.library.register_autograd")
        layer = qt.QuantizedConv2d(3, 4, 3)
        x = torch.randn(2, 3, 6, 5).requires_grad_()
        y = torch.ops.qsim.quantized_conv2d(x, layer.weight, None, torch.ones(1), None, None, list(layer._window()), 1, layer._how,
                                            torch.float32, False, True)[0]
        slope, = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        with self.assertRaisesRegex(qsim.Unsupported, "quantized_conv2d has no second derivative"):
            slope.sum().backward()


@needs_gpu
class OnGpu(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(SEED)

    def models(self, **options):
        """The same on the CPU and on the GPU."""
        here = small(**options)
        return here, copy.deepcopy(here).cuda()

    def test_a_network_has_the_bits_of_the_cpu(self):
        for options in ({}, {"scale": "power_of_two", "rounding": "toward_zero"}, {"bits": 4, "per_channel": False}):
            here, there = self.models(**options)
            for _ in range(3):
                x = torch.randn(4, 3, 8, 8)
                self.assertTrue(torch.equal(bits(here(x)), bits(there(x.cuda()))))
            for name, value in here.state_dict().items():
                self.assertTrue(torch.equal(value, there.state_dict()[name].cpu()), name)

    def test_a_step_does_not_wait_for_the_gpu(self):
        for scale in ("float", "learned"):
            _, model = self.models(scale=scale)
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            x = torch.randn(4, 3, 8, 8, device="cuda")
            for again in (False, True):
                torch.cuda.set_sync_debug_mode("error" if again else "default")
                try:
                    model(x).square().mean().backward()
                    optimizer.step()
                finally:
                    torch.cuda.set_sync_debug_mode("default")

    def test_a_cuda_graph_holds_a_step(self):
        for scale in ("float", "learned"):
            _, model = self.models(scale=scale)
            x = torch.randn(4, 3, 8, 8, device="cuda")
            optimizer = torch.optim.SGD(model.parameters(), 0.01)

            def step(given, of=model, by=optimizer):
                by.zero_grad(set_to_none=False)
                loss = of(given).square().mean()
                loss.backward()
                by.step()
                return loss

            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    step(x)
            torch.cuda.current_stream().wait_stream(stream)
            other = copy.deepcopy(model)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                loss = step(x)
            second = torch.optim.SGD(other.parameters(), 0.01)
            for _ in range(3):
                x.copy_(torch.randn(4, 3, 8, 8))
                graph.replay()
                self.assertTrue(torch.equal(loss, step(x, other, second)))
            for one, two in zip(model.state_dict().values(), other.state_dict().values()):
                self.assertTrue(torch.equal(one, two))


if __name__ == "__main__":
    unittest.main()
