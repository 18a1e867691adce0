#!/usr/bin/env python3
"""Top-1 of a network that is trained from scratch in float, on the accelerator's integers, and so with few bits: mean over seeds.

The loop is that of train_quantized.py; several runs are trained beside each other, and each gives what it gives alone. A finished
run is a line of --results, and is not made again with the same options, pictures and device. Those that are not finished after
--seconds, or at Ctrl-C, are kept in --unfinished: the same command goes on. The test pictures choose nothing: every run has the
same recipe, and its last averaged weights count.
"""
from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import shutil
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models/train"))

import accuracy_rows as rows
from augment import RECIPES
from picture_sets import read_set
from quantized_networks import NETWORKS, Quantization, make_network
from quantized_training import NotFinite, Plan, Training
from resumable import Checkpoint, Interrupt, Log
from side_by_side import finished_ones
from train_quantized import number

DROPOUT = 0.2
MOST_AT_ONCE = 30  # PyTorch has 32 streams
SHOWN_SECONDS = 20  # between two lines of progress
VARIANTS = {
    "float32": None,  # TF32 on a GPU
    "bfloat16": None,  # autocast
    "int8": Quantization(),
    "int8, powers of two": Quantization(scale="power_of_two"),
    "4-bit weights": Quantization(weight_bits=4),
    "4-bit weights, powers of two": Quantization(weight_bits=4, scale="power_of_two"),
}


class Run(Training):
    """One of a variant and a seed. `common`: what all have in common."""

    def __init__(self, variant, seed, pictures, common, args):
        torch.manual_seed(seed)
        model = make_network(args.network, len(pictures.class_names), pictures.size, DROPOUT, VARIANTS[variant])
        model = model.to(pictures.labels.device).to(memory_format=torch.channels_last)
        plan = Plan(RECIPES[args.recipe], args.epochs, args.batch_size, args.rate, args.average, variant == "bfloat16", True, seed,
                    args.epochs, args.save_seconds)
        folder = args.unfinished / f"{variant}, seed {seed}"
        folder.mkdir(parents=True, exist_ok=True)
        own = {"variant": variant, "seed": seed, **common}
        super().__init__(model, pictures, None, plan, Checkpoint(folder, {name: str(value) for name, value in own.items()}), Log(None))
        self.variant, self.folder, self.own = variant, folder, own
        self.resume()

    def result(self, test, args):
        """A line of --results. NotFinite where the run failed."""
        loss = self.check_finite()
        quantization = VARIANTS[self.variant]
        return {"schema": rows.SCHEMA, **self.own, "weight_bits": quantization and quantization.weight_bits,
                "correct": self.count_correct(test), "pictures": len(test), "last_loss": round(loss, 4),
                "seconds": round(self.seconds, 2), "at_once": args.at_once,
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=pathlib.Path, required=True, help="training pictures: class folders, a zip, or a .bin")
    parser.add_argument("--test", type=pathlib.Path, required=True, help="labelled pictures that are counted")
    parser.add_argument("--network", choices=sorted(NETWORKS), default="vgg8")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=["bfloat16", "int8", "4-bit weights"])
    parser.add_argument("--seeds", type=number(int, 1, 1000), default=5)
    parser.add_argument("--epochs", type=number(int, 1, 10**6), default=60)
    parser.add_argument("--batch-size", type=number(int, 2, 65536), default=512)
    parser.add_argument("--rate", type=number(float, 0, 1000), default=0.2)
    parser.add_argument("--recipe", choices=sorted(RECIPES), default="plain")
    parser.add_argument("--average", type=number(float, 0, 0.999999), default=0.999)
    parser.add_argument("--at-once", type=number(int, 1, MOST_AT_ONCE), default=6 if torch.cuda.is_available() else 1, help="runs beside each other")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after this time; the same command goes on")
    parser.add_argument("--save-seconds", type=number(float, 0, 1e9), default=150, help="between two checkpoints of the runs at hand")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("accuracy.jsonl"))
    parser.add_argument("--unfinished", type=pathlib.Path, default=pathlib.Path("unfinished"), help="a folder for checkpoints")
    return parser


class Progress:
    """Whether it is time to end; says on the way how far all are."""

    def __init__(self, begun, seconds):
        self.begun, self.ends, self.said = begun, begun + seconds, begun
        self.interrupt = Interrupt()

    def __call__(self, active):
        now = time.perf_counter()
        ends = now > self.ends or self.interrupt.asked
        if now - self.said > SHOWN_SECONDS or ends:
            self.said = now
            steps = ", ".join(f"{run.variant} {run.plan.seed}: {run.step}" for run in active)
            print(f"{now - self.begun:.0f} s; steps of {active[0].steps if active else 0}: {steps}", flush=True)
        return ends


def train(waiting, test, args, begun):
    """The lines of the runs that came to their end, which are in --results then."""
    found = []
    for run in finished_ones(waiting, args.at_once, args.save_seconds, Progress(begun, args.seconds)):
        try:
            line = run.result(test, args)
        except NotFinite as error:
            print(f"{run.variant}, seed {run.plan.seed}: {error}", file=sys.stderr)
            continue
        with args.results.open("a") as file:
            file.write(json.dumps(line) + "\n")
        found.append(line)
        shutil.rmtree(run.folder)
        print(f"{time.perf_counter() - begun:.0f} s; {run.variant}, seed {run.plan.seed}: {line['correct']} of {line['pictures']}, "
              f"loss {line['last_loss']}", flush=True)
    return found


def known_lines(file):
    """What --results has. ValueError where that is something else."""
    try:
        return rows.read_lines(file.read_text()) if file.exists() else []
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def read_pictures(args, device):
    """Of training and for counting. ValueError and OSError say what is wrong."""
    if args.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: PyTorch finds no GPU")
    pictures = read_set(args.dataset, device, None)
    if len(pictures) < args.batch_size:
        raise ValueError(f"{args.dataset}: {len(pictures)} pictures are fewer than a batch of {args.batch_size}")
    return pictures, read_set(args.test, device, pictures.size, pictures.class_names)


def main(arguments=None):
    begun = time.perf_counter()
    parser = make_parser()
    args = parser.parse_args(arguments)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.deterministic = True  # cuDNN's search would choose otherwise beside other runs
    device = torch.device(args.device)
    try:
        known = known_lines(args.results)
        pictures, test = read_pictures(args, device)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{time.perf_counter() - begun:.0f} s; {len(pictures)} pictures, {len(test)} counted, on {name}, PyTorch {torch.__version__}", flush=True)
    common = {key: getattr(args, key) for key in ("network", "epochs", "batch_size", "rate", "recipe", "average")}
    common.update(dropout=DROPOUT, dataset=args.dataset.name, size=len(pictures), test=args.test.name, counted=len(test), device=name,
                  pytorch=torch.__version__)
    results = [line for line in known if all(line.get(key) == value for key, value in common.items())]
    done = {(line["variant"], line["seed"]) for line in results}
    wanted = [(variant, seed) for seed in range(1, args.seeds + 1) for variant in args.variants]
    waiting = (lambda one=one: Run(*one, pictures, common, args) for one in wanted if one not in done)
    results += train(waiting, test, args, begun)
    results = [line for line in results if line["variant"] in args.variants and line["seed"] <= args.seeds]
    if results:
        print("\n".join([*rows.table(results), "", *rows.verdicts(results)]))
    left = [one for one in wanted if one not in {(line["variant"], line["seed"]) for line in results}]
    print(f"{len(left)} of {len(wanted)} runs are not finished" if left else "all runs are finished")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
