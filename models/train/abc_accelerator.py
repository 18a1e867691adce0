"""A trained binary network as int8 layers of the accelerator, and the layer trace that shows them (docs/adr/0018).

One base on each side: weights and activations are +1 and -1, and the sign is a clamp; each bit is that of the network
in float, whose bits are the trace's ofmaps. More bases: sums of bases as int8 codes; the ofmaps are those of these
integers, and the script prints how many codes differ from the network in float.
"""

import argparse
import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from abc_emulation import fma
from abc_network import FIRST_CHANNELS, LAYERS

SIZE = 32  # of the first picture
MOST_CODE = 127
LEAST_MOST_CODE = 40  # of the largest number
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
    nchw = torch.from_numpy(x.transpose(0, 3, 1, 2).astype(np.float64))
    weights = torch.from_numpy(integers.weights.transpose(0, 3, 1, 2).astype(np.float64))
    psums = F.conv2d(nchw, weights, padding=1).numpy().transpose(0, 2, 3, 1) + integers.bias
    if integers.scales is not None:
        psums = np.rint(psums.astype(np.float32) * integers.scales)
    levels = np.clip(psums, integers.low, integers.high).astype(np.int8)
    return levels, levels if integers.table is None else integers.table[levels.astype(int) + 128]


class Trace:
    """A layer trace in the making (docs/reference/layer_trace.md)."""

    def __init__(self, folder, name, codes):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.layers = []
        self.root = {"schema": "qsim.trace/1", "name": name, "input": {"file": self.save("input", codes)},
                     "layers": self.layers}

    def save(self, name, array):
        np.save(self.folder / f"{name}.npy", np.ascontiguousarray(array))
        return f"{name}.npy"

    def add(self, name, op, ofmap, **fields):
        self.layers.append({"name": name, "op": op, **fields, "ofmap": self.save(f"{name}.ofmap", ofmap)})

    def add_layer(self, layer, integers, levels, codes, ofmap):
        """conv2d, its table and its max-pool; `ofmap` is that of the last one."""
        scaling = {"shifts": [0]} if integers.scales is None else {"scales": [float(s) for s in integers.scales]}
        last = "pool" if layer.pool else "conv" if integers.table is None else "table"
        self.add(layer.name, "conv2d", ofmap if last == "conv" else levels, pads=[1, 1, 1, 1], **scaling,
                 lo=integers.low, hi=integers.high, weights=self.save(f"{layer.name}.weights", integers.weights),
                 bias=self.save(f"{layer.name}.bias", integers.bias))
        if integers.table is not None:
            table = np.roll(integers.table, 128).view(np.uint8)  # by the level as an unsigned byte
            self.add(f"{layer.name}_sums", "lookup_table", ofmap if last == "table" else codes,
                     function="sum_of_bases", table=[int(b) for b in table])
        if layer.pool:
            self.add(f"{layer.name}_pool", "max_pool", ofmap, kernel=[2, 2], stride=[2, 2])

    def write(self):
        (self.folder / "trace.yaml").write_text(json.dumps(self.root, indent=1) + "\n")


def signs_trace(folder, name, signs, layers):
    """One base on each side. The ofmaps are the bits of the files. Returns the differences of each layer."""
    flips = np.ones(FIRST_CHANNELS, np.int64)
    codes = signs[:, :, :, 0]
    trace, differences = Trace(folder, name, codes), []
    for layer in layers:
        integers, flips = sign_layer(layer, flips)
        levels, found = run_integers(integers, codes)
        codes = (layer.signs[:, :, :, 0] * flips).astype(np.int8)
        differences.append(np.mean((max_pool(found) if layer.pool else found) != codes))
        trace.add_layer(layer, integers, levels, found, codes)
    trace.write()
    return differences


def sums_trace(folder, name, signs, layers):
    """Several bases. The ofmaps are those of the integers. Returns the differences of each layer from the float codes."""

    def codes_of(values, beta, step):
        return np.rint(np.einsum("nhwbc,b->nhwc", values, beta.astype(np.float64)) / step).astype(np.int8)

    betas = [layer.beta for layer in layers] + [layers[-1].beta]  # the dense layer's beta is in no file: its order does
    steps = [best_step(sums_of(beta)) for beta in betas]
    codes = codes_of(signs, betas[0], steps[0])
    trace, differences = Trace(folder, name, codes), []
    for at, layer in enumerate(layers):
        integers = sum_layer(layer, steps[at], betas[at + 1], steps[at + 1])
        levels, found = run_integers(integers, codes)
        codes = max_pool(found) if layer.pool else found
        trace.add_layer(layer, integers, levels, found, codes)
        differences.append(np.mean(codes != codes_of(layer.signs, betas[at + 1], steps[at + 1])))
    trace.write()
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", help="path and name that the three files of abc_emulation.py begin with")
    parser.add_argument("--images", type=int, default=1, help="how many of the files' pictures")
    parser.add_argument("--out", required=True, help="the layer trace's folder")
    args = parser.parse_args()
    signs, layers = read_network(args.network)
    signs = signs[: args.images]
    for layer in layers:
        layer.signs = layer.signs[: args.images]
    write = signs_trace if signs.shape[3] == 1 else sums_trace
    for layer, share in zip(layers, write(args.out, Path(args.network).name, signs, layers)):
        print(f"{layer.name}: {share:.3%} of the ofmap differ from the network in float")


if __name__ == "__main__":
    main()
