"""Compares the logits of a network that train_quantized.py --quantize wrote to --out: do all who run it give the same bytes?

`module`: the network of <network>.pt in eval mode, on the CPU. `golden run` and `run`: qsim's, on <network>-int8.onnx; `run`
simulates the accelerator. `ONNX Runtime`: tools/ort/run_onnx.py, by another Python if --ort names one. All get the same normalized
pictures. Exit code 0: equal; 1: a value differs; 2: a fault. Give --weight-bits, --scale, --observer and --zero-points as in training.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

import numpy as np
import torch

from data import normalize
from picture_sets import read_set
from quantized_networks import NETWORKS, make_network, qsim_torch
from train_quantized import BAD_INPUT, Parser, add_quantization_options, number, quantization_of

ROOT = Path(__file__).resolve().parents[2]
AT_A_TIME = 100


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="the folder that was --out in training")
    parser.add_argument("--pictures", type=Path, required=True, help="as --test in training, such as CIFAR-10's test_batch.bin")
    parser.add_argument("--count", type=number(int, 1, 2**31), help="of the first pictures; default: all")
    parser.add_argument("--network", choices=sorted(NETWORKS), default="vgg8")
    add_quantization_options(parser)
    parser.add_argument("--config", default="pe16x16_dyadic", help="of `qsim run`; default: %(default)s")
    parser.add_argument("--qsim", type=Path, default=ROOT / "build/release/qsim")
    parser.add_argument("--ort", type=Path, help="a Python that has ONNX Runtime; default: ort/bin/python beside qsim")
    parser.add_argument("--no-ort", action="store_true", help="leave out ONNX Runtime")
    return parser.parse_args(arguments)


def run_command(*command: Any) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{command[0]} ended with {done.returncode}"]
        raise ValueError(lines[-1])


@torch.no_grad()
def module_logits(args: argparse.Namespace, images: torch.Tensor, classes: int) -> np.ndarray:
    qsim_torch().set_threads(0)
    model = make_network(args.network, classes, images.shape[-1], 0.0, quantization_of(args))
    path = args.run / f"{args.network}.pt"
    try:
        model.load_state_dict(torch.load(path, map_location="cpu"))
    except OSError:
        raise
    except Exception as error:  # PyTorch has many, with many lines
        raise ValueError(f"{path} has no weights of this network: {str(error).splitlines()[-1].strip()}") from None
    return torch.cat([model.eval()(part) for part in images.split(AT_A_TIME)]).numpy()


def qsim_logits(args: argparse.Namespace, parts: list[Path], words: Sequence[str]) -> np.ndarray:
    """Of `qsim` and these words; each part is a batch."""
    found = []
    for part in parts:
        out = part.parent / f"{part.stem}-{words[0]}"
        run_command(args.qsim, *words, "--model", args.run / f"{args.network}-int8.onnx", "--input", part, "--out", out,
                    "--batch", len(np.load(part, mmap_mode="r")), "--quiet")
        found.append(np.load(out / "output.npy"))
    return np.concatenate(found)


def onnxruntime_logits(args: argparse.Namespace, parts: list[Path]) -> np.ndarray:
    python = args.ort or args.qsim.parent / "ort/bin/python"
    if not python.exists():
        raise ValueError(f"--ort {python}: no such file; give a Python that has ONNX Runtime, or --no-ort")
    jobs = [{"model": str(args.run / f"{args.network}-int8.onnx"), "input": str(part), "outdir": str(part.with_suffix(""))} for part in parts]
    listed = parts[0].with_name("jobs.json")
    listed.write_text(json.dumps(jobs))
    run_command(python, "-B", ROOT / "tools/ort/run_onnx.py", "--batch", listed)
    return np.concatenate([np.load(next(part.with_suffix("").glob("*.npy"))) for part in parts])


def logits(args: argparse.Namespace, images: torch.Tensor, classes: int) -> dict[str, np.ndarray]:
    """float32 [pictures, classes] of each."""
    found = {"module": module_logits(args, images, classes)}
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for at, part in enumerate(images.split(AT_A_TIME)):
            parts.append(Path(folder) / f"{at:05}.npy")
            np.save(parts[-1], part.numpy())
        found["golden run"] = qsim_logits(args, parts, ["golden", "run", "--backend", "cpu"])
        found["run"] = qsim_logits(args, parts, ["run", "--config", args.config])
        if not args.no_ort:
            found["ONNX Runtime"] = onnxruntime_logits(args, parts)
    for name, values in found.items():
        if values.dtype != np.float32 or values.size != len(images) * classes:
            raise ValueError(f"{name}: {values.size} values of {values.dtype}; expected {len(images) * classes} of float32")
    return {name: np.ascontiguousarray(values).reshape(len(images), classes) for name, values in found.items()}


def compare(found: dict[str, np.ndarray]) -> int:
    """Prints a line for each pair. How many values differ in their bits, of all pairs."""
    total = 0
    for first, second in itertools.combinations(found, 2):
        apart = found[first].view(np.uint32) != found[second].view(np.uint32)
        total += int(apart.sum())
        print(f"{first} and {second}: {apart.size:,} values compared, {int(apart.sum()):,} differ, in {int(apart.any(1).sum()):,} pictures")
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse_arguments(arguments)
    try:
        pictures = read_set(args.pictures, torch.device("cpu"), None)
        count = min(args.count or len(pictures), len(pictures))
        images = normalize(pictures.read(torch.arange(count)))
        found = logits(args, images, len(pictures.class_names))
    except (ValueError, NotImplementedError, OSError, ImportError) as error:
        print(f"compare_exported.py: error: {error}", file=sys.stderr)
        return BAD_INPUT
    right = int((found["module"].argmax(1) == pictures.labels[:count].numpy()).sum())
    print(f"{count:,} pictures, of which the module gets {right:,} right")
    return 1 if compare(found) else 0


if __name__ == "__main__":
    sys.exit(main())
