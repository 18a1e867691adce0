"""Small random networks in float, and pictures for them: what the tests of quantization-aware training run on."""
import pathlib
import sys

TRAIN = pathlib.Path(__file__).resolve().parents[2] / "models/train"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TRAIN))

import torch

from qat_graph import IMAGE, Node


def chain(size):
    """For pictures of size x size."""
    return (
        Node("conv1", "conv", (IMAGE,), True, 3, 8),
        Node("pool1", "max_pool", ("conv1",)),
        Node("conv2", "conv", ("pool1",), True, 8, 12),
        Node("fc1", "fc", ("conv2",), True, 12 * (size // 2) ** 2, 16),
        Node("fc2", "fc", ("fc1",), False, 16, 10),
    )


CHAIN = chain(8)

RESIDUAL = (
    Node("stem", "conv", (IMAGE,), True, 3, 8),
    Node("left", "conv", ("stem",), True, 8, 12, stride=2),
    Node("right", "conv", ("left",), False, 12, 12),
    Node("short", "conv", ("stem",), False, 8, 12, kernel=1, stride=2),
    Node("sum", "add", ("right", "short"), True),
    Node("again", "conv", ("sum",), False, 12, 12),
    Node("sum2", "add", ("again", "sum"), True),
    Node("pool", "average_pool", ("sum2",)),
    Node("fc", "fc", ("pool",), False, 12, 10),
)


def random_weights(nodes, seed, gain=1.0):
    """Channels whose sizes differ by up to a factor of 16, and one channel of zeros."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for node in (n for n in nodes if n.has_weights):
        shape = (node.outputs, node.inputs, *([node.kernel] * 2 if node.kind == "conv" else []))
        fan_in = node.inputs * (node.kernel**2 if node.kind == "conv" else 1)
        sizes = 2.0 ** (torch.rand(node.outputs, generator=generator) * 4 - 2) * gain
        sizes[1] = 0
        weight = torch.randn(shape, generator=generator) * (2 / fan_in) ** 0.5
        weights[f"{node.name}.weight"] = weight * sizes.view(-1, *[1] * (weight.dim() - 1))
        weights[f"{node.name}.bias"] = torch.randn(node.outputs, generator=generator) * 0.3
    return weights


def pictures(count, size=8, seed=1):
    """Normalized: (p - 128) / 128 of random pixels p."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(0, 256, (count, 3, size, size), generator=generator) - 128) / 128.0
