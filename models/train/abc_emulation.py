"""A trained binary network in float, step by step as docs/reference/kernels.md defines it, and its words:
what the packed kernels must give. Writes <out>.words.npy, <out>.floats.npy and <out>.bits.npy, which
tests/golden/binary/trained_network.cpp reads.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from abc_network import LAYERS, NORMAL_U, approximate_weights
from data import load_binary_batch, normalize

WORD_BITS = 64


def fma(a, b, c):
    """float32(a * b + c) of float32. The product is exact in float64."""
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float32)


def pack(signs):
    """+1 and -1 [..., channels] -> words [..., ceil(channels / 64)], channel c in bit c % 64 of word c / 64."""
    bits = np.packbits(signs > 0, axis=-1, bitorder="little")
    padding = -bits.shape[-1] % (WORD_BITS // 8)
    bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, padding)])
    return np.ascontiguousarray(bits).view("<u8")


def folded_norm(state, at):
    """gain and shift of batch norm, in float64, each rounded to float32 once."""
    gamma, beta, mean, var = (state[f"norms.{at}.{n}"].astype(np.float64) for n in ("weight", "bias", "running_mean", "running_var"))
    gain = gamma / np.sqrt(var + 1e-5)
    return gain.astype(np.float32), (beta - mean * gain).astype(np.float32)


def quantize(y, gain, shift, v, pool):
    """float32 [N, C, H, W] -> +1 and -1 [N, H, W, bases, C]: max-pool, batch norm, ReLU, quantizer."""
    if pool:
        n, c, h, w = y.shape
        y = y.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))
    z = fma(gain.reshape(1, -1, 1, 1), y, shift.reshape(1, -1, 1, 1))
    z = np.where(z < 0, np.float32(0), z)
    bases = [np.where(z + threshold > np.float32(0.5), 1, -1).astype(np.float32) for threshold in v]
    return np.stack(bases, 1).transpose(0, 3, 4, 1, 2)


def convolve(signs, bases, alpha, beta):
    """y of a layer: signs [N, H, W, bases, C], bases [out, M, C, 3, 3] of +1 and -1, alpha [M, out], beta [bases]."""
    sums = None
    for i in range(bases.shape[1]):
        s = np.float32(0)
        for j in range(signs.shape[3]):
            a = torch.from_numpy(np.ascontiguousarray(signs[:, :, :, j].transpose(0, 3, 1, 2)))
            dot = F.conv2d(a, torch.from_numpy(np.ascontiguousarray(bases[:, i])), padding=1).numpy()
            s = fma(beta[j : j + 1].reshape(1, 1, 1, 1), np.rint(dot), np.broadcast_to(np.float32(s), dot.shape))
        y = np.zeros_like(s) if sums is None else sums
        sums = fma(alpha[i].reshape(1, -1, 1, 1), s, y)
    return sums


def emulate(state, images):
    """Yields, of the input and then of each layer: (words of weights or none, floats, the signs that come of it)."""
    count = len(state["quantizers.0.v"])
    first = F.conv2d(normalize(images), torch.from_numpy(state["first.weight"]), padding=1).numpy()
    signs = quantize(first, *folded_norm(state, 0), state["quantizers.0.v"], pool=False)
    yield None, [], signs
    weights = [torch.from_numpy(state[f"convs.{at}.weight"]) for at in range(len(LAYERS))]
    approximated = approximate_weights(weights, torch.tensor(NORMAL_U[count]))
    for at, (layer, (bases, alpha)) in enumerate(zip(LAYERS, approximated), 1):
        bases = bases.numpy().reshape(layer.outputs, count, layer.inputs, 3, 3)
        alpha = np.ascontiguousarray(alpha.numpy().T.astype(np.float32))
        beta = state[f"quantizers.{at - 1}.beta"]
        gain, shift = folded_norm(state, at)
        v = state[f"quantizers.{at}.v"]
        signs = quantize(convolve(signs, bases, alpha, beta), gain, shift, v, layer.pool)
        yield pack(bases.transpose(0, 1, 3, 4, 2)), [alpha, beta, gain, shift, v], signs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", help="abc-<bases>.npz of train_abc.py")
    parser.add_argument("--test-batch", required=True, help="pictures in the official binary format")
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--out", required=True, help="path and name that the three files begin with")
    args = parser.parse_args()
    state = dict(np.load(args.network))
    images = load_binary_batch(args.test_batch).images[: args.images]
    words, floats, bits = [], [], []
    for layer_words, layer_floats, signs in emulate(state, images):
        if layer_words is not None:
            words.append(layer_words.ravel())
        floats += [f.ravel() for f in layer_floats]
        bits.append(pack(signs).ravel())
        print(f"{signs.shape[1]}x{signs.shape[2]}, {signs.shape[4]} channels: {np.mean(signs > 0):.1%} are +1")
    Path(args.out).parent.mkdir(parents=True, exist_ok=True)
    np.save(f"{args.out}.words.npy", np.concatenate(words))
    np.save(f"{args.out}.floats.npy", np.concatenate(floats))
    np.save(f"{args.out}.bits.npy", np.concatenate(bits))


if __name__ == "__main__":
    main()
