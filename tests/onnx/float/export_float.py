"""Writes each network of float_networks.py as PyTorch exports it.

usage: /usr/bin/python3 export_float.py torchscript DIR   Debian's python3-torch (1.13)
       python export_float.py dynamo DIR                  PyTorch 2.15 with onnxscript 0.7.2, both from PyPI
The files in files/ are these, checked in: tests read them without PyTorch.
DIR/NETWORK.FORM.onnx, FORM: folded (TorchScript's exporter of networks that are evaluated, which folds batch norms),
apart (the same without constant folding and with training=PRESERVE: each batch norm is a node), dynamo. Remarks about
the nodes, which hold paths of the machine, are left out.
"""
import pathlib
import sys
import warnings

import float_networks
import torch

SEED = 16
NAMES = {"input_names": ["input"], "output_names": ["output"]}
# Forms that equal the one beside them: nothing to fold.
FOLDED = ("vgg", "residual", "inverted_residual", "hard_swish", "adaptive")


def torchscript(name, folder):
    opset = float_networks.NETWORKS[name][2]
    for form in ("folded", "apart") if name in FOLDED else ("apart",):
        network, inputs = float_networks.build(name, SEED)
        options = {} if form == "folded" else {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
        torch.onnx.export(network, inputs[:1], str(folder / f"{name}.{form}.onnx"), opset_version=opset, **NAMES,
                          dynamic_axes={"input": {0: "N"}, "output": {0: "N"}}, **options)


def dynamo(name, folder):
    network, inputs = float_networks.build(name, SEED)
    program = torch.onnx.export(network, (inputs[:2],), dynamo=True, dynamic_shapes=({0: torch.export.Dim("N")},), **NAMES)
    model = program.model_proto
    del model.metadata_props[:], model.graph.metadata_props[:]
    for part in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output):
        del part.metadata_props[:]
    (folder / f"{name}.dynamo.onnx").write_bytes(model.SerializeToString())


def main(words):
    if len(words) != 2 or words[0] not in ("torchscript", "dynamo"):
        sys.exit(__doc__)
    folder = pathlib.Path(words[1])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in float_networks.NETWORKS:
        (torchscript if words[0] == "torchscript" else dynamo)(name, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
