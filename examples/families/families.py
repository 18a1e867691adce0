"""Seeded networks of the families that people run on small accelerators, in PyTorch.

build(NAME, SIZE, SEED) gives a network in eval mode and the shape of its input. SIZE is "full", as published, or
"small", with the same operators in the same order, fewer channels and blocks, and a small picture. Weights are random,
drawn by numpy, so every PyTorch gives the same ones. The statistics of each BatchNorm are those of pictures, so
activations neither vanish nor saturate.

Needs torch and torchvision: Debian 12's (1.13 and 0.14) or newer.
"""
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torchvision import ops
from torchvision.models import densenet, efficientnet, mobilenetv3, regnet, shufflenetv2
from torchvision.models.detection import ssdlite

from inputs import NAMES, pictures


def convolution(inputs, outputs, kernel, stride=1, groups=1, activation=nn.ReLU):
    """Convolution that keeps the picture's size (divided by the stride), BatchNorm and an activation."""
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
              nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class UNet(nn.Module):
    """U-Net with BatchNorm: down by MaxPool, up by ConvTranspose, a Concat with the picture of the way down."""

    def __init__(self, width, levels, classes):
        super().__init__()
        widths = [width << level for level in range(levels)]
        self.down = nn.ModuleList(self.pair(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[-2::-1])
        self.join = nn.ModuleList(self.pair(2 * w, w) for w in widths[-2::-1])
        self.last = nn.Conv2d(width, classes, 1)

    @staticmethod
    def pair(inputs, outputs):
        return nn.Sequential(convolution(inputs, outputs, 3), convolution(outputs, outputs, 3))

    def forward(self, x):
        passed = []
        for block in self.down:
            x = block(functional.max_pool2d(x, 2) if passed else x)
            passed.append(x)
        for up, join, beside in zip(self.up, self.join, passed[-2::-1]):
            x = join(torch.cat([beside, up(x)], 1))
        return self.last(x)


class Espcn(nn.Sequential):
    """Super-resolution by sub-pixels: three convolutions with Tanh, then PixelShuffle."""

    def __init__(self, width, factor):
        super().__init__(nn.Conv2d(1, width, 5, 1, 2), nn.Tanh(), nn.Conv2d(width, width // 2, 3, 1, 1), nn.Tanh(),
                         nn.Conv2d(width // 2, factor * factor, 3, 1, 1), nn.PixelShuffle(factor))


class DsCnn(nn.Module):
    """Keyword spotting (MLPerf Tiny): a wide convolution, depthwise separable blocks, 49 x 10 coefficients in."""

    def __init__(self, width, blocks):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, (10, 4), 2, (5, 1), bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.blocks = nn.Sequential(*(nn.Sequential(convolution(width, width, 3, groups=width),
                                                    convolution(width, width, 1)) for _ in range(blocks)))
        self.classify = nn.Linear(width, 12)

    def forward(self, x):
        x = functional.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1)
        return functional.softmax(self.classify(torch.flatten(x, 1)), 1)


class Attention(nn.Module):
    """Self-attention of several heads, written out as timm writes it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        weights = functional.softmax(q * self.scale @ k.transpose(-2, -1), -1)
        return self.join((weights @ v).transpose(1, 2).reshape(batch, tokens, width))


class TransformerBlock(nn.Module):
    """Attention and two fully connected layers with GELU, each after a LayerNorm and added to what it read."""

    def __init__(self, width, heads):
        super().__init__()
        self.first, self.attention, self.second = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.wide(self.second(x))


class Deit(nn.Module):
    """DeiT: patches by a convolution, a class token, places, transformer blocks, the token's classes."""

    def __init__(self, picture, patch, width, heads, blocks, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, (picture // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*(TransformerBlock(width, heads) for _ in range(blocks)))
        self.norm, self.classify = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.classify(self.norm(self.blocks(x))[:, 0])


def suppressed(boxes, scores, most=100):
    """What a detector with NonMaxSuppression gives for one picture: boxes [n, 4], scores [n], classes [n]."""
    best, classes = scores[0].max(1)
    kept = ops.nms(boxes[0], best, 0.5)[:most]
    return boxes[0][kept], best[kept], classes[kept]


class SsdLite(nn.Module):
    """SSDlite with MobileNet v3 as torchvision has it, without its resizing of pictures: boxes and classes' scores."""

    def __init__(self, picture, width_mult, classes, nms):
        super().__init__()
        def norm(channels):
            return nn.BatchNorm2d(channels, 0.001)
        backbone = mobilenetv3.mobilenet_v3_large(width_mult=width_mult, reduced_tail=True, norm_layer=norm)
        self.features = ssdlite.SSDLiteFeatureExtractorMobileNet(
            backbone.features, 13, norm, **({} if width_mult == 1 else {"width_mult": width_mult}))
        with torch.no_grad():
            maps = list(self.features.eval()(torch.zeros(1, 3, picture, picture)).values())
        self.head = ssdlite.SSDLiteHead([each.shape[1] for each in maps], [6] * len(maps), classes, norm)
        self.register_buffer("anchors", self.anchors_of([each.shape[2] for each in maps]))
        self.nms = nms

    @staticmethod
    def anchors_of(cells):
        """[boxes, 4]: center x, center y, width, height of six boxes a cell, as parts of the picture."""
        sizes = np.linspace(0.2, 1.0, len(cells) + 1)
        boxes = []
        for count, size, larger in zip(cells, sizes, sizes[1:]):
            shapes = [(size, size), (math.sqrt(size * larger),) * 2]
            shapes += [(size * math.sqrt(r), size / math.sqrt(r)) for r in (2, 0.5, 3, 1 / 3)]
            boxes += [((x + 0.5) / count, (y + 0.5) / count, *shape)
                      for y in range(count) for x in range(count) for shape in shapes]
        return torch.tensor(boxes, dtype=torch.float32)

    def forward(self, x):
        found = self.head(list(self.features(x).values()))
        scores = functional.softmax(found["cls_logits"], 2)
        moves = found["bbox_regression"]
        center = moves[..., :2] / 10 * self.anchors[:, 2:] + self.anchors[:, :2]
        half = torch.exp((moves[..., 2:] / 5).clamp(max=4)) * self.anchors[:, 2:] / 2
        boxes = torch.cat([center - half, center + half], 2)
        return suppressed(boxes, scores[..., 1:]) if self.nms else (boxes, scores)


def silu_convolution(inputs, outputs, kernel=1, stride=1):
    return convolution(inputs, outputs, kernel, stride, activation=nn.SiLU)


class Bottleneck(nn.Module):
    def __init__(self, width, shortcut, first_kernel):
        super().__init__()
        self.first = silu_convolution(width, width, first_kernel)
        self.second, self.shortcut = silu_convolution(width, width, 3), shortcut

    def forward(self, x):
        y = self.second(self.first(x))
        return x + y if self.shortcut else y


class C2f(nn.Module):
    """Of YOLOv8: half of the channels through bottlenecks, every step of them joined."""

    def __init__(self, inputs, outputs, count, shortcut=True):
        super().__init__()
        self.half = outputs // 2
        self.first = silu_convolution(inputs, outputs)
        self.last = silu_convolution((2 + count) * self.half, outputs)
        self.blocks = nn.ModuleList(Bottleneck(self.half, shortcut, 3) for _ in range(count))

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.last(torch.cat(parts, 1))


class C3(nn.Module):
    """Of YOLOv5: two convolutions of one tensor, one through bottlenecks, joined."""

    def __init__(self, inputs, outputs, count, shortcut=True):
        super().__init__()
        self.first, self.beside = (silu_convolution(inputs, outputs // 2) for _ in range(2))
        self.blocks = nn.Sequential(*(Bottleneck(outputs // 2, shortcut, 1) for _ in range(count)))
        self.last = silu_convolution(outputs, outputs)

    def forward(self, x):
        return self.last(torch.cat([self.blocks(self.first(x)), self.beside(x)], 1))


class Sppf(nn.Module):
    """Three MaxPools, each of what the one before gives, all joined."""

    def __init__(self, width):
        super().__init__()
        self.first, self.last = silu_convolution(width, width // 2), silu_convolution(2 * width, width)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(functional.max_pool2d(parts[-1], 5, 1, 2))
        return self.last(torch.cat(parts, 1))


class Focus(nn.Module):
    """Every other pixel, four times, as channels; then a convolution: the stem of the first YOLOv5."""

    def __init__(self, outputs):
        super().__init__()
        self.last = silu_convolution(12, outputs, 3)

    def forward(self, x):
        return self.last(torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1))


def cells_of(height, width):
    """[1, 2, height, width]: x and y of the centers."""
    y, x = np.mgrid[:height, :width].astype(np.float32) + 0.5
    return torch.from_numpy(np.stack([x, y])[np.newaxis])


class HeadV5(nn.Module):
    """A 1x1 convolution a map; sigmoids of the box, of objectness and of classes around three anchors a cell."""

    def __init__(self, widths, cells, strides, classes):
        super().__init__()
        self.outputs, self.strides = 5 + classes, strides
        self.last = nn.ModuleList(nn.Conv2d(width, 3 * self.outputs, 1) for width in widths)
        for i, count in enumerate(cells):
            self.register_buffer(f"cells{i}", cells_of(count, count).permute(0, 2, 3, 1)[:, None].contiguous())
        sizes = torch.tensor([[1.2, 1.6], [2, 3.7], [4.1, 2.9]])
        self.register_buffer("anchors", sizes.reshape(1, 3, 1, 1, 2))

    def forward(self, maps):
        boxes, scores = [], []
        for i, (last, x) in enumerate(zip(self.last, maps)):
            x = last(x)
            size = x.shape[2]
            x = x.reshape(-1, 3, self.outputs, size, size).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
            center = (x[..., :2] * 2 - 1 + getattr(self, f"cells{i}")) * self.strides[i]
            half = (x[..., 2:4] * 2) ** 2 * self.anchors * (self.strides[i] / 2)
            boxes.append(torch.cat([center - half, center + half], -1).reshape(-1, 3 * size * size, 4))
            scores.append((x[..., 5:] * x[..., 4:5]).reshape(-1, 3 * size * size, self.outputs - 5))
        return torch.cat(boxes, 1), torch.cat(scores, 1)


class HeadV8(nn.Module):
    """Two branches a map, for boxes and classes; a box's sides are means of 16 bins (DFL)."""

    def __init__(self, widths, cells, strides, classes):
        super().__init__()
        wide, self.classes = max(16, widths[0] // 4, 64), classes
        self.box = nn.ModuleList(self.branch(width, wide, 64) for width in widths)
        self.kind = nn.ModuleList(self.branch(width, max(widths[0], min(classes, 100)), classes) for width in widths)
        self.bins = nn.Conv2d(16, 1, 1, bias=False).requires_grad_(False)
        self.register_buffer("centers", torch.cat([cells_of(n, n).flatten(2) for n in cells], 2))
        each = [torch.full((1, 1, n * n), float(s)) for n, s in zip(cells, strides)]
        self.register_buffer("strides", torch.cat(each, 2))

    @staticmethod
    def branch(inputs, width, outputs):
        return nn.Sequential(silu_convolution(inputs, width, 3), silu_convolution(width, width, 3),
                             nn.Conv2d(width, outputs, 1))

    def set_constants(self):
        self.bins.weight.data = torch.arange(16.0).reshape(1, 16, 1, 1)

    def forward(self, maps):
        joined = torch.cat([torch.cat([box(x), kind(x)], 1).reshape(-1, 64 + self.classes, x.shape[2] * x.shape[3])
                            for box, kind, x in zip(self.box, self.kind, maps)], 2)
        sides, scores = joined.split([64, self.classes], 1)
        sides = self.bins(sides.reshape(-1, 4, 16, self.centers.shape[2]).transpose(1, 2).softmax(1))
        low, high = sides.reshape(-1, 4, self.centers.shape[2]).chunk(2, 1)
        boxes = torch.cat([self.centers - low, self.centers + high], 1) * self.strides
        return boxes.transpose(1, 2), scores.sigmoid().transpose(1, 2)


class Yolo(nn.Module):
    """The shape of YOLOv5 and v8: a backbone of five strides, a way up and a way down that join its maps, a head."""

    def __init__(self, picture, width, depth, classes, nms, version):
        super().__init__()
        block, w = {5: C3, 8: C2f}[version], [width << level for level in range(5)]
        self.stem = Focus(w[0]) if version == 5 else silu_convolution(3, w[0], 3, 2)
        self.stages = nn.ModuleList(nn.Sequential(silu_convolution(a, b, 3, 2), block(b, b, depth * n))
                                    for a, b, n in zip(w, w[1:], (1, 2, 2, 1)))
        self.pool = Sppf(w[4])
        self.up = nn.ModuleList([block(w[4] + w[3], w[3], depth, False), block(w[3] + w[2], w[2], depth, False)])
        self.smaller = nn.ModuleList(silu_convolution(each, each, 3, 2) for each in w[2:4])
        self.down = nn.ModuleList([block(w[2] + w[3], w[3], depth, False), block(w[3] + w[4], w[4], depth, False)])
        strides = (8, 16, 32)
        self.head = {5: HeadV5, 8: HeadV8}[version](w[2:], [picture // s for s in strides], strides, classes)
        self.nms = nms

    def forward(self, x):
        x = self.stem(x)
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        large, middle, small = maps[1], maps[2], self.pool(x)
        middle = self.up[0](torch.cat([functional.interpolate(small, scale_factor=2.0), middle], 1))
        large = self.up[1](torch.cat([functional.interpolate(middle, scale_factor=2.0), large], 1))
        middle = self.down[0](torch.cat([self.smaller[0](large), middle], 1))
        small = self.down[1](torch.cat([self.smaller[1](middle), small], 1))
        boxes, scores = self.head([large, middle, small])
        return suppressed(boxes, scores) if self.nms else (boxes, scores)


def efficientnet_b0(width_mult, blocks):
    """EfficientNet B0, or one of fewer channels and blocks."""
    rows = [(1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3),
            (6, 5, 1, 80, 112, 3), (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1)]
    table = [efficientnet.MBConvConfig(*row[:5], min(row[5], blocks), width_mult, 1.0) for row in rows]
    return efficientnet.EfficientNet(table, 0.2, num_classes=1000 if width_mult == 1 else 10)


def regnet_x(depth, width, slope, factor, group, classes):
    parameters = regnet.BlockParams.from_init_params(depth, width, slope, factor, group)
    return regnet.RegNet(parameters, num_classes=classes)


# Name -> (full network, its input's shape, small network, its input's shape). A network is a function of `nms`.
FAMILIES = {
    "mobilenet_v3_small": (lambda nms: mobilenetv3.mobilenet_v3_small(), (3, 224, 224),
                           lambda nms: mobilenetv3.mobilenet_v3_small(width_mult=0.25, num_classes=10), (3, 64, 64)),
    "mobilenet_v3_large": (lambda nms: mobilenetv3.mobilenet_v3_large(), (3, 224, 224),
                           lambda nms: mobilenetv3.mobilenet_v3_large(width_mult=0.25, num_classes=10), (3, 64, 64)),
    "efficientnet_b0": (lambda nms: efficientnet_b0(1.0, 4), (3, 224, 224),
                        lambda nms: efficientnet_b0(0.25, 2), (3, 64, 64)),
    "densenet121": (lambda nms: densenet.DenseNet(32, (6, 12, 24, 16), 64), (3, 224, 224),
                    lambda nms: densenet.DenseNet(8, (2, 3, 3, 2), 16, num_classes=10), (3, 64, 64)),
    "shufflenet_v2": (lambda nms: shufflenetv2.ShuffleNetV2([4, 8, 4], [24, 116, 232, 464, 1024]), (3, 224, 224),
                      lambda nms: shufflenetv2.ShuffleNetV2([2, 2, 2], [8, 16, 32, 64, 128], 10), (3, 64, 64)),
    "regnet_x": (lambda nms: regnet_x(22, 24, 24.48, 2.54, 16, 1000), (3, 224, 224),
                 lambda nms: regnet_x(5, 16, 16.0, 2.0, 8, 10), (3, 64, 64)),
    "unet": (lambda nms: UNet(32, 5, 2), (3, 256, 256), lambda nms: UNet(8, 3, 2), (3, 32, 32)),
    "espcn": (lambda nms: Espcn(64, 3), (1, 120, 160), lambda nms: Espcn(16, 2), (1, 32, 32)),
    "ssdlite": (lambda nms: SsdLite(320, 1.0, 91, nms), (3, 320, 320),
                lambda nms: SsdLite(64, 0.25, 5, nms), (3, 64, 64)),
    "yolo_v5": (lambda nms: Yolo(640, 16, 1, 80, nms, 5), (3, 640, 640),
                lambda nms: Yolo(64, 8, 1, 4, nms, 5), (3, 64, 64)),
    "yolo_v8": (lambda nms: Yolo(640, 16, 1, 80, nms, 8), (3, 640, 640),
                lambda nms: Yolo(64, 8, 1, 4, nms, 8), (3, 64, 64)),
    "ds_cnn": (lambda nms: DsCnn(64, 4), (1, 49, 10), lambda nms: DsCnn(16, 2), (1, 49, 10)),
    "deit_tiny": (lambda nms: Deit(224, 16, 192, 3, 12, 1000), (3, 224, 224),
                  lambda nms: Deit(32, 8, 48, 3, 2, 10), (3, 32, 32)),
}


assert tuple(FAMILIES) == NAMES


def draw(network, seed):
    """Draws every parameter: weights by their fan-in, scales around 1, biases small."""
    generator = np.random.default_rng(seed)
    for name, parameter in network.named_parameters():
        shape = tuple(parameter.shape)
        if len(shape) > 1 and name.rpartition(".")[2] == "weight":
            values = generator.normal(0, math.sqrt(1.7 / np.prod(shape[1:])), shape)
        elif name.endswith("weight"):  # of a norm
            values = generator.uniform(0.7, 1.3, shape)
        else:
            values = generator.normal(0, 0.2, shape)
        parameter.data = torch.from_numpy(values.astype(np.float32))
    for module in network.modules():
        if hasattr(module, "set_constants"):
            module.set_constants()


def build(name, size="full", seed=1, nms=False):
    """(network, shape of its input). `nms` adds NonMaxSuppression to a detector."""
    full, full_shape, small, small_shape = FAMILIES[name]
    network, shape = (full(nms), full_shape) if size == "full" else (small(nms), small_shape)
    draw(network, seed)
    network.eval()
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.train()
        norm.momentum = 1.0  # the statistics are those of the pictures below
    if norms:
        with torch.no_grad():
            network(torch.from_numpy(pictures((4 if size == "full" else 16, *shape), seed + 1)))
    return network.eval().requires_grad_(False), (1, *shape)
