"""A trained binary network as int8 layers of the accelerator, and the layer trace that shows them (ADR 0018).

One base on each side: +1 and -1, and the sign is a clamp; the ofmaps are the bits of the network in float. More bases: sums
of bases as int8 codes; the ofmaps are those of these integers. Prints how many codes differ from the network in float.
"""

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from abc_emulation import fma, folded_norm, quantize
from abc_network import FIRST_CHANNELS, LAYERS
from data import load_binary_batch, normalize
from layer_trace import Trace

SIZE = 32  # of the first picture
MOST_CODE, LEAST_MOST_CODE = 127, 40  # of the largest number
LEVELS = 240  # of psums, from the least threshold to the largest


@dataclass
class BinaryLayer:
    """One layer of the files of abc_emulation.py."""

    name: str
    pool: bool
    bases: np.ndarray  # +1 and -1 [out, M, 3, 3, in]
    alpha: np.ndarray  # [M, out]
    beta: np.ndarray  # [N], of what it reads
    gain: np.ndarray  # [out]
    shift: np.ndarray  # [out]
    v: np.ndarray  # [N], of what it writes
    signs: np.ndarray  # what it writes: +1 and -1 [batch, h, w, N, out]


@dataclass
class IntegerLayer:
    """conv2d, then a table if there is one, then max-pool if there is one."""

    weights: np.ndarray  # int8 [out, 3, 3, in]
    bias: np.ndarray  # int32 [out]
    low: int
    high: int
    scales: np.ndarray | None = None  # float32 [out]; without it a psum is a level
    table: np.ndarray | None = None  # int8 [256], of the levels -128 to 127


def unpack(words, channels):
    """Words [..., ceil(channels / 64)] -> +1 and -1 [..., channels]."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=-1, bitorder="little")
    return bits[..., :channels].astype(np.int8) * 2 - 1


def best_step(values):
    """The step that leaves the least squared error of `values` as int8 codes: there are few values, so it pays to look."""
    most = np.abs(values).max()
    if most == 0:
        return 1.0
    steps = most / np.arange(LEAST_MOST_CODE, MOST_CODE + 1)
    errors = [np.square(values - np.rint(values / step) * step).sum() for step in steps]
    return steps[int(np.argmin(errors))]


def sums_of(beta):
    """Every sum of plus or minus beta_j."""
    signs = np.array(list(itertools.product((-1, 1), repeat=len(beta))))
    return signs @ beta.astype(np.float64)


class Numbers:
    """A file's numbers, which layers take one after the other."""

    def __init__(self, path):
        self.values, self.taken = np.load(path), 0

    def take(self, *shape):
        count = int(np.prod(shape))
        self.taken += count
        return self.values[self.taken - count : self.taken].reshape(shape)


def read_network(prefix):
    """(signs of the input [batch, 32, 32, N, 16], layers) of PREFIX.words.npy, PREFIX.floats.npy and PREFIX.bits.npy."""
    words, floats, bits = (Numbers(f"{prefix}.{kind}.npy") for kind in ("words", "floats", "bits"))
    outputs = sum(layer.outputs for layer in LAYERS)
    count = (len(floats.values) - 2 * outputs) // (outputs + 2 * len(LAYERS))
    size, layers = SIZE, []
    pixels = [SIZE**2 * count]
    for layer in LAYERS:
        size //= 2 if layer.pool else 1
        pixels.append(size**2 * count)
    batch = len(bits.values) // sum(pixels)
    signs = unpack(bits.take(batch, SIZE, SIZE, count, 1), FIRST_CHANNELS)
    size = SIZE
    for layer in LAYERS:
        size //= 2 if layer.pool else 1
        bases = unpack(words.take(layer.outputs, count, 3, 3, 1), layer.inputs)
        alpha, beta, gain = floats.take(count, layer.outputs), floats.take(count), floats.take(layer.outputs)
        shift, v = floats.take(layer.outputs), floats.take(count)
        written = unpack(bits.take(batch, size, size, count, 1), layer.outputs)
        layers.append(BinaryLayer(layer.name, layer.pool, bases, alpha, beta, gain, shift, v, written))
    return signs, layers


