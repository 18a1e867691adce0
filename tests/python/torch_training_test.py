"""Quantized layers: forward is exact integers, bit for bit; backward is float64 autograd of the plain twin, within its bound.

With a GPU each case runs there too. QSIM_CUDA_CASES is the number of random cases; QSIM_TEST_SEED draws others.
"""
import unittest

from on_cuda import CASES, SEED, Draws, spread, torch

import qsim.torch as qt
from qsim._training import operators
from qsim._library import has_cuda

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and has_cuda() else [])
U, B, T = 2.0**-24, 2.0**-8, 2.0**-22  # docs/reference/training.md, "How far gradients are off"
HALF_STEP = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


def levels_of(values, scale, zero_point, lo, hi, rounding):
    """Integers of float32 numbers, as training.md has it."""
    quotient = values.float() / scale
    rounded = torch.trunc(quotient) if rounding == "toward_zero" else torch.round(quotient)
    return (rounded.double() + zero_point).clamp(lo, hi) - zero_point


def weight_scales(layer, weight):
    """[O], of the options."""
    o = layer.options
    if layer.weight_step is not None:
        scales = layer.weight_step.detach().cpu()
    else:
        rows = weight.reshape(weight.shape[0] if o.per_channel else 1, -1)
        most = rows.abs().amax(1)
        scales = torch.where(most == 0, torch.ones_like(most), most / o.weight_hi)
        if o.scale == "power_of_two":
            scales = torch.exp2(torch.ceil(torch.log2(scales.double()))).float()
    return scales.expand(weight.shape[0])


def exact_forward(layer, x, relu):
    """y of a layer that has seen x: sums of integers in float64, which is exact, then one float32 rounding after another."""
    o, weight, x = layer.options, layer.weight.detach().float().cpu(), x.detach().cpu()
    scale, w_scales = layer.observer.scale.detach().cpu(), weight_scales(layer, weight)
    point = 0 if layer.observer.zero_point is None else int(layer.observer.zero_point)
    q = levels_of(x, scale, point, o.lo, o.hi, o.rounding)
    w = levels_of(weight, w_scales.reshape(-1, 1, 1, 1), 0, -o.weight_hi, o.weight_hi, o.rounding)
    top, left, bottom, right = layer._window()[2:6]
    padded = torch.nn.functional.pad(q, (left, right, top, bottom))
    acc = torch.nn.functional.conv2d(padded, w, None, layer.stride, 0, layer.dilation, layer.groups)
    y = acc.float() * (scale * w_scales).reshape(-1, 1, 1)
    if layer.bias is not None:
        y = y + layer.bias.detach().float().cpu().reshape(-1, 1, 1)
    return y.clamp(min=0) if relu else y


