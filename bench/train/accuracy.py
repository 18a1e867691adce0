#!/usr/bin/env python3
"""Top-1 of a network that is trained from scratch in float, on the accelerator's integers, and so with few bits: mean over seeds.

All runs are in one process with all pictures on the device; on a GPU a step is one CUDA graph. Each finished run is a line of
--results, and is not made again with the same options, pictures and device. The step is that of train_quantized.py; its loop varies a
whole epoch's pictures at once, so that its runs have other random numbers. The test pictures choose nothing: every run has the same recipe, and its last averaged
weights count.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models/train"))

from augment import RECIPES, augment_epoch
from captured_step import Step
from data import normalize
from picture_sets import read_set
from quantized_networks import NETWORKS, Quantization, make_network
from quantized_training import count_correct
from train import learning_rate

DROPOUT = 0.2
ALLOWED_BELOW = {8: 0.3, 4: 1.0}  # points of top-1, by bits of weights
VARIANTS = {
    "float32": None,  # TF32 on a GPU
    "bfloat16": None,  # autocast
    "int8": Quantization(),
    "int8, powers of two": Quantization(scale="power_of_two"),
    "4-bit weights": Quantization(weight_bits=4),
    "4-bit weights, powers of two": Quantization(weight_bits=4, scale="power_of_two"),
}


def run_once(variant, seed, pictures, test, args):
    """{"correct", "last_loss", "seconds" of training}"""
    device = pictures.labels.device
    torch.manual_seed(seed)
    classes = len(pictures.class_names)
    model = make_network(args.network, classes, pictures.size, DROPOUT, VARIANTS[variant])
    model = model.to(device).to(memory_format=torch.channels_last).train()
    recipe, amp = RECIPES[args.recipe], variant == "bfloat16"
    trainer = Step(model, recipe, args.average, amp, graph=True)
    everything = torch.arange(len(pictures), device=device)
    images = normalize(pictures.read(everything))
    targets = F.one_hot(pictures.labels, classes).float()
    steps_an_epoch = len(pictures) // args.batch_size
    steps = args.epochs * steps_an_epoch
    step, started = 0, time.perf_counter()
    for epoch in range(args.epochs):
        order = torch.randperm(len(pictures), device=device)
        varied, shares = augment_epoch(images[order], targets[order], recipe)
        varied = varied.contiguous(memory_format=torch.channels_last)
        for at in range(steps_an_epoch):
            chosen = slice(at * args.batch_size, (at + 1) * args.batch_size)
            trainer.run(varied[chosen], shares[chosen], learning_rate(step, steps, args.rate), step)
            step += 1
        if epoch == 0 or (epoch + 1) % max(1, args.epochs // 4) == 0:
            seconds = time.perf_counter() - started
            print(f"  {variant}, seed {seed}: epoch {epoch + 1}/{args.epochs}, loss {float(trainer.loss):.3f}, {seconds:.1f} s", flush=True)
    last_loss = float(trainer.loss)  # waits for the device
    seconds = time.perf_counter() - started
    correct = count_correct(trainer.averaged.network(), test, amp)
    return {"correct": correct, "pictures": len(test), "last_loss": round(last_loss, 4), "seconds": round(seconds, 2)}


def table(results, variants):
    """Lines: the mean over seeds, its standard error, and the distance from the first variant, by seed."""
    lines = ["| variant | seeds | right, mean of runs | top-1 | standard deviation | below the first row | seconds a run |", "|---|---|---|---|---|---|---|"]
    tops = {name: {r["seed"]: 100 * r["correct"] / r["pictures"] for r in results if r["variant"] == name} for name in variants}
    first = tops[variants[0]]
    for name in (name for name in variants if tops[name]):
        found = list(tops[name].values())
        runs = [r for r in results if r["variant"] == name]
        deviation = f"{statistics.stdev(found):.2f}" if len(found) > 1 else ""
        both = [first[seed] - top for seed, top in tops[name].items() if seed in first]
        below = f"{statistics.mean(both):.2f} points" if both and name != variants[0] else ""
        lines.append(f"| {name} | {len(found)} | {statistics.mean(r['correct'] for r in runs):.1f} of {runs[0]['pictures']} "
                     f"| {statistics.mean(found):.2f}% | {deviation} | {below} | {statistics.mean(r['seconds'] for r in runs):.1f} |")
    return lines


def verdicts(results, variants):
    """Lines: whether each integer row is near enough to the first, the mean over seeds that both have."""
    tops = {name: {r["seed"]: 100 * r["correct"] / r["pictures"] for r in results if r["variant"] == name} for name in variants}
    lines = []
    for name in (name for name in variants[1:] if VARIANTS[name]):
        both = [tops[variants[0]][seed] - top for seed, top in tops[name].items() if seed in tops[variants[0]]]
        if VARIANTS[variants[0]] is None and both:
            allowed = ALLOWED_BELOW[VARIANTS[name].weight_bits]
            below = statistics.mean(both)
            lines.append(f"{name}: {below:.2f} points below {variants[0]}, {'within' if below <= allowed else 'NOT within'} {allowed}")
    return lines


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=pathlib.Path, required=True, help="training pictures: class folders, a zip, or a .bin")
    parser.add_argument("--test", type=pathlib.Path, required=True, help="labelled pictures that are counted")
    parser.add_argument("--network", choices=sorted(NETWORKS), default="vgg8")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=["bfloat16", "int8", "4-bit weights"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--recipe", choices=sorted(RECIPES), default="plain")
    parser.add_argument("--average", type=float, default=0.998)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no run that may end later")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("accuracy.jsonl"))
    return parser.parse_args()


def main():
    begun = time.perf_counter()
    args = parse_arguments()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    device = torch.device(args.device)
    pictures = read_set(args.dataset, device, None)
    test = read_set(args.test, device, pictures.size, pictures.class_names)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{len(pictures)} pictures, {len(test)} counted, on {name}, PyTorch {torch.__version__}", flush=True)
    options = {key: getattr(args, key) for key in ("network", "epochs", "batch_size", "rate", "recipe", "average")}
    options.update(dataset=args.dataset.name, size=len(pictures), test=args.test.name, counted=len(test), device=name)
    lines = args.results.read_text().splitlines() if args.results.exists() else []
    results = [line for line in map(json.loads, lines) if all(line.get(key) == value for key, value in options.items())]
    done, longest = {(line["variant"], line["seed"]) for line in results}, 0.0
    for seed, variant in ((seed, variant) for seed in range(1, args.seeds + 1) for variant in args.variants):
        before = time.perf_counter()
        if (variant, seed) in done or before - begun + longest > args.seconds:
            continue
        results.append({"variant": variant, "seed": seed, **options, **run_once(variant, seed, pictures, test, args)})
        longest = max(longest, time.perf_counter() - before)
        with args.results.open("a") as file:
            file.write(json.dumps(results[-1]) + "\n")
    print("\n".join([*table(results, args.variants), "", *verdicts(results, args.variants)]))


if __name__ == "__main__":
    main()
