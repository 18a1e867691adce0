"""Reads the folded float weights back, from train.py's .npz or from the float ONNX model."""

from pathlib import Path

import numpy as np


def load_onnx_tensors(path):
    """Returns {name: array}; "<name>.0", "<name>.1", ... are joined along the output channels."""
    import onnx
    from onnx import numpy_helper

    tensors, parts = {}, {}
    for initializer in onnx.load(str(path)).graph.initializer:
        array = numpy_helper.to_array(initializer).copy()
        stem, _, suffix = initializer.name.rpartition(".")
        if suffix.isdigit():
            parts.setdefault(stem, []).append((int(suffix), array))
        else:
            tensors[initializer.name] = array
    for stem, numbered in parts.items():
        tensors[stem] = np.concatenate([array for _, array in sorted(numbered, key=lambda part: part[0])])
    return tensors


def load_float_tensors(path):
    """Returns {name: array} of train.py's .npz or of a float ONNX model."""
    if Path(path).suffix == ".onnx":
        return load_onnx_tensors(path)
    with np.load(path) as arrays:
        return dict(arrays)
