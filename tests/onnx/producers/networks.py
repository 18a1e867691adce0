"""Small networks with the structures that people quantize, in PyTorch, untrained but with live batch norms.

Their tensors are small, so that a file has a few tens of KB. NETWORKS: name -> (class, shape of an input).
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
            conv_bn(3, 8, 3, padding=1), conv_bn(8, 8, 3, padding=1), nn.MaxPool2d(2), conv_bn(8, 12, 3, padding=1),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12 * 16, 16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 10))


class Residual(nn.Module):
    """A block with an identity, one with a convolution of stride 2 beside it, and a global average pool."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, padding=1)
        self.first = nn.Sequential(conv_bn(8, 8, 3, padding=1), conv_bn(8, 8, 3, None, padding=1))
        self.second = nn.Sequential(conv_bn(8, 16, 3, stride=2, padding=1), conv_bn(16, 16, 3, None, padding=1))
        self.beside = conv_bn(8, 16, 1, None, stride=2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(16, 10)

    def forward(self, x):
        x = self.stem(x)
        x = functional.relu(self.first(x) + x)
        x = functional.relu(self.second(x) + self.beside(x))
        return self.classify(torch.flatten(self.pool(x), 1))


class InvertedResidual(nn.Module):
    """Expansion, depthwise convolution and projection with ReLU6, as MobileNet v2 has them; a mean over the picture."""

    def __init__(self):
        super().__init__()

        def block(inputs, outputs, stride):
            wide = 3 * inputs
            return nn.Sequential(conv_bn(inputs, wide, 1, nn.ReLU6),
                                 conv_bn(wide, wide, 3, nn.ReLU6, stride=stride, padding=1, groups=wide),
                                 conv_bn(wide, outputs, 1, None))
        self.stem = conv_bn(3, 8, 3, nn.ReLU6, stride=2, padding=1)
        self.first, self.second, self.third = block(8, 8, 1), block(8, 12, 2), block(12, 12, 1)
        self.classify = nn.Sequential(nn.Dropout(), nn.Linear(12, 10))

    def forward(self, x):
        x = self.stem(x)
        x = x + self.first(x)
        x = self.second(x)
        x = x + self.third(x)
        return self.classify(x.mean([2, 3]))


class Inception(nn.Module):
    """Four branches, one of them an average pool with its pads counted, joined by channels."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, padding=1)
        self.one = conv_bn(8, 4, 1)
        self.three = nn.Sequential(conv_bn(8, 4, 1), conv_bn(4, 6, 3, padding=1))
        self.five = nn.Sequential(conv_bn(8, 4, 1), conv_bn(4, 4, 5, padding=2))
        self.pooled = nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), conv_bn(8, 4, 1))
        self.largest = nn.Sequential(nn.MaxPool2d(3, stride=2, padding=1), nn.AvgPool2d(2, count_include_pad=False))
        self.classify = nn.Linear(18 * 16, 10)

    def forward(self, x):
        x = self.stem(x)
        x = torch.cat([self.one(x), self.three(x), self.five(x), self.pooled(x)], 1)
        return self.classify(torch.flatten(self.largest(x), 1))


class OddConvolutions(nn.Module):
    """1x7 and 7x1, stride 3, pads of one side only, dilation, groups, 4x2, and 1x1 with a bias."""

    def __init__(self):
        super().__init__()
        self.row, self.column = nn.Conv2d(3, 6, (1, 7), padding=(0, 3)), nn.Conv2d(6, 6, (7, 1), padding=(3, 0))
        self.one_side = nn.Conv2d(6, 8, 3)
        self.dilated = nn.Conv2d(8, 8, 3, padding=2, dilation=2)
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=4)
        self.rectangle, self.strided = nn.Conv2d(8, 8, (4, 2)), nn.Conv2d(8, 12, 5, stride=3, padding=1)
        self.classify = nn.Conv2d(12, 10, 1)

    def forward(self, x):
        x = functional.relu(self.column(functional.relu(self.row(x))))
        x = functional.relu(self.one_side(functional.pad(x, (0, 2, 1, 0))))
        x = functional.relu(self.grouped(functional.relu(self.dilated(x))))
        x = functional.relu(self.strided(functional.leaky_relu(self.rectangle(x), 0.1)))
        return torch.flatten(functional.adaptive_avg_pool2d(self.classify(x), 1), 1)


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(48, 40), nn.ReLU(), nn.Linear(40, 24), nn.ReLU(), nn.Linear(24, 10))


class LeNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Conv2d(6, 8, 5), nn.ReLU(),
            nn.MaxPool2d(2, 2), nn.Flatten(), nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, 10))


class Activations(nn.Module):
    """HardSwish, Sigmoid, LeakyReLU, a squeeze-and-excite with HardSigmoid as MobileNet v3 has it, and Softmax."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, nn.Hardswish, stride=2, padding=1)
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 8, 1),
                                     nn.Hardsigmoid())
        self.leaky, self.smooth = conv_bn(8, 8, 3, nn.LeakyReLU, padding=1), conv_bn(8, 8, 1, nn.Sigmoid)
        self.classify = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.smooth(self.leaky(x * self.squeeze(x)))
        return torch.softmax(self.classify(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1)), 1)


PICTURE = (3, 16, 16)
NETWORKS = {
    "vgg": (Vgg, PICTURE), "residual": (Residual, PICTURE), "inverted_residual": (InvertedResidual, PICTURE),
    "inception": (Inception, PICTURE), "odd_convolutions": (OddConvolutions, PICTURE), "mlp": (Mlp, (48,)),
    "lenet": (LeNet, (1, 16, 16)), "activations": (Activations, PICTURE)}


def build(name, seed):
    """(network in eval mode, calibration inputs [16, ...]), the same for a seed on every machine."""
    torch.manual_seed(seed)
    network, shape = NETWORKS[name][0](), NETWORKS[name][1]
    inputs = torch.randn(16, *shape)
    network.train()
    with torch.no_grad():
        network(inputs)
    return network.eval(), inputs
