"""Trains ABC-Net's network on CIFAR-10: in float, then from it with M = N bases, those side by side on one device.
Prints a table of top-1. Writes abc-<bases>.npz of each binary network for `abc_emulation.py`, and abc_training.json.
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
from data import add_training_arguments, load_binary_batch, load_training_images, normalize
from train import learning_rate

MOMENTUM = 0.9
FLOAT_SHARE = 0.25  # of --seconds
FROM_FLOAT_LEARNING_RATE = 0.05
RECIPE = Recipe("abc", cutout_px=0, dropout=0.0, peak_learning_rate=0.1, weight_decay=2e-4)


class Trainer:
    """One network with its optimizer; on a GPU a training step is a CUDA graph on a stream of its own."""

    def __init__(self, bases, images, labels, rate, seed, initial=None):
        """`initial`: the state of a network whose layers this one begins with."""
        torch.manual_seed(seed)
        self.bases = bases
        self.device = images.device
        self.images, self.labels, self.rate = images, labels, rate
        self.model = AbcNet(bases).to(self.device, memory_format=torch.channels_last)
        if initial is not None:
            self.model.load_state_dict(initial, strict=False)  # it has no quantizers
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


def train_together(trainers, dataset, images, epochs, batch, seconds, peak):
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
            rate.fill_(learning_rate(int(clock.progress * 10000), 10000, peak))
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


def train(dataset, test, bases, epochs, batch, seed, seconds, keep):
    """Trains the float network first, if `bases` has 0, and the others from it; each part takes `epochs`, or its share
    of `seconds`. `keep` gets each trainer with what was measured. Returns the trainers and the rows."""
    device = dataset.images.device
    images = normalize(dataset.images)
    static = images[:batch].contiguous(memory_format=torch.channels_last)
    labels, rate = dataset.labels[:batch].clone(), torch.zeros((), device=device)
    held = (normalize(test.images), test.labels)
    all_trainers, rows, initial = [], [], None
    for group in ([0] if 0 in bases else [], [b for b in bases if b]):
        if not group:
            continue
        trainers = [Trainer(b, static, labels, rate, seed, initial) for b in group]
        begin = time.perf_counter()
        torch.manual_seed(seed)
        share = (FLOAT_SHARE if group == [0] else 1 - FLOAT_SHARE) if 0 in bases else 1.0
        peak = RECIPE.peak_learning_rate if initial is None else FROM_FLOAT_LEARNING_RATE
        done = train_together(trainers, dataset, images, epochs, batch, seconds * share, peak)
        for trainer in trainers:
            row = {"bases": trainer.bases, "top1": trainer.top1(*held), "loss": float(trainer.loss), "epochs": done,
                   "seconds": time.perf_counter() - begin}
            rows.append(row)
            keep(trainer, row)
        if group == [0]:
            initial = {k: v.clone() for k, v in trainers[0].model.state_dict().items()}
        all_trainers += trainers
    return all_trainers, rows


def write_network(trainer, path):
    """Parameters and batch norm statistics, as float32."""
    np.savez(path, **{k: v.detach().float().cpu().numpy() for k, v in trainer.model.state_dict().items() if v.is_floating_point()})


def print_table(report):
    floats = [row["top1"] for row in report["rows"] if row["bases"] == 0]
    print(f"{report['training_pictures']} training and {report['test_pictures']} test pictures on {report['device']}")
    print("M = N  epochs  top-1   below float")
    for row in report["rows"]:
        below = f"{(floats[0] - row['top1']) * 100:.2f} points" if floats and row["bases"] else ""
        print(f"{row['bases'] or 'float':>5}  {row['epochs']:>6}  {row['top1']:.2%}  {below}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_training_arguments(parser)
    parser.add_argument("--test-batch", required=True, help="test pictures in the official binary format")
    parser.add_argument("--bases", type=int, nargs="+", default=[0, 1, 2, 3, 5], help="M = N of each network; 0: float")
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=0, help="train for this time instead; 0: for --epochs")
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

    train(dataset.to(device), test.to(device), args.bases, args.epochs, args.batch, args.seed, args.seconds, keep)


if __name__ == "__main__":
    main()
