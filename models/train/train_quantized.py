"""Trains VGG-16, VGG-8 or ResNet-14 from scratch, plain or on the accelerator's integers, and writes an ONNX file for qsim.

With --quantize every layer's forward pass is the int8 arithmetic that qsim simulates, and <network>-int8.onnx gives the bytes
of training. Without, <network>-float.onnx is for `qsim quantize`. The file checkpoint.pt in --out makes a run resumable: start
it again with the same options. Ctrl-C writes a checkpoint and ends with exit code 130.
"""

from __future__ import annotations

import os
import signal

if __name__ == "__main__":  # before the imports, which take seconds
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(130))

import argparse
import difflib
import importlib.util
import inspect
import json
import sys
from pathlib import Path
from typing import Any, Callable, NoReturn, Sequence

import torch
from torch import nn

from augment import RECIPES
from data import MEAN, STD
from picture_sets import PictureSet, find_sets, read_set
from quantized_networks import NETWORKS, Quantization, make_network, qsim_torch
from quantized_training import COLUMNS, NotFinite, Plan, Training, save_weights
from resumable import INTERRUPTED, Checkpoint, Interrupt, Log

BAD_INPUT = 2
OPSET = 13
RATES = {"vgg16": 0.02, "vgg8": 0.2, "resnet14": 0.2}  # VGG-16 has no batch norm
DROPOUT = {"vgg16": 0.5, "vgg8": 0.2, "resnet14": 0.2}

# Options of --quantize, and their defaults.
QUANTIZATION: dict[str, Any] = {"weight_bits": 8, "scale": "float", "observer": "moving_average", "zero_points": False}

# Options that a resumed run must have in common with the one that wrote the checkpoint.
LASTING = ("quantize", "network", "dataset", "size", "epochs", "batch_size", "rate", "recipe", "average", "amp", "seed",
           "weight_bits", "scale", "observer", "zero_points", "weights")


class Parser(argparse.ArgumentParser):
    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        """Names an unknown option before one that is missing."""
        known = [name for action in self._actions for name in action.option_strings]
        for word in sys.argv[1:] if args is None else args:
            name = word.split("=")[0]
            if name.startswith("--") and not any(option.startswith(name) for option in known):
                near = difflib.get_close_matches(name, known, 1)
                self.error(f"there is no option {name}; " + (f"did you mean {near[0]}?" if near else "--help lists all"))
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message}\n")


