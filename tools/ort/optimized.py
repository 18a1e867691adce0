"""Prints a model's operators as ONNX Runtime runs them, at each level of its graph optimizations.

usage: optimized.py MODEL.onnx...
Levels: disabled, basic, extended, all (the default of a session). What is left of DequantizeLinear and QuantizeLinear
around a float operator has not been fused.
"""
import collections
import pathlib
import sys
import tempfile

import onnx
import onnxruntime

LEVELS = {"disabled": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
          "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
          "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
          "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL}


def optimized(model, level):
    """The graph that a session of a file runs at a level of LEVELS."""
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = LEVELS[level]
        options.log_severity_level = 4
        options.optimized_model_filepath = f"{folder}/optimized.onnx"
        onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath).graph


def main(words):
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    for word in words:
        for level in LEVELS:
            counts = collections.Counter(node.op_type for node in optimized(word, level).node)
            text = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
            print(f"{pathlib.Path(word).name} {level}: {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
