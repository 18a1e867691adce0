"""Makes a family's network: exports it by PyTorch to float ONNX, and quantizes it by ONNX Runtime.

    make.py mobilenet_v3_small build/families --size small
    make.py all build/families --format qoperator --activation qint8 --per-channel

Writes FOLDER/NAME.float.onnx, FOLDER/NAME.int8.onnx and FOLDER/NAME.x.npy, the same for the same seed and versions.
Needs torch and torchvision (families.py), onnx, onnxruntime. Where these are in two Pythons, run the one with PyTorch
with --only export, then the other with --only quantize.
"""
import argparse
import inspect
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import onnx

from inputs import DETECTORS, NAMES, pictures

CALIBRATION = 4


def export(name, file, args):
    """Writes the float network."""
    import families  # pylint: disable=import-outside-toplevel  # quantizing needs no PyTorch
    import torch  # pylint: disable=import-outside-toplevel
    network, shape = families.build(name, args.size, args.seed, args.nms and name in DETECTORS)
    x = pictures(shape, args.seed + 2)
    options = {"input_names": ["input"], "opset_version": args.opset}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = args.dynamo
        if args.dynamo:
            options |= {"external_data": False, "verbose": False}
    elif args.dynamo:
        sys.exit(f"make.py: --dynamo needs PyTorch 2.5 or newer; this is {torch.__version__}")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (torch.from_numpy(x),), str(file), **options)
    np.save(file.parent / f"{name}.x.npy", x)


def smooth_inputs(file, seed):
    """{input's name: picture}, one after the other, for calibration; the shape is the file's."""
    value = onnx.load(file, load_external_data=False).graph.input[0]
    shape = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
    return [{value.name: pictures(shape, seed + 10 + i)} for i in range(CALIBRATION)]


def nodes_after_reshape(model):
    """Names of the nodes that depend on a Reshape: a detector's head, which people leave float."""
    reached, names = set(), []
    for node in model.graph.node:
        if node.op_type == "Reshape" or reached.intersection(node.input):
            reached.update(node.output)
            names.append(node.name)
    return names


def quantize(name, source, target, args):
    """Writes the int8 network of a float file, calibrated with smooth random pictures."""
    from onnxruntime import quantization  # pylint: disable=import-outside-toplevel  # exporting needs none
    from onnxruntime.quantization import shape_inference  # pylint: disable=import-outside-toplevel
    try:
        import sympy  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        symbolic = True
    except ImportError:
        symbolic = False

    class Calibration(quantization.CalibrationDataReader):
        left = iter(smooth_inputs(source, args.seed))

        def get_next(self):
            return next(self.left, None)

    with tempfile.TemporaryDirectory() as folder:
        prepared = pathlib.Path(folder) / "prepared.onnx"
        shape_inference.quant_pre_process(str(source), str(prepared), skip_symbolic_shape=not symbolic or args.nms)
        left_float = [] if args.quantize_head or name not in DETECTORS else nodes_after_reshape(onnx.load(prepared))
        types = {"qint8": quantization.QuantType.QInt8, "quint8": quantization.QuantType.QUInt8}
        formats = {"qdq": quantization.QuantFormat.QDQ, "qoperator": quantization.QuantFormat.QOperator}
        quantization.quantize_static(
            str(prepared), str(target), Calibration(), quant_format=formats[args.format],
            activation_type=types[args.activation], weight_type=types["qint8"], per_channel=args.per_channel,
            nodes_to_exclude=left_float)


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help=f"a family, or all: {', '.join(NAMES)}")
    parser.add_argument("folder", type=pathlib.Path, help="where the files are written")
    parser.add_argument("--size", choices=("full", "small"), default="full",
                        help="as published, or with fewer channels and blocks and a small picture (default: full)")
    parser.add_argument("--seed", type=int, default=1, help="of weights and pictures (default: 1)")
    parser.add_argument("--opset", type=int, help="of the float file (default: 13, with --dynamo 18)")
    parser.add_argument("--dynamo", action="store_true", help="export by PyTorch's newer exporter")
    parser.add_argument("--nms", action="store_true", help="end detectors with NonMaxSuppression")
    parser.add_argument("--format", choices=("qdq", "qoperator"), default="qdq", help="of the int8 file (default: qdq)")
    parser.add_argument("--activation", choices=("quint8", "qint8"), default="quint8", help="(default: quint8)")
    parser.add_argument("--per-channel", action="store_true", help="a scale for each output channel of the weights")
    parser.add_argument("--quantize-head", action="store_true",
                        help="quantize a detector's last part, too, which otherwise stays float")
    parser.add_argument("--only", choices=("export", "quantize"), help="one of the two steps")
    args = parser.parse_args(words)
    if args.name != "all" and args.name not in NAMES:
        parser.error(f"no family '{args.name}'; the families are {', '.join(NAMES)}")
    args.opset = args.opset or (18 if args.dynamo else 13)
    return args


def main(words):
    args = parse_arguments(words)
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES if args.name == "all" else [args.name]:
        source, target = (args.folder / f"{name}.{kind}.onnx" for kind in ("float", "int8"))
        if args.only != "quantize":
            export(name, source, args)
        if args.only != "export":
            quantize(name, source, target, args)
        print(f"{name}: {', '.join(str(file) for file in (source, target) if file.exists())}")


if __name__ == "__main__":
    main(sys.argv[1:])