def sign_layer(layer, flips):
    """(IntegerLayer, flips of what it writes) with one base. `flips`: +1, or -1 for a channel that is stored negated."""
    alpha, beta, v = layer.alpha[0], layer.beta[:1], layer.v[0]
    falls = alpha * beta < 0  # y falls with the dot; with negated weights it rises
    weights = layer.bases[:, 0] * np.where(falls, -1, 1)[:, None, None, None] * flips
    most = int(np.prod(weights.shape[1:]))
    dots = np.arange(-most, most + 1, dtype=np.float32)
    s = fma(beta, np.where(falls[:, None], -dots, dots).astype(np.float32), np.zeros(1, np.float32))
    y = fma(alpha[:, None], s, np.zeros(1, np.float32))
    z = np.maximum(fma(layer.gain[:, None], y, layer.shift[:, None]), np.float32(0))
    bits = z + v > np.float32(0.5)
    stored_negated = bits[:, 0] & ~bits[:, -1]  # batch norm's gain is negative
    bits ^= stored_negated[:, None]
    assert (np.diff(bits.astype(int), axis=1) >= 0).all()
    least = -most + (~bits).sum(1)  # the least dot whose bit is 1; most + 1 if there is none
    # All dots have the parity of `channels`, also at a border, if that is even. Else psums are twice the dots.
    if weights.shape[3] % 2:
        weights, least = weights * 2, least * 2
    bias = 1 - (least + least % 2)  # odd, so psum + bias is never 0
    integers = IntegerLayer(weights.astype(np.int8), bias.astype(np.int32), -1, 1)
    return integers, np.where(stored_negated, -1, 1)


def sum_layer(layer, step, next_beta, next_step):
    """IntegerLayer of sums of bases. A code that it reads means `step` times as much, one that it writes `next_step`."""
    sums = np.einsum("omhwc,mo->ohwc", layer.bases.astype(np.float64), layer.alpha.astype(np.float64))
    negative = layer.gain < 0
    if layer.pool and negative.any():
        raise ValueError(f"{layer.name}: batch norm with a negative gain after a max-pool has no order of codes")
    sums *= np.where(negative, -1, 1)[:, None, None, None]
    steps = np.array([best_step(np.unique(channel)) for channel in sums])
    thresholds = 0.5 - layer.v.astype(np.float64)
    middle = (thresholds.min() + thresholds.max()) / 2
    level = max(thresholds.max() - thresholds.min(), 0.1) / LEVELS
    real = np.maximum(np.abs(layer.gain), 1e-20) * steps * step  # batch norm's result, of a psum of 1
    bias = np.clip(np.rint((layer.shift - middle) / real), -(2**24), 2**24)
    z = np.maximum(middle + np.arange(-128, 128) * level, 0)
    codes = sum(b * np.where(z + v > 0.5, 1, -1) for b, v in zip(next_beta.astype(np.float64), layer.v))
    table = np.rint(codes / next_step).astype(np.int8)
    if layer.pool and (np.diff(table.astype(int)) < 0).any():
        raise ValueError(f"{layer.name}: with a negative beta a max-pool of codes is not one of numbers")
    weights = np.rint(sums / steps[:, None, None, None]).astype(np.int8)
    return IntegerLayer(weights, bias.astype(np.int32), -128, 127, (real / level).astype(np.float32), table)


def max_pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def run_integers(integers, x):
    """int8 [n, h, w, c] -> (conv2d, after the table): int8 [n, h, w, out]."""
    nchw = torch.from_numpy(x.transpose(0, 3, 1, 2).astype(np.float32))
    weights = torch.from_numpy(integers.weights.transpose(0, 3, 1, 2).astype(np.float32))
    products = F.conv2d(nchw, weights, padding=1).numpy()  # exact: at most 576 * 127 * 127, below 2^24
    psums = np.rint(products).astype(np.int64).transpose(0, 2, 3, 1) + integers.bias
    if integers.scales is not None:
        psums = np.rint(psums.astype(np.float32) * integers.scales)
    levels = np.clip(psums, integers.low, integers.high).astype(np.int8)
    return levels, levels if integers.table is None else integers.table[levels.astype(int) + 128]


@dataclass
class Lowered:
    """A network as integers."""

    layers: list  # of IntegerLayer
    first: object  # signs [batch, h, w, N, c] of the input -> int8 codes [batch, h, w, c]
    written: list  # the same of what each layer writes
    last: np.ndarray  # what a code of the last layer means, by channel: in steps of its beta, or a number


