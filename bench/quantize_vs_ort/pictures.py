"""The pictures of both sides, as float32 [N, 3, 32, 32]: the sidecars' (p / 255 - 128 / 255) / (128 / 255)."""
import pathlib

import numpy as np
from PIL import Image

SIDE = 32
MEAN = STD = np.float32(128 / 255)


def prepared(pixels):
    """Of uint8 [N, 3, 32, 32]; each operation in float32."""
    return (pixels.astype(np.float32) / np.float32(255) - MEAN) / STD


def calibration_pictures(folder, count, seed):
    """`count` of the pictures in a folder of class folders, without repetition, in the order of their names."""
    files = sorted(pathlib.Path(folder).glob("*/*.jpg"))
    if len(files) < count:
        raise SystemExit(f"{folder}: found {len(files)} JPEG pictures in folders of classes; {count} are needed")
    chosen = np.sort(np.random.default_rng(seed).choice(len(files), count, replace=False))
    pixels = np.stack([np.asarray(Image.open(files[index]).convert("RGB")) for index in chosen])
    return prepared(pixels.transpose(0, 3, 1, 2))


def test_pictures(batch, count):
    """(pictures, labels) of the first `count` records of a CIFAR-10 batch."""
    records = np.fromfile(batch, np.uint8).reshape(-1, 1 + 3 * SIDE * SIDE)[:count]
    if len(records) < count:
        raise SystemExit(f"{batch}: found {len(records)} pictures; {count} are needed")
    return prepared(records[:, 1:].reshape(-1, 3, SIDE, SIDE)), records[:, 0].astype(np.int64)
