"""Random chains of layers for the tests of QuantizedSequential, and random options for them."""
import math

import torch

import qsim.torch as qt

nn = torch.nn


class Maker:
    """Layers of a chain, from a random.Random. `size` and `channels` are those of the last tensor."""

    def __init__(self, random, dropout=True, windows=True):
        self.random, self.dropout, self.windows = random, dropout, windows
        self.channels, self.size = random.choice((1, 3, 4)), [random.randint(7, 13), random.randint(7, 13)]
        self.input_shape = (self.channels, *self.size)

    def chance(self, share):
        return self.random.random() < share

    def conv(self, keeps=False):
        """A convolution, with BatchNorm2d and ReLU or without. keeps: the picture's size and its channels."""
        random, kernel = self.random, self.random.choice((1, 3, 3, (3, 1), 2))
        kernel = random.choice((2, 3)) if keeps else kernel
        high, wide = (kernel, kernel) if isinstance(kernel, int) else kernel
        dilation = 2 if self.chance(0.25) and min(self.size) > 5 else 1
        padding = "same" if keeps else (random.randint(0, 1), random.randint(0, 2))
        stride = 1 if keeps else random.choice((1, 1, 2))
        groups = random.choice([g for g in (1, 1, 2, self.channels) if self.channels % g == 0])
        out = self.channels if keeps else groups * random.randint(1, 4)
        layers = [nn.Conv2d(self.channels, out, (high, wide), stride, padding, dilation, groups, self.chance(0.6))]
        self.channels = out
        if keeps:
            return layers + self.after(nn.BatchNorm2d)
        self.size = [(size + 2 * pad - dilation * (k - 1) - 1) // stride + 1
                     for size, pad, k in zip(self.size, padding, (high, wide))]
        return layers + self.after(nn.BatchNorm2d)

    def after(self, kind):
        layers = []
        if self.chance(0.5):
            norm = kind(self.channels, momentum=0.3)
            nn.init.uniform_(norm.weight, -1.5, 1.5)
            nn.init.normal_(norm.bias)
            layers.append(norm)
        return layers + ([nn.ReLU()] if self.chance(0.6) else [])

    def pool(self):
        if self.chance(0.4) and self.windows:
            layer = nn.AvgPool2d(2, self.random.choice((1, 2)), self.random.randint(0, 1))
        else:
            layer = nn.MaxPool2d(self.random.choice((2, 3)), self.random.choice((1, 2)), self.random.randint(0, 1))
        pad, stride = layer.padding, layer.stride
        self.size = [(size + 2 * pad - layer.kernel_size) // stride + 1 for size in self.size]
        return [layer]

    def residual(self):
        before, size = self.channels, list(self.size)
        body = self.conv(keeps=True) + (self.conv(keeps=True) if self.chance(0.5) else [])
        self.channels, self.size = before, size
        shortcut = [nn.Conv2d(before, before, 1)] if self.chance(0.4) else None
        return [qt.Residual(body, shortcut, self.chance(0.7))]

    def layers(self):
        result = self.conv()
        for _ in range(self.random.randint(1, 3)):
            if min(self.size) >= 4:
                result += self.random.choice((self.conv, self.pool, self.residual))()
        if self.chance(0.2):
            return result
        features = self.channels
        if self.chance(0.5):
            result.append(nn.AdaptiveAvgPool2d(1))
        else:
            features *= self.size[0] * self.size[1]
        result.append(nn.Flatten())
        if self.chance(0.4):
            self.channels = self.random.randint(2, 9)
            result += [nn.Linear(features, self.channels)] + self.after(nn.BatchNorm1d)
            result += [nn.Dropout(0.25)] if self.dropout else []
            features = self.channels
        return result + [nn.Linear(features, self.random.randint(1, 6), self.chance(0.7))]


def distances(expected, found):
    """How far each of the gradients `found` is off, as a share of it and a thousandth of all. A chain whose last ReLU lets
    nothing pass has no gradient: then each must be 0.
    """
    all_of_them = sum(float(one.norm()) for one in expected)
    shares = []
    for one, other in zip(expected, found):
        error = float((other - one).norm())
        shares.append(error / (float(one.norm()) + 1e-3 * all_of_them) if all_of_them else (0.0 if error == 0 else math.inf))
    return [share if share == share else math.inf for share in shares]  # a nan is no distance


def options_of(random):
    """Keyword arguments of QuantizedSequential."""
    return {"weight_bits": random.choice((8, 8, 4, 3)), "scale": random.choice(("float", "power_of_two")),
            "observer": random.choice(("moving_average", "min_max", "last")), "zero_points": random.random() < 0.4,
            "input_scale": random.choice((None, None, 0.03))}


def restating(options):
    """The same options as chain_restated.Restated takes them."""
    return {"weight_bits": options["weight_bits"], "power_of_two": options["scale"] == "power_of_two",
            "observer": options["observer"], "zero_points": options["zero_points"],
            "fixed_input": options["input_scale"] is not None}