def number(kind: Callable[[str], Any], least: float, most: float) -> Callable[[str], Any]:
    """For `type`: a number in least..most."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            name = "an integer" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"'{text}' is not {name} in {least:g}..{most:g}")
        return value

    return read


def add_quantization_options(parser: argparse.ArgumentParser) -> None:
    """Those of QUANTIZATION; None where they are not given."""
    parser.add_argument("--weight-bits", type=number(int, 2, 8), help="of --quantize, default 8; activations have 8")
    parser.add_argument("--scale", choices=("float", "power_of_two"), help="of activations and weights; default: float")
    parser.add_argument("--observer", choices=("moving_average", "min_max", "last"), help="of activations' ranges; default: moving_average")
    parser.add_argument("--zero-points", action="store_true", default=None, help="256 levels after a ReLU in place of 128")


def quantization_of(args: argparse.Namespace) -> Quantization:
    """Gives the options that were left out their defaults."""
    for name, value in QUANTIZATION.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return Quantization(**{name: getattr(args, name) for name in QUANTIZATION})


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=sorted(NETWORKS), default="vgg8")
    parser.add_argument("--dataset", required=True, metavar="cifar10|PATH",
                        help="cifar10 (its files are in --data), or a folder or zip of class folders, or CIFAR-10 batches (.bin)")
    parser.add_argument("--data", type=Path, default=Path("data"), help="where cifar-10-batches-bin or -py is")
    parser.add_argument("--test", type=Path, help="pictures for the top-1, which chooses nothing; as --dataset")
    parser.add_argument("--size", type=number(int, 4, 4096), help="pixels a side; default: the pictures' own, at most 224")
    parser.add_argument("--quantize", action="store_true", help="train on the accelerator's integers")
    add_quantization_options(parser)
    parser.add_argument("--epochs", type=number(float, 1e-6, 1e6), default=60)
    parser.add_argument("--batch-size", type=number(int, 2, 65536), default=256)
    parser.add_argument("--rate", type=number(float, 0, 1000), help=f"peak learning rate of SGD; default: {RATES}")
    parser.add_argument("--recipe", choices=sorted(RECIPES), default="plain", help="how pictures are varied: augment.py")
    parser.add_argument("--average", type=number(float, 0, 0.999999), default=0.999, help="share of the past in averaged weights")
    parser.add_argument("--amp", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--no-graphs", dest="graphs", action="store_false", help="on a GPU: launch kernels one by one")
    parser.add_argument("--weights", type=Path, help="weights to begin with: <network>.pt of another run, plain or quantized")
    parser.add_argument("--seed", type=number(int, 0, 2**31), default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=number(int, 0, 1024), default=0, help="of the CPU; 0: all")
    parser.add_argument("--report-steps", type=number(int, 1, 10**9), default=50)
    parser.add_argument("--save-seconds", type=number(float, 0, 1e9), default=120)
    parser.add_argument("--log", type=Path, help="a file that gets a line a report: JSON, or values with commas in a .csv file")
    parser.add_argument("--out", type=Path, default=Path("."))
    args = parser.parse_args(arguments)
    args.rate = RATES[args.network] if args.rate is None else args.rate
    alone = [name for name in QUANTIZATION if getattr(args, name) is not None]
    if alone and not args.quantize:
        parser.error(f"--{alone[0].replace('_', '-')} is for training on integers; give --quantize too")
    quantization_of(args)
    return args


def sidecar(size: int, class_names: Sequence[str]) -> dict[str, Any]:
    return {"resize": [size, size], "mean": [MEAN] * 3, "std": [STD] * 3, "labels": list(class_names)}


def export_float(model: nn.Module, path: Path, pictures: PictureSet) -> None:
    """`path` and its sidecar. PyTorch 2's other exporter wants packages that this one does not."""
    old = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    example = torch.zeros(1, 3, pictures.size, pictures.size)
    torch.onnx.export(model.cpu(), (example,), str(path), input_names=["image"], output_names=["logits"],
                      opset_version=OPSET, dynamic_axes={"image": {0: "N"}, "logits": {0: "N"}}, **old)
    fields = sidecar(pictures.size, pictures.class_names)
    labels = fields.pop("labels")
    path.with_suffix(".yaml").write_text(json.dumps({"preprocess": fields, "labels": labels}) + "\n")


def finish(model: nn.Module, pictures: PictureSet, args: argparse.Namespace, log: Log) -> None:
    """Writes the files, and says what to do with them."""
    save_weights(args.out / f"{args.network}.pt", model)
    test = args.test or "PICTURES"
    if not args.quantize:
        path = args.out / f"{args.network}-float.onnx"
        export_float(model, path, pictures)
        log.write(f"wrote {path}, its .yaml and {args.network}.pt. To quantize it:\n"
                  f"  qsim quantize {path} --calibrate PICTURES -o {args.out / args.network}-int8.onnx", event="exported", file=str(path))
        return
    path = args.out / f"{args.network}-int8.onnx"
    size = pictures.size
    labels = [json.dumps(name, ensure_ascii=False) for name in pictures.class_names]
    qsim_torch().export_onnx(model, path, input_shape=(3, size, size), sidecar=sidecar(size, labels))
    shifts = args.scale == "power_of_two" and args.network == "vgg16"  # batch norm's gains are no powers of two
    config = "" if shifts else " --config pe16x16_dyadic"
    log.write(f"wrote {path}, its .yaml and {args.network}.pt. To count what it gets right, and to simulate a picture:\n"
              f"  qsim eval --model {path} --data {test}\n  qsim run --model {path} --input PICTURE{config}",
              event="exported", file=str(path))


