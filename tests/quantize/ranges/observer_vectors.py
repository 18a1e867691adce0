#!/usr/bin/env python3
"""Writes observer_vectors.txt: what PyTorch's observers, numpy and a plain numpy program of the
entropy rule say of seeded tensors. The C++ tests read the file, so that they need no PyTorch.

    /usr/bin/python3 tests/quantize/ranges/observer_vectors.py > tests/quantize/ranges/observer_vectors.txt

It was made with torch 1.13.0 and numpy 1.24.2 (Debian 12). A line `tensor ROWS COLUMNS N N ...` has
values in sixty-fourths, so that they are exact; the lines after it are about this tensor:
    NAME LEVELS SYMMETRY OPTION RESULT ...
"""
import numpy
import torch
from torch.ao.quantization import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    PerChannelMinMaxObserver,
)

BATCHES = 5
VALUES = 24


def show_tensor(rows):
    print("tensor", *rows.shape, *(int(v * 64) for v in rows.flatten()))


def show(*words):
    print(*(word.hex() if isinstance(word, float) else word for word in words))


def tensors(seed, kind):
    """BATCHES rows of float32."""
    random = numpy.random.default_rng(seed)
    rows = random.normal(0.3, 2.0, (BATCHES, VALUES)) * (1 + seed)
    if kind == "positive":
        rows = numpy.maximum(rows, 0)
    if kind == "negative":
        rows = -numpy.abs(rows)
    if kind == "offset":
        rows = rows + 40
    return (numpy.rint(rows * 64) / 64).astype(numpy.float32)


DTYPES = {"u8": torch.quint8, "s8": torch.qint8}
SYMMETRIES = {"affine": torch.per_tensor_affine, "symmetric": torch.per_tensor_symmetric}


def observe(name, observer, dtype, symmetry, constant, rows):
    for row in rows:
        observer(torch.from_numpy(row))
    scale, zero_point = observer.calculate_qparams()
    show(name, dtype, symmetry, constant, scale.item(), zero_point.item())


def observers():
    for seed, kind in enumerate(["both", "positive", "negative", "offset", "both"]):
        rows = tensors(seed, kind)
        show_tensor(rows)
        for dtype, torch_dtype in DTYPES.items():
            for symmetry, scheme in SYMMETRIES.items():
                # PyTorch's unsigned symmetric zero_point is 128 also where nothing is negative.
                if symmetry == "symmetric" and dtype == "u8" and rows.min() >= 0:
                    continue
                made = {"dtype": torch_dtype, "qscheme": scheme}
                observe("min_max", MinMaxObserver(**made), dtype, symmetry, 0, rows)
                for constant in (0.01, 0.5):
                    observer = MovingAverageMinMaxObserver(averaging_constant=constant, **made)
                    observe("moving_average", observer, dtype, symmetry, constant, rows)


def channels():
    for seed, kind in enumerate(["both", "negative", "offset"]):
        rows = tensors(seed + 10, kind)
        show_tensor(rows)
        for symmetry, scheme in (
            ("affine", torch.per_channel_affine),
            ("symmetric", torch.per_channel_symmetric),
        ):
            observer = PerChannelMinMaxObserver(ch_axis=0, dtype=torch.qint8, qscheme=scheme)
            observer(torch.from_numpy(rows))
            scale, zero_point = observer.calculate_qparams()
            quantized = torch.quantize_per_channel(
                torch.from_numpy(rows), scale, zero_point, 0, torch.qint8
            )
            show("channels", "s8", symmetry, 0, *scale.tolist(), *zero_point.tolist())
            show("integers", *quantized.int_repr().flatten().tolist())


def percentiles():
    rows = tensors(20, "both").reshape(1, -1)
    show_tensor(rows)
    for percent in (0.0, 0.01, 1.0, 33.3, 50.0, 99.9, 100.0):
        result = numpy.percentile(rows.astype(numpy.float64), percent)
        show("percentile", "u8", "affine", str(percent), result.item())


BINS = 2048


def divergence(counts, lo, hi, scale, zero_point, least, most):
    """KL divergence as the page of schemes writes it, in numpy terms; counts has no zeros."""
    edges = lo + (hi - lo) * numpy.arange(BINS + 1) / BINS
    levels = numpy.rint((edges[:-1] + edges[1:]) / 2 / scale) + zero_point
    inside = (levels >= least) & (levels <= most)
    indices = numpy.flatnonzero(inside)
    data = numpy.where(inside, counts, 0).astype(float)
    data[indices[0]] += counts[: indices[0]].sum()
    data[indices[-1]] += counts[indices[-1] + 1 :].sum()
    quantized = numpy.zeros(BINS)
    for level in numpy.unique(levels[inside]):
        of_level = inside & (levels == level)
        used = of_level & (data > 0)
        if used.any():
            quantized[used] = counts[of_level].sum() / used.sum()
    p = data / data.sum()
    q = quantized / quantized.sum()
    there = p > 0
    if (q[there] == 0).any():
        return numpy.inf
    return float((p[there] * numpy.log(p[there] / q[there])).sum())


def entropy():
    for seed, kind in enumerate(["both", "positive", "negative"]):
        random = numpy.random.default_rng(seed + 30)
        values = random.laplace(0.0, 1.0, 1000)
        if kind == "positive":
            values = numpy.maximum(values, 0)
        if kind == "negative":
            values = -numpy.abs(values)
        values = numpy.rint(values * 64) / 64
        show_tensor(values.reshape(1, -1))
        observer = HistogramObserver(dtype=torch.quint8)
        observer(torch.from_numpy(values.astype(numpy.float32)))
        scale, zero_point = observer.calculate_qparams()
        show("histogram", "u8", "affine", 0, scale.item(), zero_point.item())
        lo, hi = values.min(), values.max()
        kept = values[values != 0]
        counts = numpy.zeros(BINS, dtype=numpy.int64)
        numpy.add.at(counts, numpy.minimum(((kept - lo) * (BINS / (hi - lo))).astype(int), BINS - 1), 1)
        for share in (1.0, 0.6, 0.25):
            scale = numpy.float32((hi - lo) * share / 15)
            zero_point = int(numpy.clip(numpy.rint(-lo * share / scale), 0, 15))
            result = divergence(counts, lo, hi, float(scale), zero_point, 0, 15)
            show("entropy", "u4", "affine", 0, scale.item(), zero_point, result)


observers()
channels()
percentiles()
entropy()
