"""Small float networks as people write them in PyTorch, untrained but with live batch norms. The structures of
../producers/networks.py, smaller, and what only a float file has.

NETWORKS: name -> (class, shape of an input, opset of the TorchScript exporter).
"""
import torch
from torch import nn
from torch.nn import functional


def conv_bn(inputs, outputs, kernel, activation=nn.ReLU, **options):
    """Convolution, batch norm, and an activation or None."""
    layers = [nn.Conv2d(inputs, outputs, kernel, bias=False, **options), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class Vgg(nn.Sequential):
    def __init__(self):
        super().__init__(
            conv_bn(3, 6, 3, padding=1), nn.MaxPool2d(2), conv_bn(6, 8, 3, padding=1), conv_bn(8, 8, 3, padding=1),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 9, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(),
            nn.Linear(12, 10))


class Residual(nn.Module):
    """A block with an identity, one with a convolution of stride 2 beside it, and a global average pool."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 6, 3, padding=1)
        self.first = nn.Sequential(conv_bn(6, 6, 3, padding=1), conv_bn(6, 6, 3, None, padding=1))
        self.second = nn.Sequential(conv_bn(6, 8, 3, stride=2, padding=1), conv_bn(8, 8, 3, None, padding=1))
        self.beside = conv_bn(6, 8, 1, None, stride=2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        x = functional.relu(self.first(x) + x)
        x = functional.relu(self.second(x) + self.beside(x))
        return self.classify(torch.flatten(self.pool(x), 1))


class PreActivation(nn.Module):
    """Batch norm and ReLU before each convolution: there is no layer before the first batch norm to take it."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding=1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(6) for _ in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(6, 6, 3, padding=1, bias=False) for _ in range(2))
        self.classify = nn.Linear(6, 10)

    def forward(self, x):
        x = self.stem(x)
        for norm, conv in zip(self.norms, self.convs):
            x = x + conv(functional.relu(norm(x)))
        x = functional.relu(self.norms[2](x))
        return self.classify(x.mean((2, 3)))


class InvertedResidual(nn.Module):
    """Expansion, depthwise convolution and projection with ReLU6, as MobileNet v2 has them; a mean over the picture."""

    def __init__(self):
        super().__init__()

        def block(inputs, outputs, stride):
            wide = 2 * inputs
            return nn.Sequential(conv_bn(inputs, wide, 1, nn.ReLU6),
                                 conv_bn(wide, wide, 3, nn.ReLU6, stride=stride, padding=1, groups=wide),
                                 conv_bn(wide, outputs, 1, None))
        self.stem = conv_bn(3, 6, 3, nn.ReLU6, stride=2, padding=1)
        self.first, self.second = block(6, 6, 1), block(6, 8, 2)
        self.classify = nn.Sequential(nn.Dropout(), nn.Linear(8, 10))

    def forward(self, x):
        x = self.stem(x)
        x = self.second(x + self.first(x))
        return self.classify(x.mean([2, 3]))


class Fire(nn.Module):
    """Squeeze and two expansions joined, as SqueezeNet has them; the classes are channels."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.squeeze, self.one = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 6, 1)
        self.three, self.classify = nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(12, 10, 1)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.stem(x)), 3, stride=2, ceil_mode=True)
        x = functional.relu(self.squeeze(x))
        x = torch.cat([functional.relu(self.one(x)), functional.relu(self.three(x))], 1)
        x = functional.relu(self.classify(functional.dropout(x, 0.5, self.training)))
        return torch.flatten(functional.adaptive_avg_pool2d(x, (1, 1)), 1)


class Inception(nn.Module):
    """Branches with average pools that count their pads or do not, joined by channels."""

    def __init__(self):
        super().__init__()
        self.one, self.five = conv_bn(3, 4, 1), conv_bn(3, 4, 5, padding=2)
        self.counted = nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), conv_bn(3, 4, 1))
        self.pools = nn.Sequential(nn.MaxPool2d(3, stride=2, padding=1), nn.AvgPool2d(3, 2, 1, count_include_pad=False))
        self.classify = nn.Linear(12 * 9, 10)

    def forward(self, x):
        x = torch.cat([self.one(x), self.five(x), self.counted(x)], 1)
        return self.classify(torch.flatten(self.pools(x), 1))


class Leaky(nn.Sequential):
    def __init__(self):
        super().__init__(
            conv_bn(3, 6, 3, lambda: nn.LeakyReLU(0.1), padding=1, stride=2), conv_bn(6, 8, 3, nn.LeakyReLU, padding=1),
            nn.Conv2d(8, 8, 3), nn.PReLU(), nn.Flatten(), nn.Linear(8 * 16, 10))


class LeNet(nn.Sequential):
    """With average pools and sigmoids, as it was first."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 4, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2), nn.Conv2d(4, 6, 3), nn.Sigmoid(),
            nn.AvgPool2d(2), nn.Flatten(), nn.Linear(24, 12), nn.Sigmoid(), nn.Linear(12, 10))


class Adaptive(nn.Module):
    """An adaptive average pool that leaves 3 x 3, then a view whose size is computed."""

    def __init__(self):
        super().__init__()
        self.stem, self.pool = conv_bn(3, 6, 3, padding=1), nn.AdaptiveAvgPool2d(3)
        self.classify = nn.Linear(54, 10)

    def forward(self, x):
        x = self.pool(self.stem(x))
        return self.classify(x.view(x.size(0), -1))


