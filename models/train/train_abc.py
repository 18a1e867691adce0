"""Trains ABC-Net's network on CIFAR-10 in float and with M = N bases, all side by side on one device, and prints a
table of top-1. Writes abc-<bases>.npz of each binary network for `abc_emulation.py`, and abc_training.json.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from abc_network import AbcNet, compile_quantizers
from augment import Recipe, random_affine
from data import CLASS_NAMES, add_training_arguments, load_binary_batch, load_training_images, normalize
from train import learning_rate

MOMENTUM = 0.9
RECIPE = Recipe("abc", cutout_px=0, dropout=0.0, peak_learning_rate=0.1, weight_decay=2e-4)


class Trainer:
    """One network with its optimizer; on a GPU a training step is a CUDA graph on a stream of its own."""

    def __init__(self, bases, images, labels, rate, seed):
        torch.manual_seed(seed)
        self.bases = bases
        self.device = images.device
        self.images, self.labels, self.rate = images, labels, rate
        self.model = AbcNet(bases).to(self.device, memory_format=torch.channels_last)
        named = list(self.model.named_parameters())
        self.parameters = [p for _, p in named]
        # v and beta move a tenth as fast: they act on a whole layer.
        self.scales = [0.1 if ".v" in n or ".beta" in n else 1.0 for n, _ in named]
        self.decays = [RECIPE.weight_decay if p.dim() > 1 else 0.0 for p in self.parameters]
        self.velocities = [torch.zeros_like(p) for p in self.parameters]
        self.loss = torch.zeros((), device=self.device)
        self.graph = None
        if self.device.type == "cuda":
            self.stream = torch.cuda.Stream()
            self.capture()

    def capture(self):
        kept = [t.clone() for t in self.model.state_dict().values()]
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self.compute()
            self.stream.synchronize()
            with torch.no_grad():
                for tensor, value in zip(self.model.state_dict().values(), kept):
                    tensor.copy_(value)
                for velocity in self.velocities:
                    velocity.zero_()
            self.stream.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=self.stream):
                self.compute()

    def compute(self):
        """Forward, backward, and SGD with Nesterov momentum."""
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda", cache_enabled=False):
            logits = self.model(self.images)
        loss = F.cross_entropy(logits.float(), self.labels, label_smoothing=RECIPE.label_smoothing)
        gradients = torch.autograd.grad(loss, self.parameters)
        with torch.no_grad():
            for p, g, velocity, scale, decay in zip(
                self.parameters, gradients, self.velocities, self.scales, self.decays
            ):
                g = g.float().add(p, alpha=decay)
                velocity.mul_(MOMENTUM).add_(g)
                p.sub_((g + MOMENTUM * velocity) * (self.rate * scale))
            self.loss.copy_(loss)

    def step(self):
        if self.graph is None:
            self.compute()
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.graph.replay()

    @torch.no_grad()
    def top1(self, images, labels):
        self.model.eval()
        right = sum(int((self.model(x).argmax(1) == y).sum()) for x, y in zip(images.split(500), labels.split(500)))
        self.model.train()
        return right / len(labels)


def train(dataset, test, bases, epochs, batch, seed, seconds):
    """Trains one network for each of `bases` on the same batches; stops early after `seconds`. Returns the trainers and
    what was measured."""
    device = dataset.images.device
    images = normalize(dataset.images)
    static = images[:batch].contiguous(memory_format=torch.channels_last)
    labels = dataset.labels[:batch].clone()
    rate = torch.zeros((), device=device)
    trainers = [Trainer(b, static, labels, rate, seed) for b in bases]
    torch.manual_seed(seed)
    steps_an_epoch = len(dataset) // batch
    steps = epochs * steps_an_epoch
    started, ends, step, epoch = time.perf_counter(), [], 0, 0
    for epoch in range(1, epochs + 1):
        order = torch.randperm(len(images), device=device)
        moved, targets = random_affine(images[order], RECIPE), dataset.labels[order]
        for at in range(steps_an_epoch):
            static.copy_(moved[at * batch : (at + 1) * batch])
            labels.copy_(targets[at * batch : (at + 1) * batch])
            rate.fill_(learning_rate(step, steps, RECIPE.peak_learning_rate))
            for trainer in trainers:
                trainer.step()
            if device.type == "cuda":
                for trainer in trainers:
                    torch.cuda.current_stream().wait_stream(trainer.stream)
            step += 1
        if device.type == "cuda" and epoch <= 2:
            torch.cuda.synchronize()
        ends.append(time.perf_counter())
        if epoch <= 2 or epoch % max(1, epochs // 8) == 0:
            losses = ", ".join(f"{float(t.loss):.3f}" for t in trainers)
            print(f"epoch {epoch}/{epochs}: losses {losses}, {ends[-1] - started:.1f} s", flush=True)
        # The second epoch tells how many fit, and the schedule is set by that.
        if epoch == 2 and seconds:
            fitting = 2 + int((seconds - (ends[1] - started)) / (ends[1] - ends[0]))
            print(f"{fitting} epochs fit in {seconds} s", flush=True)
            steps = max(2, min(fitting, epochs)) * steps_an_epoch
        if step >= steps:
            break
    held = (normalize(test.images), test.labels)
    rows = [{"bases": t.bases, "top1": t.top1(*held), "loss": float(t.loss)} for t in trainers]
    return trainers, {"epochs": epoch, "seconds": time.perf_counter() - started, "rows": rows}


def write_network(trainer, path):
    """Parameters and batch norm statistics, as float32."""
    np.savez(path, **{k: v.detach().float().cpu().numpy() for k, v in trainer.model.state_dict().items() if v.is_floating_point()})


def print_table(report):
    floats = [row["top1"] for row in report["rows"] if row["bases"] == 0]
    print(f"{report['training_pictures']} training and {report['test_pictures']} test pictures, {report['epochs']} epochs, "
          f"{report['seconds']:.0f} s on {report['device']}")
    print("M = N  top-1   below float")
    for row in report["rows"]:
        below = f"{(floats[0] - row['top1']) * 100:.2f} points" if floats and row["bases"] else ""
        print(f"{row['bases'] or 'float':>5}  {row['top1']:.2%}  {below}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_training_arguments(parser)
    parser.add_argument("--test-batch", required=True, help="test pictures in the official binary format")
    parser.add_argument("--bases", type=int, nargs="+", default=[0, 1, 2, 3, 5], help="M = N of each network; 0: float")
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=0, help="fewer epochs, as many as fit in this time; 0: all")
    parser.add_argument("--pictures", type=int, default=0, help="only the first training pictures; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("."))
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    compile_quantizers()
    dataset, test = load_training_images(args), load_binary_batch(args.test_batch)
    if args.pictures:
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(args.seed))[: args.pictures]
        dataset = dataset.subset(order)
    trainers, report = train(dataset.to(device), test.to(device), args.bases, args.epochs, args.batch, args.seed, args.seconds)
    report |= {
        "training_pictures": len(dataset), "test_pictures": len(test), "batch": args.batch, "seed": args.seed,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu", "torch": torch.__version__,
        "classes": len(CLASS_NAMES),
    }
    args.out.mkdir(parents=True, exist_ok=True)
    for trainer in trainers:
        if trainer.bases:
            write_network(trainer, args.out / f"abc-{trainer.bases}.npz")
    (args.out / "abc_training.json").write_text(json.dumps(report, indent=2) + "\n")
    print_table(report)


if __name__ == "__main__":
    main()
