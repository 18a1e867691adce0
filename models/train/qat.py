"""Quantization-aware training of VGG-8 or ResNet-14, from the float network that it also learns from (distillation).

Writes <network>-qat.onnx (float, the trained weights) with its sidecar and <network>-qat.scales.json, for
`qsim quantize --scales`, and <network>-qat.npz, its integers. The file checkpoint.pt in --out makes it resumable: start it again with the same options.
Ctrl-C writes a checkpoint and ends with exit code 130.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from augment import RECIPES, Recipe, augment_epoch
from data import LabelledImages, add_training_arguments, load_binary_batch, load_training_images, normalize
from float_weights import load_float_tensors
from qat_export import export
from qat_graph import NETWORKS, Nodes, Weights, check_weights, float_logits
from qat_layers import Settings
from qat_network import QatNetwork, count_correct
from qat_scales import KINDS, ROUNDINGS
from resumable import INTERRUPTED, BadCheckpoint, Checkpoint, Interrupt, Log, Resumable

LIGHT = Recipe("light", shift_px=2, cutout_px=0)  # shift and flip
QAT_RECIPES = {"light": LIGHT} | RECIPES
TEMPERATURE = 2.0  # of the distillation
LABEL_SHARE = 0.1  # of the loss: labels; the rest is the float network's logits
WARMUP_STEPS = 20
VERIFIED_PICTURES = 64

# Options that a resumed run must have in common with the one that wrote the checkpoint.
LASTING = ("cifar10", "imagefolder", "network", "weights", "bits", "scales", "rounding", "per_tensor", "epochs", "seconds",
           "recipe", "batch_size", "rate", "scale_rate", "calibration", "bfloat16_backward", "seed")


def loss_of(logits: Tensor, teacher: Tensor, targets: Tensor) -> Tensor:
    soft = F.softmax(teacher / TEMPERATURE, dim=1)
    distilled = F.kl_div(F.log_softmax(logits / TEMPERATURE, dim=1), soft, reduction="batchmean")
    return LABEL_SHARE * F.cross_entropy(logits, targets) + (1 - LABEL_SHARE) * TEMPERATURE**2 * distilled


def make_optimizer(model: QatNetwork, rate: float, scale_rate: float) -> torch.optim.Optimizer:
    """Adam: weights are in units of their step sizes, so `rate` is in such units too; of scales it is an octave's share."""
    scales = [parameter for name, parameter in model.named_parameters() if name.endswith("log2")]
    others = [parameter for name, parameter in model.named_parameters() if not name.endswith("log2")]
    return torch.optim.Adam([{"params": others, "peak": rate}, {"params": scales, "peak": scale_rate}])


def rate_share(progress: float, step: int) -> float:
    """Linear warm-up over a few steps, then half a cosine to zero; `progress` is 0 to 1."""
    return min(1.0, (step + 1) / WARMUP_STEPS) * 0.5 * (1.0 + math.cos(math.pi * min(progress, 1.0)))


class Training(Resumable):
    """The state that a checkpoint holds, and the loop."""

    def __init__(self, model: QatNetwork, teacher: tuple[Nodes, Weights], dataset: LabelledImages,
                 args: argparse.Namespace, log: Log) -> None:
        self.model, self.teacher, self.dataset, self.args, self.log = model, teacher, dataset, args, log
        self.device = dataset.images.device
        self.optimizer = make_optimizer(model, args.rate, args.scale_rate)
        self.steps_an_epoch = len(dataset) // args.batch_size
        self.steps = max(1, round(args.epochs * self.steps_an_epoch))
        self.checkpoint = Checkpoint(args.out, {name: str(getattr(args, name)) for name in LASTING})

    def progress(self) -> float:
        done = self.step / self.steps
        return max(done, self.seconds / self.args.seconds) if self.args.seconds else done

    def state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def batch(self) -> tuple[Tensor, Tensor]:
        """The pictures of this step: a function of seed and step alone, so that a resumed run sees the same ones."""
        epoch, at = divmod(self.step, self.steps_an_epoch)
        order = torch.randperm(len(self.dataset), generator=torch.Generator().manual_seed(self.args.seed * 1000 + epoch))
        size = self.args.batch_size
        chosen = order[at * size : (at + 1) * size].to(self.device)
        torch.manual_seed(self.args.seed * 1_000_000 + self.step)
        labels = self.dataset.labels[chosen]
        recipe = QAT_RECIPES[self.args.recipe]
        images, targets = augment_epoch(normalize(self.dataset.images[chosen]), F.one_hot(labels, 10).float(), recipe)
        pixels = torch.round(images * 128).clamp(-128, 127) / 128  # of jittered colors too: the teacher sees what a camera could
        return pixels.contiguous(memory_format=torch.channels_last), targets

    def train_step(self) -> float:
        images, targets = self.batch()
        with torch.no_grad():
            teacher = float_logits(*self.teacher, images)
        share = rate_share(self.progress(), self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * share
        loss = loss_of(self.model(images), teacher, targets)
        if not bool(torch.isfinite(loss)):
            raise SystemExit(f"step {self.step}: the loss is not finite; a smaller --rate may help")
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def report(self) -> None:
        left = self.seconds * (1 / max(self.progress(), 1e-9) - 1)
        self.log.write(
            f"step {self.step}/{self.steps}, epoch {self.step / self.steps_an_epoch:.2f}, loss {self.recent:.4f},"
            f" {self.seconds:.0f} s, about {left:.0f} s left",
            event="step", step=self.step, epoch=self.step / self.steps_an_epoch, loss=self.recent, seconds=self.seconds,
        )

    def run(self, interrupt: Interrupt) -> bool:
        """Whether it came to its end."""
        saved = time.perf_counter()
        while self.progress() < 1:
            started = time.perf_counter()
            loss = self.train_step()
            self.step += 1
            self.recent = loss if self.step == 1 else 0.95 * self.recent + 0.05 * loss
            self.seconds += time.perf_counter() - started
            if self.step % self.args.report_steps == 0:
                self.report()
            if interrupt.asked or time.perf_counter() - saved > self.args.save_seconds:
                self.save()
                saved = time.perf_counter()
            if interrupt.asked:
                return False
        self.save()
        return True


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_training_arguments(parser)
    parser.add_argument("--network", choices=sorted(NETWORKS), default="vgg8")
    parser.add_argument("--weights", type=Path, required=True, help="<network>-float.npz of train.py, or .onnx")
    parser.add_argument("--bits", type=int, choices=range(2, 9), default=4, help="of the weights")
    parser.add_argument("--scales", choices=KINDS, default="power_of_two")
    parser.add_argument("--rounding", choices=(*ROUNDINGS, "float32"), help="default: half_even for powers of two, else float32")
    parser.add_argument("--per-tensor", action="store_true", help="one scale for a layer's weights, not one a channel")
    parser.add_argument("--epochs", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=0, help="end after this time of training, if --epochs take longer")
    parser.add_argument("--recipe", choices=sorted(QAT_RECIPES), default="light", help="how pictures are varied: augment.py")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.02, help="peak learning rate, in step sizes of the weights")
    parser.add_argument("--scale-rate", type=float, default=0.002, help="peak learning rate of scales, in octaves")
    parser.add_argument("--calibration", type=int, default=512, help="training pictures that choose the first scales")
    parser.add_argument("--bfloat16-backward", action="store_true", help="gradients of convolutions in bfloat16")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="of the CPU; 0: all")
    parser.add_argument("--report-steps", type=int, default=50)
    parser.add_argument("--save-seconds", type=float, default=120)
    parser.add_argument("--log", type=Path, help="a file that gets one JSON object a line")
    parser.add_argument("--test-batch", type=Path, help="CIFAR-10 binary batch: the top-1 before and after, which chooses nothing")
    parser.add_argument("--out", type=Path, default=Path("."))
    args = parser.parse_args(arguments)
    args.rounding = args.rounding or ("half_even" if args.scales == "power_of_two" else "float32")
    return args


