"""Post-training quantization of VGG-8 to power-of-two scales, calibrated on training pictures alone."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from data import add_training_arguments, load_training_images, normalize
from float_weights import load_float_weights
from integer_network import (
    INPUT_EXPONENT, INPUT_ZERO_POINT, MAX_SHIFT, QuantizedLayer,
    accumulate, per_channel, quantize_input, requantize, save_network,
)
from vgg8 import LAYERS, after_layer, folded_preactivation

LOGITS_ZERO_POINT = 128


def float_preactivations(weights, images):
    """Returns {layer: float32 [N, out, ...] before ReLU} of the folded network."""
    outputs, x = {}, normalize(images)
    for spec in LAYERS:
        outputs[spec.name] = folded_preactivation(spec, weights, x)
        x = after_layer(spec, outputs[spec.name])
    return outputs


def choose_activation_exponent(values, zero_point):
    """The exponent with the least mean squared error of uint8 values with that zero_point."""
    low, high = -zero_point, 255 - zero_point

    def error(exponent):
        quantized = torch.clamp(torch.round(values * 2.0**exponent), low, high) * 2.0**-exponent
        return float((quantized - values).square().mean(dtype=torch.float64))

    return min(range(-4, 16), key=error)


def choose_weight_exponents(weight, lowest, highest):
    """Exponents in lowest..highest with the least squared error of int8 weights; weight is [groups, elements]."""
    candidates = np.arange(lowest, highest + 1)
    errors = [
        np.square(np.clip(np.round(weight * 2.0**c), -127, 127) * 2.0**-c - weight).sum(axis=1) for c in candidates
    ]
    # The smallest exponent among equals, so that a channel of zeros stays with the shortest shift.
    return candidates[np.argmin(np.stack(errors), axis=0)].astype(np.int64)


def quantize_layer(spec, weights, input_exponent, input_zero_point, output_exponent, output_zero_point):
    """Weights per output channel for a convolution, per tensor for an FC; bias in the accumulator's scale."""
    weight = weights[f"{spec.name}.weight"].astype(np.float64)
    groups = weight.reshape(spec.outputs if spec.is_conv else 1, -1)
    shortest = output_exponent - input_exponent
    exponents = choose_weight_exponents(groups, shortest, shortest + MAX_SHIFT)
    exponents = np.broadcast_to(exponents, (spec.outputs,)).copy()
    steps = (2.0**exponents).reshape(-1, *[1] * (weight.ndim - 1))
    return QuantizedLayer(
        weight=np.clip(np.round(weight * steps), -127, 127).astype(np.int8),
        bias=to_int32(weights[f"{spec.name}.bias"] * 2.0 ** (input_exponent + exponents)),
        weight_exponents=exponents,
        input_exponent=input_exponent, input_zero_point=input_zero_point,
        output_exponent=output_exponent, output_zero_point=output_zero_point,
    )


def to_int32(values):
    rounded = np.round(np.asarray(values, dtype=np.float64))
    if np.abs(rounded).max() >= 2**31:
        raise OverflowError("a bias leaves int32")
    return rounded.astype(np.int32)


def corrected_bias(layer, accumulator, reference):
    """The int32 bias that gives each channel the mean it has in the float network (float [N, out, ...], no ReLU)."""
    axes = [0, *range(2, reference.dim())]
    steps = 2.0 ** (layer.input_exponent + layer.weight_exponents)
    mean_accumulator = accumulator.double().mean(dim=axes).cpu().numpy() / steps
    mean_reference = reference.double().mean(dim=axes).cpu().numpy()
    return to_int32((mean_reference - mean_accumulator) * steps)


def quantize_network(weights, images, correct_bias):
    """Returns ({layer: QuantizedLayer}, mean squared error of the dequantized logits); images are uint8."""
    reference = float_preactivations(weights, images)
    layers, x, exponent, zero_point = {}, quantize_input(images), INPUT_EXPONENT, INPUT_ZERO_POINT
    for spec in LAYERS:
        wanted = reference[spec.name].clamp(min=0) if spec.relu else reference[spec.name]
        output_zero_point = 0 if spec.relu else LOGITS_ZERO_POINT
        output_exponent = choose_activation_exponent(wanted, output_zero_point)
        layer = quantize_layer(spec, weights, exponent, zero_point, output_exponent, output_zero_point)
        accumulator = torch.cat([accumulate(spec, layer, part) for part in x.split(250)])
        if correct_bias:
            layer.bias = corrected_bias(layer, accumulator, reference[spec.name])
        x = after_layer(spec, requantize(layer, accumulator))
        layers[spec.name], exponent, zero_point = layer, output_exponent, output_zero_point
    logits = (x - LOGITS_ZERO_POINT).double() * 2.0**-exponent
    return layers, float((logits - reference["fc3"]).square().mean())


def describe(layers):
    """One line a layer: exponents and shifts."""
    for name, layer in layers.items():
        exponents, shifts = layer.weight_exponents, layer.shifts
        print(
            f"{name}: input 2^-{layer.input_exponent}, weights 2^-{exponents.min()}..2^-{exponents.max()},"
            f" output 2^-{layer.output_exponent}, shift {shifts.min()}..{shifts.max()}"
        )


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add_training_arguments(parser)
    parser.add_argument("--weights", type=Path, required=True, help="vgg8-float.npz of train.py, or vgg8-float.onnx")
    parser.add_argument("--calibration", type=int, default=1024, help="training pictures to calibrate on")
    parser.add_argument("--seed", type=int, default=1, help="chooses the calibration pictures")
    parser.add_argument("--out", type=Path, default=Path("vgg8-int8.npz"))
    return parser.parse_args()


@torch.no_grad()
def main():
    args = parse_arguments()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    dataset = load_training_images(args)
    chosen = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(args.seed))[: args.calibration]
    images = dataset.subset(chosen).images.to("cuda" if torch.cuda.is_available() else "cpu")
    weights = load_float_weights(args.weights)
    results = {name: quantize_network(weights, images, name == "corrected") for name in ("plain", "corrected")}
    errors = {name: error for name, (_, error) in results.items()}
    best = min(errors, key=errors.get)
    print(f"mean squared error of the logits on {len(images)} training pictures: {json.dumps(errors)}; taken: {best}")
    describe(results[best][0])
    save_network(args.out, results[best][0])


if __name__ == "__main__":
    main()