def lower_signs(layers):
    """One base on each side."""
    def codes_with(flips):
        return lambda signs: (signs[:, :, :, 0] * flips).astype(np.int8)

    flips = np.ones(FIRST_CHANNELS, np.int64)
    first, lowered, written = codes_with(flips), [], []
    for layer in layers:
        integers, flips = sign_layer(layer, flips)
        lowered.append(integers)
        written.append(codes_with(flips))
    return Lowered(lowered, first, written, flips)


def lower_sums(layers, last_beta):
    """Several bases; `last_beta` is the dense layer's."""
    def codes_with(beta, step):
        return lambda signs: np.rint(np.einsum("nhwbc,b->nhwc", signs, beta.astype(np.float64)) / step).astype(np.int8)

    betas = [layer.beta for layer in layers] + [last_beta]
    steps = [best_step(sums_of(beta)) for beta in betas]
    codes = [codes_with(beta, step) for beta, step in zip(betas, steps)]
    lowered = [sum_layer(layer, steps[at], betas[at + 1], steps[at + 1]) for at, layer in enumerate(layers)]
    return Lowered(lowered, codes[0], codes[1:], steps[-1])


def lower(layers, last_beta=None):
    """Without `last_beta` the codes of the last layer are those of the beta before: the dense layer is not there."""
    if len(layers[0].beta) == 1:
        return lower_signs(layers)
    return lower_sums(layers, layers[-1].beta if last_beta is None else last_beta)


def write_trace(folder, name, signs, layers):
    """The ofmaps are the float network's codes with one base, else those of the integers. Returns how much of each
    layer's ofmap differs from the float network's codes."""
    lowered = lower(layers)
    codes = lowered.first(signs)
    trace, differences = Trace(folder, name, codes), []
    for layer, integers, written in zip(layers, lowered.layers, lowered.written):
        levels, found = run_integers(integers, codes)
        codes, expected = max_pool(found) if layer.pool else found, written(layer.signs)
        differences.append(np.mean(codes != expected))
        codes = expected if integers.table is None else codes
        trace.add_layer(layer, integers, levels, found, codes)
    trace.write()
    return differences


def top1(state, layers, batch):
    """The share of pictures that the int8 layers classify right; the first convolution and the dense layer are float."""
    last_beta = state[f"quantizers.{len(LAYERS)}.beta"]
    lowered, right = lower(layers, last_beta), 0
    meaning = lowered.last * (last_beta if len(last_beta) == 1 else 1)
    for images, labels in zip(batch.images.split(100), batch.labels.split(100)):
        first = F.conv2d(normalize(images), torch.from_numpy(state["first.weight"]), padding=1).numpy()
        codes = lowered.first(quantize(first, *folded_norm(state, 0), state["quantizers.0.v"], pool=False))
        for layer, integers in zip(layers, lowered.layers):
            codes = run_integers(integers, codes)[1]
            codes = max_pool(codes) if layer.pool else codes
        real = (codes * meaning).transpose(0, 3, 1, 2).reshape(len(labels), -1)
        logits = real @ state["dense.weight"].T.astype(np.float64) + state["dense.bias"]
        right += int((logits.argmax(1) == labels.numpy()).sum())
    return right / len(batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", help="path and name that the three files of abc_emulation.py begin with")
    parser.add_argument("--images", type=int, default=1, help="of the files")
    parser.add_argument("--out", required=True, help="the layer trace's folder")
    parser.add_argument("--state", help="also count top-1: abc-<bases>.npz of the same network, for the float layers")
    parser.add_argument("--test-batch", help="pictures of --state in the official binary format")
    args = parser.parse_args()
    signs, layers = read_network(args.network)
    for layer in layers:
        layer.signs = layer.signs[: args.images]
    for layer, share in zip(layers, write_trace(args.out, Path(args.network).name, signs[: args.images], layers)):
        print(f"{layer.name}: {share:.3%} of the ofmap differ from the network in float")
    if args.state:
        print(f"top-1 {top1(dict(np.load(args.state)), layers, load_binary_batch(args.test_batch)):.2%}")


if __name__ == "__main__":
    main()