def open_pictures(args: argparse.Namespace, device: torch.device) -> tuple[PictureSet, PictureSet | None]:
    path, args.test = find_sets(args.dataset, args.data, args.test)
    pictures = read_set(path, device, args.size)
    if len(pictures) < args.batch_size:
        raise ValueError(f"{path}: {len(pictures)} pictures are fewer than a batch of {args.batch_size}")
    if args.test is None:
        return pictures, None
    return pictures, read_set(args.test, device, pictures.size, pictures.class_names)


def read_weights(path: Path, model: nn.Module) -> None:
    """Buffers of a quantized network that a plain one lacks may be missing, and the other way round."""
    try:
        state = torch.load(path, map_location="cpu")
        wanted = {name for name, _ in model.named_parameters()}
        missing = sorted(wanted - set(state))
        if missing:
            raise ValueError(f"it has no '{missing[0]}'")
        model.load_state_dict(state, strict=False)
    except OSError:
        raise
    except Exception as error:  # PyTorch has many, with many lines
        raise ValueError(f"{path} has no weights of this network: {str(error).splitlines()[-1].strip()}") from None


def open_outputs(args: argparse.Namespace) -> Log:
    """Makes --out and opens --log. Where one of them is refused, the folders that it made are gone again."""
    made = [folder for folder in (args.out, *args.out.parents) if not folder.exists()]
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        return Log(args.log, COLUMNS)
    except OSError:
        for folder in made:
            if folder.exists():
                folder.rmdir()
        raise


def prepare(args: argparse.Namespace) -> tuple[Training, Log]:
    """All that can find fault with the input. ValueError, OSError and ImportError say what."""
    if args.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: PyTorch finds no GPU")
    if args.quantize and importlib.util.find_spec("onnx") is None:
        raise ValueError("--quantize: the package onnx, which writes the file at the end, is not installed")
    if args.quantize:
        qsim_torch().set_threads(args.threads)
    device = torch.device(args.device)
    pictures, test = open_pictures(args, device)
    torch.manual_seed(args.seed)
    classes = len(pictures.class_names)
    quantization = quantization_of(args) if args.quantize else None
    model = make_network(args.network, classes, pictures.size, DROPOUT[args.network], quantization)
    if args.weights:
        read_weights(args.weights, model)
    model = model.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    plan = Plan(RECIPES[args.recipe], args.epochs, args.batch_size, args.rate, args.average, args.amp, args.graphs, args.seed,
                args.report_steps, args.save_seconds)
    log = open_outputs(args)
    checkpoint = Checkpoint(args.out, {name: str(getattr(args, name)) for name in LASTING})
    training = Training(model, pictures, test, plan, checkpoint, log)
    log.write(f"{len(pictures)} pictures of {classes} classes, {pictures.size}x{pictures.size} pixels, on {device};"
              f" {training.steps} steps", event="start")
    training.resume()
    return training, log


def fail(error: Exception) -> int:
    print(f"train_quantized.py: error: {error}", file=sys.stderr)
    return BAD_INPUT


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse_arguments(arguments)
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.backends.cudnn.deterministic = True
    try:
        training, log = prepare(args)
    except (ValueError, OSError, ImportError) as error:
        return fail(error)
    try:
        finished = training.run(Interrupt())
    except (NotFinite, ValueError, OSError) as error:  # a picture that cannot be read, a disk that is full
        return fail(error)
    if not finished:
        log.write(f"interrupted after {training.step} steps; the same command goes on", event="interrupted")
        return INTERRUPTED
    try:
        finish(training.network(), training.pictures, args, log)
    except (ValueError, NotImplementedError, OSError, ImportError) as error:  # what qsim refuses is of these kinds
        return fail(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
