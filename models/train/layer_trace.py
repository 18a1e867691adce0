"""Writes a layer trace (docs/reference/files.md) of binary layers as integers."""

import json
from pathlib import Path

import numpy as np


class Trace:
    """A layer trace in the making (docs/reference/files.md)."""

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
