"""Random networks of the layers that convert() swaps, and random options for them."""
import torch

import qsim.torch as qt

nn = torch.nn


class Maker:
    """Layers of a network, from a random.Random. `size` and `channels` are those of the last tensor."""

    def __init__(self, random):
        self.random = random
        self.channels, self.size = random.choice((1, 2, 4, 6)), [random.randint(6, 12), random.randint(6, 12)]
        self.input_shape = (self.channels, *self.size)

    def chance(self, share):
        return self.random.random() < share

    def conv(self, keeps=False):
        """A convolution, with a ReLU or without. keeps: the picture's size and its channels."""
        random = self.random
        kernel = (random.choice((1, 2, 3)), random.choice((1, 2, 3, 5)))
        dilation = (random.choice((1, 1, 2)), random.choice((1, 1, 3)) if kernel[1] < 3 else 1)
        groups = random.choice([g for g in (1, 1, 2, self.channels) if self.channels % g == 0])
        out = self.channels if keeps else groups * random.randint(1, 4)
        padding, stride = ("same", 1) if keeps else ((random.randint(0, 2), random.randint(0, 3)), random.choice((1, 1, 2, (2, 1))))
        layer = nn.Conv2d(self.channels, out, kernel, stride, padding, dilation, groups, self.chance(0.7))
        self.channels = out
        self.size = list(layer(torch.zeros(1, layer.in_channels, *self.size)).shape[2:])
        return [layer] + ([nn.ReLU(inplace=self.chance(0.5))] if self.chance(0.6) else [])

    def pool(self):
        kernel = self.random.choice((2, 3, (2, 1)))
        layer = nn.MaxPool2d(kernel, self.random.choice((1, 2)), 0 if kernel == (2, 1) else self.random.randint(0, 1),
                             ceil_mode=self.chance(0.4))
        self.size = list(layer(torch.zeros(1, self.channels, *self.size)).shape[2:])
        return [layer]

    def residual(self):
        before, size = self.channels, list(self.size)
        body = self.conv(keeps=True) + (self.conv(keeps=True) if self.chance(0.5) else [])
        self.channels, self.size = before, size
        return [qt.Residual(body, [nn.Conv2d(before, before, 1)] if self.chance(0.4) else None, self.chance(0.7))]

    def layers(self):
        result = [nn.MaxPool2d(2, 1)] if self.chance(0.1) else []
        self.size = [size - len(result) for size in self.size]
        result += self.conv()
        for _ in range(self.random.randint(0, 3)):
            if min(self.size) >= 5:
                result += self.random.choice((self.conv, self.pool, self.residual))()
        if self.chance(0.3):
            return result
        features = self.channels * self.size[0] * self.size[1]
        result += [nn.Flatten(), nn.Dropout(0.25)]
        if self.chance(0.4):
            hidden = self.random.randint(2, 9)
            result += [nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Identity())]
            features = hidden
        return result + [nn.Linear(features, self.random.randint(1, 6), self.chance(0.7))]


def options_of(random):
    """Keyword arguments of convert()."""
    scale = random.choice(("float", "float", "power_of_two", "learned", 0.03))
    return {"bits": random.choice((8, 8, 8, 4, 2)), "weight_bits": random.choice((None, None, 4, 2)), "scale": scale,
            "observer": random.choice(("last", "min_max", "moving_average", "percentile")), "percentile": 90,
            "zero_points": scale in ("float", "learned") and random.random() < 0.6, "per_channel": random.random() < 0.8}