def judge(model: QatNetwork, teacher: tuple[Nodes, Weights], args: argparse.Namespace, log: Log, when: str) -> None:
    if not args.test_batch:
        return
    test = load_binary_batch(args.test_batch).to(next(model.parameters()).device)
    images = normalize(test.images)
    correct = count_correct(model, images, test.labels)
    float_correct = count_correct(lambda x: float_logits(*teacher, x), images, test.labels)
    log.write(
        f"{when}: {correct} of {len(test)} test pictures ({correct / len(test):.2%}), float {float_correct}"
        f" ({float_correct / len(test):.2%}): {(float_correct - correct) / len(test) * 100:.2f} points below",
        event=when, correct=correct, float_correct=float_correct, pictures=len(test),
    )


def finish(model: QatNetwork, images: Tensor, args: argparse.Namespace, log: Log) -> None:
    """Writes the files, and checks that integer arithmetic on them gives the logits of training."""
    stem = f"{args.network}-qat"
    integers = export(model, args.out, stem)
    with torch.no_grad():
        found = model(images).cpu().numpy()
    differing = int((integers.logits(images.cpu().numpy()) != found).sum())
    log.write(f"wrote {args.out / stem}.onnx and .scales.json; {differing} of {found.size} logits differ from integer arithmetic",
              event="exported", differing=differing, logits=found.size)
    if differing:
        raise SystemExit("training on this device is not exact; its files are not what it measured")


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse_arguments(arguments)
    if args.threads:
        torch.set_num_threads(args.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    args.out.mkdir(parents=True, exist_ok=True)
    log = Log(args.log)
    nodes = NETWORKS[args.network]()
    weights = {name: torch.from_numpy(array).float().to(device) for name, array in load_float_tensors(args.weights).items()}
    check_weights(nodes, weights, str(args.weights))
    dataset = load_training_images(args).to(device)
    if len(dataset) < args.batch_size:
        raise SystemExit(f"{len(dataset)} training pictures are less than a batch of {args.batch_size}")
    chosen = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(args.seed))[: args.calibration]
    settings = Settings(args.bits, args.scales, args.rounding, not args.per_tensor, args.bfloat16_backward)
    calibration = normalize(dataset.images[chosen.to(device)])
    model = QatNetwork(nodes, weights, calibration, settings).to(device)
    training = Training(model, (nodes, weights), dataset, args, log)
    log.write(f"{len(dataset)} training pictures on {device}, {training.steps} steps", event="start",
              settings=asdict(settings), torch=torch.__version__)
    try:
        training.resume()
    except BadCheckpoint as error:
        print(f"qat.py: error: {error}", file=sys.stderr)
        return 2
    if training.step == 0:
        judge(model, (nodes, weights), args, log, "post-training")
    if not training.run(Interrupt()):
        log.write(f"interrupted after {training.step} steps; the same command goes on", event="interrupted")
        return INTERRUPTED
    training.report()
    judge(model, (nodes, weights), args, log, "quantization-aware")
    finish(model, calibration[:VERIFIED_PICTURES], args, log)
    return 0


if __name__ == "__main__":
    sys.exit(main())
