"""Trains ABC-Net's network on CIFAR-10: in float, then from it with M = N bases, those side by side on one device.
Prints a table of top-1. Writes abc-<bases>.npz of each binary network for `abc_emulation.py`, and abc_training.json.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from abc_network import compile_quantizers
from abc_trainer import FLOAT, RECIPE, Method, Teacher, Trainer
from augment import random_affine
from data import add_training_arguments, load_binary_batch, load_training_images, normalize
from train import learning_rate

FLOAT_SHARE = 0.13  # of the time that is left for training
EVALUATION_SECONDS = 10.0


class Clock:
    """How far a training is, 0 to 1: by its steps, or by the seconds that it may take."""

    def __init__(self, steps, seconds, device):
        self.steps, self.seconds, self.device = steps, seconds, device
        self.step, self.progress, self.begin = 0, 0.0, time.perf_counter()

    def tick(self):
        self.step += 1
        if not self.seconds:
            self.progress = self.step / self.steps
        elif self.step % 8 == 0:
            if self.device.type == "cuda":
                torch.cuda.synchronize()
            self.progress = (time.perf_counter() - self.begin) / self.seconds
        return self.progress < 1


def train_together(trainers, dataset, images, epochs, batch, seconds, teacher):
    """Trains the networks on the same batches. Returns the number of whole epochs."""
    device = dataset.images.device
    steps_an_epoch = len(dataset) // batch
    clock = Clock(epochs * steps_an_epoch, seconds, device)
    static, labels, rate = trainers[0].images, trainers[0].labels, trainers[0].rate
    for epoch in range(1 << 30 if seconds else epochs):
        order = torch.randperm(len(images), device=device)
        moved, targets = random_affine(images[order], RECIPE), dataset.labels[order]
        for at in range(steps_an_epoch):
            static.copy_(moved[at * batch : (at + 1) * batch])
            labels.copy_(targets[at * batch : (at + 1) * batch])
            rate.fill_(learning_rate(int(clock.progress * 10000), 10000, 1.0))
            if teacher:
                teacher.step()
            for trainer in trainers:
                trainer.step()
            if device.type == "cuda":
                for trainer in trainers:
                    torch.cuda.current_stream().wait_stream(trainer.stream)
            if not clock.tick():
                return epoch + (at + 1 == steps_an_epoch)
        if epoch < 2 or epoch % 16 == 0:
            losses = ", ".join(f"{float(t.loss):.3f}" for t in trainers)
            print(f"epoch {epoch + 1}: losses {losses}, {time.perf_counter() - clock.begin:.1f} s", flush=True)
    return epochs


def train(dataset, test, methods, epochs, batch, seed, end, keep):
    """Trains the float network first, then the others of `methods` from it, side by side; it is their teacher. Each of
    the two parts takes `epochs`, or together they end before time.perf_counter() is `end`. `keep` gets each trainer
    with what was measured. Returns the trainers and the rows."""
    device = dataset.images.device
    images = normalize(dataset.images)
    static = images[:batch].contiguous(memory_format=torch.channels_last)
    labels, rate = dataset.labels[:batch].clone(), torch.zeros((), device=device)
    held = (normalize(test.images), test.labels)
    all_trainers, rows = [], []

    def run_part(trainers, share, teacher, epochs_before):
        begin = time.perf_counter()
        torch.manual_seed(seed)
        seconds = (end - EVALUATION_SECONDS - begin) * share if end else 0
        done = train_together(trainers, dataset, images, epochs, batch, seconds, teacher)
        for trainer in trainers:
            row = {"name": trainer.method.name, "bases": trainer.bases, "top1": trainer.top1(*held), "loss": float(trainer.loss),
                   "epochs": epochs_before + done, "seconds": time.perf_counter() - begin}
            rows.append(row)
            keep(trainer, row)
        all_trainers.extend(trainers)
        return done

    first = Trainer(FLOAT, static, labels, rate, seed)
    done = run_part([first], FLOAT_SHARE, None, 0)
    initial = {k: v.clone() for k, v in first.model.state_dict().items()}
    teacher = Teacher(initial, static)
    run_part([Trainer(m, static, labels, rate, seed, initial, teacher.logits) for m in methods], 1.0, teacher, done)
    return all_trainers, rows


def write_network(trainer, path):
    """Parameters and batch norm statistics, as float32."""
    np.savez(path, **{k: v.detach().float().cpu().numpy() for k, v in trainer.model.state_dict().items() if v.is_floating_point()})


def methods_of(bases):
    """The binary networks, and beside them the float network for as long."""
    return [*(Method(f"M = N = {b}", b, 0.002) for b in bases), Method("float, as long", 0, 0.05)]


def print_table(report):
    floats = [row["top1"] for row in report["rows"] if row["bases"] == 0]
    print(f"{report['training_pictures']} training and {report['test_pictures']} test pictures on {report['device']}")
    print("network         epochs  top-1   below float  loss")
    for row in report["rows"]:
        below = f"{(max(floats) - row['top1']) * 100:.2f} points" if row["bases"] else ""
        print(f"{row['name']:<14}  {row['epochs']:>6}  {row['top1']:.2%}  {below:>11}  {row['loss']:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_training_arguments(parser)
    parser.add_argument("--test-batch", required=True, help="test pictures in the official binary format")
    parser.add_argument("--bases", type=int, nargs="+", default=[1, 2, 3, 5], help="M = N of each network")
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=0, help="end after this time instead; 0: after --epochs")
    parser.add_argument("--pictures", type=int, default=0, help="only the first training pictures; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("."))
    args = parser.parse_args()
    end = time.perf_counter() + args.seconds if args.seconds else 0
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    compile_quantizers()
    dataset, test = load_training_images(args), load_binary_batch(args.test_batch)
    if args.pictures:
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(args.seed))[: args.pictures]
        dataset = dataset.subset(order)
    report = {
        "training_pictures": len(dataset), "test_pictures": len(test), "batch": args.batch, "seed": args.seed,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu", "torch": torch.__version__, "rows": [],
    }
    args.out.mkdir(parents=True, exist_ok=True)

    def keep(trainer, row):
        report["rows"].append(row)
        if trainer.bases:
            write_network(trainer, args.out / f"abc-{trainer.bases}.npz")
        (args.out / "abc_training.json").write_text(json.dumps(report, indent=2) + "\n")
        print_table(report)

    train(dataset.to(device), test.to(device), methods_of(args.bases), args.epochs, args.batch, args.seed, end, keep)


if __name__ == "__main__":
    main()
