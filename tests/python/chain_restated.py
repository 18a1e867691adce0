"""What a QuantizedSequential computes, stated a second time: layer by layer, integers in float64, which holds them exactly.

Beside the levels it carries the real numbers in float64 with PyTorch's own gradients, straight through every rounding; clipped
values have none. With absolute=True these are of absolute values: the gradients are then bounds of all sums' terms.
"""
import copy
import math

import numpy as np
import torch
import torch.nn.functional as F

nn = torch.nn
UNIT = 2 ** 39  # of core/numerics/adder.h


class Value:
    """levels: integers [B, C, H, W] or [B, K], zero_point and all; real: their float64 numbers, with gradients."""

    def __init__(self, levels, scale, zero, real, passes=None):
        passes = torch.ones_like(levels, dtype=torch.bool) if passes is None else passes
        exact = (levels - zero) * scale.double()
        through = torch.where(passes, real, real.detach())
        self.levels, self.scale, self.zero, self.exact = levels, scale, zero, exact
        self.real = through + (exact - through).detach()


def covering(least, most, span, power_of_two):
    """The scale of a range."""
    most = max(-float(least), float(most))
    if most <= 0:
        return torch.tensor(1.0)
    scale = torch.tensor(most, dtype=torch.float32) / span
    scale = max(float(scale), 2.0 ** -126)
    return torch.tensor(2.0 ** math.ceil(math.log2(scale)) if power_of_two else scale, dtype=torch.float32)


def added(a, b, scale, zero, relu):
    """(levels, passes) of the sum of two Values, as core/numerics/adder.h defines it, in integers of 2^-39."""
    near = lambda units: np.asarray(units).astype(np.float32).astype(np.int64)  # numpy rounds half to even
    ra, rb = (np.int64(float(value.scale / scale) * UNIT) for value in (a, b))
    fixed = near(zero * UNIT - near(ra * a.zero + near(rb * b.zero)))
    left, right = (value.levels.detach().numpy().astype(np.int64) for value in (a, b))
    total = near(left * ra + near(right * rb + fixed))
    rounded = torch.from_numpy(np.rint(total / UNIT))
    passes = (rounded >= -128) & (rounded <= 127)
    if relu:
        passes &= torch.from_numpy(total) > zero * UNIT
    return rounded.clamp(zero if relu else -128, 127), passes


class BoundOfNormalization(torch.autograd.Function):
    """BatchNorm with its batch's statistics, whose gradient adds absolute values."""

    @staticmethod
    def forward(ctx, z, gamma, beta, normalized, gain):
        ctx.save_for_backward(normalized, gain)
        return z.clone()

    @staticmethod
    def backward(ctx, m):
        normalized, gain = ctx.saved_tensors
        axes = [axis for axis in range(m.dim()) if axis != 1]
        count = m.numel() / m.shape[1]
        shape = [1, -1] + [1] * (m.dim() - 2)
        beta, gamma = m.sum(axes), (m * normalized.abs()).sum(axes)
        centred = m + (beta.view(shape) + normalized.abs() * gamma.view(shape)) / count
        return gain.abs().view(shape) * centred, gamma, beta, None, None