class Mlp(nn.Module):
    """Matrix products with weights as inputs x outputs and a bias added, and Linear."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(48, 20) / 7), nn.Parameter(torch.randn(20))
        self.second, self.third = nn.Linear(20, 16), nn.Linear(16, 10, bias=False)

    def forward(self, x):
        x = functional.relu(x.flatten(1) @ self.weight + self.bias)
        return self.third(functional.relu(self.second(x)))


class Views(nn.Module):
    """Reshape with -1, dropouts that do nothing, and ArgMax of the classes."""

    def __init__(self):
        super().__init__()
        self.conv, self.drop = nn.Conv2d(3, 6, 3, stride=2), nn.Dropout2d(0.2)
        self.first, self.second = nn.Linear(6 * 25, 12), nn.Linear(12, 10)

    def forward(self, x):
        x = self.drop(functional.relu(self.conv(x)))
        x = x.reshape(-1, 6 * 25)
        x = functional.dropout(functional.relu(self.first(x)), training=self.training)
        return torch.argmax(self.second(x), 1)


class HardSwish(nn.Module):
    """The functions of MobileNet v3."""

    def __init__(self):
        super().__init__()
        self.stem, self.deep = conv_bn(3, 6, 3, nn.Hardswish, stride=2, padding=1), conv_bn(6, 6, 3, nn.Hardsigmoid, groups=6)
        self.point, self.classify = conv_bn(6, 8, 1, nn.Hardswish), nn.Linear(8, 10)

    def forward(self, x):
        x = functional.adaptive_avg_pool2d(self.point(self.deep(self.stem(x))), 1)
        return torch.softmax(self.classify(torch.flatten(x, 1)), 1)


class Constants(nn.Module):
    """Pictures normalized in the network; biases and scales by channel beside the layers; bounds of a Clip."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.49, 0.48, 0.45]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.25, 0.24, 0.26]).view(1, 3, 1, 1))
        self.scale = nn.Parameter(torch.rand(6, 1, 1) + 0.5)
        self.shift = nn.Parameter(torch.randn(1, 6, 1, 1))
        self.conv, self.classify = nn.Conv2d(3, 6, 3, padding=1), nn.Linear(6, 10)

    def forward(self, x):
        x = (x - self.mean) / self.std
        x = torch.clamp(self.conv(x) * self.scale + self.shift, -1.5, 2.5)
        x = functional.max_pool2d(functional.pad(x, (1, 0, 2, 1)), 3)
        x = torch.clamp(2 * x - 0.5, min=-0.75)
        return self.classify(torch.flatten(functional.adaptive_max_pool2d(x, 1), 1))


class OddConvolutions(nn.Module):
    """1x7 and 7x1, stride 3, pads of one side only, dilation, groups, and 4x2."""

    def __init__(self):
        super().__init__()
        self.row, self.column = nn.Conv2d(3, 4, (1, 7), padding=(0, 3)), nn.Conv2d(4, 4, (7, 1), padding=(3, 0))
        self.one_side, self.dilated = nn.Conv2d(4, 8, 3), nn.Conv2d(8, 8, 3, padding=2, dilation=2)
        self.grouped, self.rectangle = nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.Conv2d(8, 8, (4, 2))
        self.strided = nn.Conv2d(8, 10, 5, stride=3, padding=1)

    def forward(self, x):
        x = functional.relu(self.column(functional.relu(self.row(x))))
        x = functional.relu(self.one_side(functional.pad(x, (0, 2, 1, 0))))
        x = functional.relu(self.grouped(functional.relu(self.dilated(x))))
        return self.strided(functional.leaky_relu(self.rectangle(x), 0.1)).mean((2, 3))


PICTURE = (3, 12, 12)
NETWORKS = {
    "vgg": (Vgg, PICTURE, 11), "residual": (Residual, PICTURE, 13), "pre_activation": (PreActivation, PICTURE, 14),
    "inverted_residual": (InvertedResidual, PICTURE, 10), "fire": (Fire, PICTURE, 12),
    "inception": (Inception, PICTURE, 15), "leaky": (Leaky, PICTURE, 16), "lenet": (LeNet, (1, 12, 12), 10),
    "adaptive": (Adaptive, PICTURE, 13), "mlp": (Mlp, (3, 4, 4), 13), "views": (Views, PICTURE, 11),
    "hard_swish": (HardSwish, PICTURE, 13), "constants": (Constants, PICTURE, 10),
    "odd_convolutions": (OddConvolutions, PICTURE, 17)}


def build(name, seed):
    """(network in eval mode, inputs [16, ...]), the same for a seed on every machine of one version of PyTorch."""
    torch.manual_seed(seed)
    network, shape = NETWORKS[name][0](), NETWORKS[name][1]
    inputs = torch.randn(16, *shape)
    network.train()
    with torch.no_grad():
        for norm in network.modules():
            if isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d)):
                norm.weight.uniform_(0.5, 1.5)
                norm.bias.normal_()
        network(inputs)
    return network.eval(), inputs
