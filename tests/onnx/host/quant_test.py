"""Files with Quant and BipolarQuant run as the same files with QuantizeLinear, Clip and DequantizeLinear, which ONNX Runtime
runs too. Runs in the environment of tools/ort/install.sh.

usage: quant_test.py QSIM
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from hosted_test import CONFIG, run_onnxruntime
from onnx import helper, numpy_helper

DOMAINS = ["onnx.brevitas", "qonnx.custom_op.general", "finn.custom_op.general"]


class Writer:
    """A network twice over: with Quant nodes of a domain, or as ONNX's own."""

    def __init__(self, seed, domain):
        self.random = np.random.default_rng(seed)
        self.domain = domain
        self.nodes, self.constants = [], []

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, op, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def quant(self, x, scale, bits, signed=True, narrow=False):
        least = -2 ** (bits - 1) + narrow if signed else 0
        most = 2 ** (bits - 1) - 1 if signed else 2 ** bits - 1 - narrow
        if self.domain:
            numbers = [self.constant(np.asarray(n, np.float32)) for n in (scale, 0, bits)]
            return self.add("Quant", x, *numbers, domain=self.domain, signed=int(signed), narrow=int(narrow),
                            rounding_mode="ROUND")
        kind = np.int8 if signed else np.uint8
        ends = [self.constant(np.asarray(scale, np.float32).reshape(-1) if np.size(scale) > 1 else np.float32(scale)),
                self.constant(np.zeros(np.size(scale), kind) if np.size(scale) > 1 else kind(0))]
        axis = {"axis": 0} if np.size(scale) > 1 else {}
        levels = self.add("QuantizeLinear", x, *ends, **axis)
        if most - least < 255:
            levels = self.add("Clip", levels, self.constant(kind(least)), self.constant(kind(most)))
        return self.add("DequantizeLinear", levels, *ends, **axis)

    def signs(self, weights, scale):
        if self.domain:
            return self.add("BipolarQuant", self.constant(weights), self.constant(np.float32(scale)), domain=self.domain)
        levels = self.constant(np.where(weights >= 0, 1, -1).astype(np.int8))
        return self.add("DequantizeLinear", levels, self.constant(np.float32(scale)), self.constant(np.int8(0)))

    def reals(self, *shape):
        return self.random.normal(0, 1, shape).astype(np.float32)

    def model(self, bits, has_host):
        x = self.quant("x", 1 / 16, 8)
        scales = (2.0 ** self.random.integers(-6, -3, (8, 1, 1, 1))).astype(np.float32)
        weights = self.quant(self.constant(self.reals(8, 3, 3, 3)), scales, bits, narrow=True)
        y = self.quant(self.add("Relu", self.add("Conv", x, weights, pads=[1] * 4)), 1 / 4, bits, signed=False)
        if has_host:
            y = self.quant(self.add("Transpose", y, perm=[0, 1, 3, 2]), 1 / 4, bits, signed=False)
        z = self.add("Conv", y, self.signs(self.reals(4, 8, 1, 1), 1 / 8))
        output = self.quant(z, 1 / 8, 8)
        domains = {"": 13} | ({self.domain: 1} if self.domain else {})
        value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 8, 8])
        graph = helper.make_graph(self.nodes, "quant", [value], [helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid(*d) for d in domains.items()])


def main(qsim):
    onnxruntime.set_default_logger_severity(4)
    wrong = 0
    for seed, bits in enumerate((8, 4, 3, 2)):
        x = np.random.default_rng(seed).normal(0, 2, (1, 3, 8, 8)).astype(np.float32)
        has_host = bits % 4 == 0
        expected = run_onnxruntime(Writer(seed, "").model(bits, has_host), {"x": x})[0]
        for domain in DOMAINS:
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                onnx.save(Writer(seed, domain).model(bits, has_host), folder / "m.onnx")
                np.save(folder / "x.npy", x)
                done = subprocess.run([qsim, "run", "--config", CONFIG, "--model", folder / "m.onnx", "--input",
                                       folder / "x.npy", "--out", folder / "out", "--json", folder / "r.json"], text=True,
                                      capture_output=True)
                found = np.load(folder / "out/output.npy") if done.returncode == 0 else None
                parts = json.loads((folder / "r.json").read_text()).get("host", {}).get("parts") if found is not None else 0
            if parts != (2 if has_host else None):
                print(f"{domain}, {bits} bits: {parts} parts")
                wrong += 1
            if found is None or not np.array_equal(found, expected) or len(np.unique(expected)) < 4:
                print(f"{domain}, {bits} bits: {done.stderr.strip() or 'the outputs differ, or are nearly constant'}")
                wrong += 1
    print(f"{4 * len(DOMAINS)} networks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
