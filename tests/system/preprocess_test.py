#!/usr/bin/env python3
"""How a picture becomes the network's input, compared with Pillow and numpy: pictures of many sizes, colours
and kinds, drawn from a seed, go through `qsim --dump-layers` and through their filters.

usage: preprocess_test.py QSIM REPOSITORY_ROOT [SEED]

Pillow averages over areas (BOX) along an axis that shrinks and interpolates linearly (BILINEAR) along one that
grows, here on float channels, so that it rounds nothing; qsim's arithmetic is exact. Where Pillow's number is
within 1/1000 of a half, either neighbour is right; anywhere else the bytes must be equal.
"""
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import onnx
import yaml
from PIL import Image
from onnx import numpy_helper

NEAR_HALF = 1e-3
SIZES = [(32, 32), (1, 1), (7, 90), (64, 64), (33, 31), (224, 160), (5, 5), (100, 3), (480, 640), (31, 200)]


def quantization(model):
    """(scale, zero_point, dtype) of the model's first QuantizeLinear."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    node = next(node for node in model.graph.node if node.op_type == "QuantizeLinear")
    zero_point = constants[node.input[2]]
    return numpy.float32(constants[node.input[1]]), int(zero_point), zero_point.dtype


def resized_width(channel, width):
    """A float channel with another width. Pillow's BOX takes whole pixels alone, so each pixel is repeated first
    until whole pixels make up every area."""
    if width > channel.width:
        return channel.resize((width, channel.height), Image.BILINEAR)
    return channel.resize((channel.width * width, channel.height), Image.NEAREST).resize(
        (width, channel.height), Image.BOX)


def resized(picture, height, width):
    """float64 [height][width][3] of a Pillow picture, nothing rounded."""
    channels = []
    for channel in picture.convert("RGB").split():
        turned = resized_width(channel.convert("F"), width).transpose(Image.TRANSPOSE)
        turned = resized_width(turned, height).transpose(Image.TRANSPOSE)
        channels.append(numpy.asarray(turned, dtype=numpy.float64))
    return numpy.stack(channels, axis=-1)


def quantized(pixels, sidecar, scale, zero_point, dtype):
    """What docs/reference/eval.md says, in float32."""
    mean, std = (numpy.float32(sidecar["preprocess"][key]) for key in ("mean", "std"))
    values = (numpy.float32(pixels) / numpy.float32(255) - mean) / std
    limits = numpy.iinfo(dtype)
    return numpy.clip(numpy.rint(values / scale) + zero_point, limits.min, limits.max).astype(dtype)


def draw(generator, height, width):
    """A picture of one of the kinds that qsim reads."""
    kind = generator.choice(["noise", "dark", "smooth", "grey", "alpha", "palette"])
    rng = numpy.random.default_rng(generator.getrandbits(32))
    if kind == "smooth":
        y, x = numpy.mgrid[0:height, 0:width]
        rgb = numpy.stack([(y * 3 + x) % 256, (x * 5) % 256, (y * y) % 256], axis=-1).astype(numpy.uint8)
    else:
        rgb = rng.integers(0, 40 if kind == "dark" else 256, (height, width, 3), dtype=numpy.uint8)
    picture = Image.fromarray(rgb)
    if kind == "alpha":
        picture.putalpha(128)
    return kind, {"grey": picture.convert("L"), "palette": picture.convert("P")}.get(kind, picture)


def main():
    qsim, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20261122
    print(f"seed {seed}")
    generator = random.Random(seed)
    folder = root / "models/vgg8-cifar10"
    sidecar = yaml.safe_load((folder / "vgg8-int8.yaml").read_text(encoding="utf-8"))
    scale, zero_point, dtype = quantization(onnx.load(folder / "vgg8-int8.onnx"))
    height, width = sidecar["preprocess"]["resize"]
    faults, values, near, seen = 0, 0, 0, set()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for number, size in enumerate(SIZES * 3):
            kind, picture = draw(generator, *size)
            path = work / ("p.jpg" if kind in ("noise", "grey") and number % 2 else "p.png")
            picture.save(path)
            trace = work / f"trace{number}"
            subprocess.run([qsim, "--input", path, "--layers", "conv1", "--dump-layers", trace, "--no-verify",
                            "--quiet"], check=True, stdout=subprocess.DEVNULL)
            found = numpy.load(trace / "input.npy")[0]  # [height][width][3]
            exact = resized(Image.open(path), height, width)
            below, above = numpy.floor(exact + 0.5 - NEAR_HALF), numpy.floor(exact + 0.5 + NEAR_HALF)
            words = (sidecar, scale, zero_point, dtype)
            right = (found == quantized(below, *words)) | (found == quantized(above, *words))
            faults += int((~right).sum())
            near += int((below != above).sum())
            values += right.size
            seen.update(found.ravel().tolist())
            if not right.all():
                print(f"{kind} of {size[0]} x {size[1]}: {int((~right).sum())} of {right.size} values differ")
    print(f"{values} values of {len(seen)} kinds, {near} of them near a half: {faults} differ")
    return 1 if faults or near > values // 10 or len(seen) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
