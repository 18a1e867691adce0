"""A small VGG-8 and small VGG-16, and pictures of a color a class with noise: what the tests of train_quantized.py train."""
import dataclasses
import pathlib
import sys

TRAIN = pathlib.Path(__file__).resolve().parents[2] / "models/train"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TRAIN))

import numpy as np
from PIL import Image

import vgg8

OUTPUTS = (8, 12, 12, 8, 8, 16, 12, 10)  # of each layer of a small VGG-8
SMALL = tuple(dataclasses.replace(spec, outputs=outputs, inputs=inputs)
              for spec, outputs, inputs in zip(vgg8.LAYERS, OUTPUTS, (3, *OUTPUTS)))
SMALL_VGG16 = {"VGG16_FEATURES": (16, 0, 24, 16, 0, 24, 0, 24, 0, 32, 0), "VGG16_HIDDEN": 64}  # in quantized_networks


def write_pictures(folder, names, count, size=(32, 32), seed=1):
    """`count` pictures a class, each of its class's color with noise."""
    print(f"seed {seed}")
    numbers = np.random.default_rng(seed)
    for at, name in enumerate(names):
        color = np.array([at * 97 % 256, at * 151 % 256, at * 211 % 256])
        (folder / name).mkdir(parents=True, exist_ok=True)
        for index in range(count):
            pixels = np.clip(color + numbers.normal(0, 25, (size[1], size[0], 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{index:03}.png")
