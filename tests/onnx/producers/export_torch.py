"""Writes each network of networks.py as PyTorch exports it: float, and quantized by FX graph mode.

usage: /usr/bin/python3 export_torch.py DIR
Needs Debian's python3-torch (1.13). The files in torch/ are these, checked in: tests read them without PyTorch.
DIR/NETWORK.FORM.onnx, FORM: float; fx_tensor, fx_channel (after calibration; weights per tensor, per channel).
"""
import pathlib
import sys
import warnings

import networks
import torch
from torch import nn
from torch.ao import quantization
from torch.ao.quantization import quantize_fx

SEED = 14
OPSET = 13



def part_linear_and_relu(network):
    """An Identity between each Linear and its ReLU: PyTorch 1.13 has no ONNX form of its fused linear_relu."""
    for module in list(network.modules()):
        for i in range(1, len(module) if isinstance(module, nn.Sequential) else 0):
            if isinstance(module[i], nn.ReLU) and isinstance(module[i - 1], nn.Linear):
                module[i] = nn.Sequential(nn.Identity(), nn.ReLU())
    return network


def post_training(network, inputs, per_channel):
    """Quantized after calibration by FX graph mode: activations uint8, weights int8, all 8 bits of both."""
    weights = quantization.default_per_channel_weight_observer if per_channel else \
        quantization.default_weight_observer
    activations = quantization.HistogramObserver.with_args(reduce_range=False)
    mapping = quantization.QConfigMapping().set_global(quantization.QConfig(activation=activations, weight=weights))
    prepared = quantize_fx.prepare_fx(part_linear_and_relu(network), mapping, (inputs,))
    with torch.no_grad():
        prepared(inputs)
    return quantize_fx.convert_fx(prepared)


FORMS = {"float": lambda network, inputs: network,
         "fx_tensor": lambda network, inputs: post_training(network, inputs, False),
         "fx_channel": lambda network, inputs: post_training(network, inputs, True)}


# PyTorch 1.13 raises an error on these: its quantized average pool, sigmoid and softmax have no ONNX form.
NOT_EXPORTED = {(name, form) for name in ("inception", "activations") for form in ("fx_tensor", "fx_channel")}


def export(network, example, file):
    torch.onnx.export(network, example, str(file), opset_version=OPSET, input_names=["input"],
                      output_names=["output"], dynamic_axes={"input": {0: "N"}, "output": {0: "N"}})


def main(words):
    if len(words) != 1:
        sys.exit(__doc__)
    folder = pathlib.Path(words[0])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    # The one engine of Debian's build for these operators; the mapping decides what is quantized, and how.
    torch.backends.quantized.engine = "qnnpack"
    for name in networks.NETWORKS:
        for form, quantize in FORMS.items():
            if (name, form) in NOT_EXPORTED:
                continue
            network, inputs = networks.build(name, SEED)
            export(quantize(network, inputs), inputs[:1], folder / f"{name}.{form}.onnx")


if __name__ == "__main__":
    main(sys.argv[1:])