class Restated:
    """One pass of a chain, which is not changed."""

    def __init__(self, chain, power_of_two=False, zero_points=False, weight_bits=8, observer="moving_average", momentum=0.1,
                 toward_zero=False, fixed_input=False, absolute=False):
        self.chain, self.training, self.absolute = copy.deepcopy(chain), chain.training, absolute
        self.power_of_two, self.zero_points, self.toward_zero = power_of_two, zero_points, toward_zero
        self.most = 2 ** (weight_bits - 1) - 1
        self.observer, self.momentum = observer, momentum
        self.measured = bool((chain.levels_state[1:, 2] > 0).all())
        self.state, self.scales = chain.levels_state.clone(), chain.levels_scale.clone()
        self.row, self.steps, self.parameters, self.fixed_input = 1, 0, [], fixed_input

    def __call__(self, x):
        """The output's float32 numbers. self.x and self.y have gradients."""
        self.x = x.detach().double().requires_grad_()
        if self.training and not self.fixed_input:
            self.see(0, x.min().clamp(max=0), x.max().clamp(min=0), 127)
        quotient = x.float() / self.scales[0]
        rounded = quotient.trunc() if self.toward_zero else quotient.round()
        value = Value(rounded.clamp(-128, 127).double(), self.scales[0], 0, self.sign(self.x),
                      (rounded >= -128) & (rounded <= 127))
        value = self.layers(self.chain, value, True)
        self.y = value.real
        return (value.levels - value.zero).float() * value.scale

    def sign(self, values):
        """|values| for bounds, with the gradient of values."""
        return values + (values.abs() - values).detach() if self.absolute else values

    def see(self, row, least, most, span):
        """An observer's step, and the scale that follows."""
        seen = torch.stack((least, most)).float()
        old, count = self.state[row, :2], self.state[row, 2]
        if self.observer == "min_max":
            seen = torch.stack((torch.minimum(old[0], seen[0]), torch.maximum(old[1], seen[1])))
        elif self.observer == "moving_average" and count > 0 and (row == 0 or old.any()):
            seen = old + np.float32(self.momentum) * (seen - old)
        self.state[row] = torch.cat((seen, (count + 1).view(1)))
        self.scales[row] = covering(seen[0], seen[1], span, self.power_of_two)

    def layers(self, layers, value, last=False):
        found = [layer for layer in self.flat(layers)]
        while found:
            layer = found.pop(0)
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                norm = found.pop(0) if found and isinstance(found[0], (nn.BatchNorm2d, nn.BatchNorm1d)) else None
                relu = bool(found) and isinstance(found[0], nn.ReLU) and found.pop(0) is not None
                value = self.convolution(layer, norm, relu, value, last and self.keeps_levels(found))
            elif isinstance(layer, nn.ReLU):
                pass  # of what is positive
            else:
                value = getattr(self, type(layer).__name__)(layer, value, last and self.keeps_levels(found))
        return value

    def flat(self, layers):
        for layer in layers:
            yield from self.flat(layer) if type(layer) is nn.Sequential else [layer]

    @staticmethod
    def keeps_levels(layers):
        return all(isinstance(layer, (nn.ReLU, nn.MaxPool2d, nn.Flatten, nn.Dropout)) for layer in layers)

    def scale_of(self, last, zero, reals_of):
        """The scale of the next row. reals_of(scale): least and most of the tensor's reals as computed with this scale."""
        row, self.row, self.steps = self.row, self.row + 1, self.steps + 1
        scale = self.scales[row].clone()
        if self.training:
            measuring = last or not self.measured
            least, most = reals_of(None if measuring else scale)
            self.see(row, least, most, 127 - zero)
            if measuring:
                scale = covering(least, most, 127 - zero, self.power_of_two)
        return scale

    def weights(self, weight):
        rows = weight.detach().flatten(1)
        scales = torch.stack([covering(0, row.abs().max(), self.most, self.power_of_two) for row in rows])
        quotient = weight.detach() / scales.view(-1, *[1] * (weight.dim() - 1))
        levels = (quotient.trunc() if self.toward_zero else quotient.round()).clamp(-self.most, self.most)
        return levels.double(), scales

    def leaf(self, parameter):
        made = None if parameter is None else parameter.detach().double().requires_grad_()
        self.parameters.append(made)
        return made

    def convolution(self, layer, norm, relu, value, last):
        weight, bias = self.leaf(layer.weight), self.leaf(layer.bias)
        gamma, beta = (self.leaf(getattr(norm, name, None)) for name in ("weight", "bias"))
        levels, w_scales = self.weights(layer.weight)
        exact = levels * w_scales.double().view(-1, *[1] * (levels.dim() - 1))
        w = self.sign(weight + (exact - weight).detach())
        run = F.linear if isinstance(layer, nn.Linear) else lambda a, b: F.conv2d(
            a, b, None, layer.stride, layer.padding, layer.dilation, layer.groups)
        sums, z = run(value.levels - value.zero, levels), run(self.sign(value.real), w)
        shape = [1, -1] + [1] * (sums.dim() - 2)
        unit = value.scale.double() * w_scales.double()
        if bias is not None:
            z = z + bias.view(shape)
        gain = offset = None
        if norm is not None:
            z, gain, offset = self.normalize(norm, z, sums, unit, bias, (gamma, beta), shape)
        elif bias is not None:
            offset = bias.detach()
        zero = -128 if relu and self.zero_points else 0
        return self.requantized(z, sums, value, w_scales, gain, offset, zero, relu, last)

    def normalize(self, norm, z, sums, unit, bias, affine, shape):
        axes = [axis for axis in range(sums.dim()) if axis != 1]
        gamma, beta = (torch.full_like(unit, number) if one is None else one for one, number in zip(affine, (1, 0)))
        shift = torch.zeros_like(unit) if bias is None else bias.detach()
        if norm.training:
            count = sums.numel() // sums.shape[1]
            mean, variance = sums.mean(axes), sums.var(axes, unbiased=False) * unit * unit
            with torch.no_grad():
                norm.running_mean += norm.momentum * (mean * unit + shift - norm.running_mean)
                norm.running_var += norm.momentum * (variance * count / (count - 1) - norm.running_var)
        else:
            mean, variance = (norm.running_mean.double() - shift) / unit, norm.running_var.double()
        inverse = 1 / torch.sqrt(variance + norm.eps)
        gain = gamma.detach() * inverse
        offset = beta.detach() - gain * unit * mean
        if self.absolute:
            normalized = (sums - mean.view(shape)) * (unit * inverse).view(shape)
            z = BoundOfNormalization.apply(z, gamma, beta, normalized, gain)
        elif norm.training:
            z = F.batch_norm(z, None, None, gamma, beta, True, 0, norm.eps)
        else:
            z = F.batch_norm(z, norm.running_mean.double(), norm.running_var.double(), gamma, beta, False, 0, norm.eps)
        return z, gain, offset

    def requantized(self, z, sums, value, w_scales, gain, offset, zero, relu, last):
        """clamp(rint(float32(sum + bias) * multiplier) + zero_point)."""
        shape = [1, -1] + [1] * (sums.dim() - 2)

        def scaled(y_scale):
            x_scale, scales, sign, alive = value.scale.double(), w_scales, torch.ones(len(w_scales)), 1
            if offset is not None:
                wide = w_scales.double() * (1 if gain is None else gain.abs())
                least = torch.maximum(offset.abs(), y_scale.double()) / (2.0 ** 30 * x_scale)
                alive = (wide >= least).double().view(shape)
                sign = sign if gain is None else torch.where(gain < 0, -1.0, 1.0)
                scales = torch.maximum(wide, least).float().clamp(min=2.0 ** -126)
            total = sums * alive
            if offset is not None:
                rounded = (offset / (x_scale * scales.double())).round().clamp(-2.0 ** 30, 2.0 ** 30)
                total = total + (rounded * sign).view(shape)
            t = total.float() * (((value.scale * scales) / y_scale) * sign.float()).view(shape)
            return t.clamp(min=0) if relu else t

        def reals_of(scale):
            if scale is None:
                unit = (value.scale * w_scales).double() if gain is None else (value.scale * w_scales).double() * gain.abs()
                scale = unit.max().float().clamp(min=2.0 ** -60)
            t = scaled(scale)
            return t.min().clamp(max=0) * scale, t.max().clamp(min=0) * scale

        scale = self.scale_of(last, zero, reals_of)
        t = scaled(scale)
        rounded = t.round() + zero
        passes = (rounded >= -128) & (rounded <= 127) & ((t > 0) if relu else True)
        return Value(rounded.clamp(-128, 127).double(), scale, zero, z, passes)

    def MaxPool2d(self, layer, value, _last):
        _, places = F.max_pool2d(value.levels, layer.kernel_size, layer.stride, layer.padding, layer.dilation,
                                 return_indices=True)
        take = lambda tensor: tensor.flatten(2).gather(2, places.flatten(2)).view(places.shape)
        return Value(take(value.levels), value.scale, value.zero, take(value.real))

    def AvgPool2d(self, layer, value, last):
        run = lambda tensor: F.avg_pool2d(tensor, layer.kernel_size, layer.stride, layer.padding)
        kernel = layer.kernel_size if isinstance(layer.kernel_size, int) else layer.kernel_size[0]
        sums = (run(value.levels - value.zero) * kernel * kernel).round()
        scales = torch.full((sums.shape[1],), 1 / (kernel * kernel))
        return self.requantized(run(value.real), sums, value, scales, None, None, value.zero, False, last)

    def AdaptiveAvgPool2d(self, _layer, value, last):
        size = value.levels.shape[2] * value.levels.shape[3]
        sums = (value.levels - value.zero).sum((2, 3), keepdim=True).float()
        reals = sums * (value.scale / size)
        scale = self.scale_of(last, value.zero, lambda _: (reals.min().clamp(max=0), reals.max().clamp(min=0)))
        rounded = (sums * (value.scale / (scale * size))).round() + value.zero
        return Value(rounded.clamp(-128, 127).double(), scale, value.zero, value.real.mean((2, 3), keepdim=True),
                     (rounded >= -128) & (rounded <= 127))

    def Flatten(self, _layer, value, _last):
        return Value(value.levels.flatten(1), value.scale, value.zero, value.real.flatten(1))

    def Identity(self, _layer, value, _last):
        return value

    def Dropout(self, layer, value, _last):
        if not layer.training or layer.p == 0:
            return value
        shape = value.levels.shape
        last = [shape[0], 1, 1, shape[1]] if len(shape) == 2 else [shape[0], shape[2], shape[3], shape[1]]
        keeps = (torch.rand(last) >= layer.p).permute(0, 3, 1, 2).reshape(shape)
        return Value(torch.where(keeps, value.levels, torch.full_like(value.levels, value.zero)),
                     value.scale / (1 - layer.p), value.zero, value.real * keeps / (1 - layer.p))

    def Residual(self, layer, value, last):
        a, b = self.layers(layer.body, value), self.layers(layer.shortcut, value)
        zero = -128 if layer.relu and self.zero_points else 0
        one = (a.levels - a.zero).float() * a.scale
        reals = one + (b.levels - b.zero).float() * b.scale
        low, high = reals.min().clamp(max=0), reals.max().clamp(min=0)
        scale = self.scale_of(last, zero, lambda _: (low * 0 if layer.relu else low, high))
        levels, passes = added(a, b, scale, zero, layer.relu)
        return Value(levels, scale, zero, a.real + b.real, passes)