def relu_bits(case):
    """What forward's ReLU let pass, as numbers: it looks at y before it is rounded to its type."""
    if not case.relu:
        return 1
    kept = case.y.grad_fn.saved_tensors
    if len(kept) == 1:  # qsim_layer_forward's, in pieces of 256 bytes; the last is of these bits
        piece = ((case.y.numel() + 7) // 8 + 255) // 256 * 256
        packed = kept[0][-piece:].cpu()
    else:
        packed = kept[operators.Kept._fields.index("y_passes")].cpu()
    flat = (packed[:, None] >> torch.arange(8, dtype=torch.uint8) & 1).flatten()[:case.y.numel()]
    batch, channels, height, width = case.y.shape
    return flat.reshape(batch, height, width, channels).permute(0, 3, 1, 2).double()


class Case:
    """A random layer, its input and the gradient of its result."""

    def __init__(self, draws, device):
        groups = draws.pick(1, 1, 1, 2, 3)
        self.relu = draws.pick(False, True)
        kernel = (draws.size(1, 4), draws.size(1, 4))
        window = {"stride": (draws.size(1, 3), draws.size(1, 2)), "dilation": (draws.size(1, 2), draws.size(1, 3)),
                  "padding": (draws.size(0, 2), draws.size(0, 2)), "groups": groups, "bias": draws.pick(True, False)}
        if draws.size(0, 9) == 0:
            window.update(padding="same", stride=1)
        self.options = {"bits": draws.pick(8, 8, 8, 4, 2), "weight_bits": draws.pick(None, 8, 4), "rounding": draws.pick(
            "half_even", "half_even", "toward_zero"), "scale": draws.pick("float", "float", "power_of_two", "learned", 0.05),
            "observer": draws.pick("last", "min_max", "moving_average", "percentile"), "momentum": 0.25, "percentile": 95.0,
            "zero_points": draws.pick(False, True), "per_channel": draws.pick(True, True, False)}
        self.options["zero_points"] &= self.options["scale"] in ("float", "learned")
        channels = (groups * draws.size(1, 9), groups * draws.size(1, 9))
        self.layer = (qt.QuantizedConv2dReLU if self.relu else qt.QuantizedConv2d)(*channels, kernel, **window, **self.options)
        self.twin = qt.TorchConv2d(*channels, kernel, **window, **self.options)
        weight = draws.floats(*self.layer.weight.shape) * 0.3
        with torch.no_grad():
            self.layer.weight.copy_(weight)
            if self.layer.bias is not None:
                self.layer.bias.copy_(draws.floats(channels[1]))
        self.layer.reset_steps()
        self.twin.load_state_dict(self.layer.state_dict())
        self.twin.double()
        self.layer.to(device)
        size = [(k - 1) * d + draws.size(1, 7) for k, d in zip(kernel, window["dilation"])]
        dtype = draws.pick(torch.float32, torch.float32, torch.float16, torch.bfloat16)
        shape = (draws.size(1, 3), channels[0], *size)
        self.before = (draws.floats(*shape) + 0.3).to(dtype).to(device)  # seen first
        self.x = (draws.floats(*shape) + 0.3).to(dtype).to(device)
        if draws.size(0, 1):
            self.x = self.x.contiguous(memory_format=torch.channels_last)
        if draws.size(0, 3) == 0:
            self.x = spread(self.x)
        self.layer(self.before)
        self.twin(self.before.double().cpu())
        self.x.requires_grad_()
        self.y = self.layer(self.x)
        self.dy = draws.floats(*self.y.shape).to(dtype).to(device)
        kind = draws.size(0, 3)
        if kind == 0:
            self.dy = spread(self.dy)
        elif kind == 1:
            self.dy = self.dy.contiguous(memory_format=torch.channels_last)
        self.text = f"seed {SEED} {device} {window} {self.options} {tuple(shape)} {channels} {kernel} {dtype} relu {self.relu}"


class Forward(unittest.TestCase):
    def test_forward_has_the_bits_of_exact_integers(self):
        for device in DEVICES:
            draws = Draws()
            for _ in range(CASES):
                case = Case(draws, device)
                expected = exact_forward(case.layer, case.x, case.relu).to(case.x.dtype)
                self.assertEqual((case.y.dtype, case.y.shape), (expected.dtype, expected.shape), case.text)
                self.assertTrue(torch.equal(case.y.detach().cpu(), expected), case.text)

    def test_scales_and_levels_are_those_of_the_plain_twin(self):
        draws = Draws(SEED + 1)
        for _ in range(CASES // 2):
            case = Case(draws, DEVICES[-1])
            case.twin(case.x.detach().double().cpu())
            for name, value in case.layer.observer.state_dict().items():
                other = case.twin.observer.state_dict()[name].to(value.dtype)
                if case.options["scale"] == "learned" and name == "scale":  # a mean, added up in another order
                    torch.testing.assert_close(value.cpu(), other, rtol=1e-5, atol=0)
                else:
                    self.assertTrue(torch.equal(value.cpu(), other), f"{name} {value} {other} {case.text}")


class Gradients(unittest.TestCase):
    def bounded(self, found, expected, bound, what):
        """|found - expected| <= bound + the rounding to the type of `found`, everywhere."""
        error = (found.detach().cpu().double() - expected).abs()
        allowed = bound * 1.01 + expected.abs() * HALF_STEP[found.dtype] + 1e-30
        worst = (error / allowed).max().item() if error.numel() > 0 else 0.0
        self.assertLessEqual(worst, 1.0, what)
        return worst

    def sums_of_magnitudes(self, case, x, w, dy):
        """Of the products that each element of dx and of dw adds up."""
        top, left, bottom, right = case.layer._window()[2:6]
        x, w = x.abs().requires_grad_(), w.abs().requires_grad_()
        padded = torch.nn.functional.pad(x, (left, right, top, bottom))
        y = torch.nn.functional.conv2d(padded, w, None, case.layer.stride, 0, case.layer.dilation, case.layer.groups)
        return torch.autograd.grad(y, (x, w), dy.abs())

    def check(self, case):
        """The greatest share of its bound that an error has."""
        layer, twin, o = case.layer, case.twin, case.layer.options
        with torch.no_grad():  # the same step and levels
            if o.learned:
                twin.observer.scale.copy_(layer.observer.scale)
        dy = case.dy.cpu().double() * relu_bits(case)
        case.y.backward(case.dy)
        x = case.x.detach().cpu().double().requires_grad_()
        twin(x).backward(dy)
        twin.eval()  # it has seen x
        with torch.no_grad():
            x_levels, w_levels = twin._fake_input(x), twin._fake_weight(twin.weight)
        dx_terms, dw_terms = self.sums_of_magnitudes(case, x_levels, w_levels, dy)
        n_dx, n_dw = layer.weight[:, 0].numel() // layer.groups, case.y[:, 0].numel()
        b_dx = (2 * B + B * B + U + n_dx * T) * dx_terms
        b_dw = (B + U + n_dw * T) * dw_terms
        shares = [self.bounded(case.x.grad, x.grad, b_dx, "dx " + case.text),
                  self.bounded(layer.weight.grad, twin.weight.grad, b_dw, "dw " + case.text)]
        if layer.bias is not None:
            shares.append(self.bounded(layer.bias.grad, twin.bias.grad, n_dw * U * dy.abs().sum((0, 2, 3)), "db " + case.text))
        if o.learned:
            shares += self.steps(case, x_levels, dy, b_dx, b_dw)
        return max(shares)

    def steps(self, case, x_levels, dy, b_dx, b_dw):
        """Of learned steps: the residual of a byte, and the error of the gradient of the levels."""
        layer, twin, o = case.layer, case.twin, case.layer.options
        top, left, bottom, right = layer._window()[2:6]
        x_levels.requires_grad_()
        w_levels = twin._fake_weight(twin.weight).detach().requires_grad_()
        y = torch.nn.functional.conv2d(torch.nn.functional.pad(x_levels, (left, right, top, bottom)), w_levels, None,
                                       layer.stride, 0, layer.dilation, layer.groups)
        dx, dw = torch.autograd.grad(y, (x_levels, w_levels), dy)
        shares = []
        for what, gradient, own, slope, parameter, other in (
                ("step", dx, b_dx, float(2**o.bits), layer.observer.scale, twin.observer.scale),
                ("weight step", dw, b_dw, float(o.weight_hi), layer.weight_step, twin.weight_step)):
            count = gradient.numel() // (gradient.shape[0] if what == "step" else parameter.numel())
            factor = qt_factor(count, o.hi if what == "step" else o.weight_hi)
            each = gradient.abs() * (1 / 254 + 2.0**-17 + gradient.numel() * U * slope) + own * slope
            total = each.sum().reshape(1) if parameter.numel() == 1 else each.flatten(1).sum(1)
            shares.append(self.bounded(parameter.grad, other.grad, factor * total, f"{what} {case.text}"))
        return shares

    def test_gradients_are_those_of_float64_within_the_bound(self):
        for device in DEVICES:
            draws = Draws(SEED + 2)
            worst = max(self.check(Case(draws, device)) for _ in range(CASES))
            print(f"seed {SEED}, {device}, PyTorch {torch.__version__}, {CASES} layers: the greatest error is {worst:.2f} of its bound")
            self.assertGreater(worst, 0.01)  # it compares something

    def test_gradients_are_the_same_from_run_to_run(self):
        for device in DEVICES:
            case = Case(Draws(SEED + 3), device)
            first = torch.autograd.grad(case.y, (case.x, case.layer.weight), case.dy, retain_graph=True)
            second = torch.autograd.grad(case.y, (case.x, case.layer.weight), case.dy)
            for one, other in zip(first, second):
                self.assertTrue(torch.equal(one, other))

    def test_gradients_of_learned_steps_are_divided_by_the_root_of_values_and_levels(self):
        """Of 6 values a picture, all clamped to 127: the derivative of each by its step is 127, times 127 of the other operand."""
        for device in DEVICES:
            layer = qt.QuantizedLinear(6, 1, bias=False, scale="learned").to(device)
            x = torch.full((2, 6), 1000.0, device=device)
            layer(x)
            with torch.no_grad():
                for tensor, value in ((layer.weight, 1000.0), (layer.weight_step, 1.0), (layer.observer.scale, 1.0)):
                    tensor.fill_(value)
            layer(x).sum().backward()
            expected = 2 * 6 * 127 * 127 / (6 * 127)**0.5
            for parameter in (layer.weight_step, layer.observer.scale):
                self.assertAlmostEqual(parameter.grad.item(), expected, delta=1e-5 * expected)


def qt_factor(count, hi):
    """LSQ's factor of a step's gradient."""
    return (max(count * hi, 1))**-0.5


if __name__ == "__main__":
    unittest.main()
