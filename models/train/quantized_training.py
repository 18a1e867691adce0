"""The loop of train_quantized.py: every step is a function of the seed and its number, so that a resumed run has the same bits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augment import Recipe, augment_epoch
from captured_step import Step
from data import normalize
from picture_sets import PictureSet
from resumable import Checkpoint, Interrupt, Log, Resumable
from train import learning_rate

COLUMNS = ("event", "step", "epoch", "loss", "rate", "seconds", "correct", "pictures")
EVALUATED_AT_A_TIME = 250


class NotFinite(Exception):
    """The loss or a weight became infinite or not a number."""


@dataclass(frozen=True)
class Plan:
    """What a run does beside its network and its pictures."""

    recipe: Recipe
    epochs: float
    batch_size: int
    rate: float
    average: float  # of weights: the share of what was; 0: the last weights
    amp: bool
    graph: bool  # capture a step, on a GPU
    seed: int
    report_steps: int
    save_seconds: float


@torch.no_grad()
def count_correct(model: nn.Module, pictures: PictureSet, amp: bool) -> int:
    """Top-1 of a network in eval mode; the first of equal logits counts."""
    device = pictures.labels.device
    correct = torch.zeros((), dtype=torch.int64, device=device)
    for chosen in torch.arange(len(pictures), device=device).split(EVALUATED_AT_A_TIME):
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=amp):
            logits = model(normalize(pictures.read(chosen)))
        correct += (logits.argmax(1) == pictures.labels[chosen]).sum()
    return int(correct)


class Training(Resumable):
    """The state that a checkpoint holds, and the loop."""

    def __init__(self, model: nn.Module, pictures: PictureSet, test: PictureSet | None, plan: Plan,
                 checkpoint: Checkpoint, log: Log) -> None:
        self.pictures, self.test, self.plan = pictures, test, plan
        self.checkpoint, self.log, self.device = checkpoint, log, pictures.labels.device
        self.one_step = Step(model, plan.recipe, plan.average, plan.amp, plan.graph)
        self.rate = 0.0
        self.steps_an_epoch = len(pictures) // plan.batch_size
        self.steps = max(1, round(plan.epochs * self.steps_an_epoch))

    def state(self) -> dict[str, Any]:
        return self.one_step.state()

    def load(self, state: dict[str, Any]) -> None:
        self.one_step.load(state)

    def batch(self) -> tuple[Tensor, Tensor]:
        """The pictures of this step, and shares of classes."""
        epoch, at = divmod(self.step, self.steps_an_epoch)
        order = torch.randperm(len(self.pictures), generator=torch.Generator().manual_seed(self.plan.seed * 1000 + epoch))
        size = self.plan.batch_size
        chosen = order[at * size : (at + 1) * size].to(self.device)
        torch.manual_seed(self.plan.seed * 1_000_000 + self.step)  # of the pictures' variations and dropout
        targets = F.one_hot(self.pictures.labels[chosen], len(self.pictures.class_names)).float()
        images, targets = augment_epoch(normalize(self.pictures.read(chosen)), targets, self.plan.recipe)
        return images.contiguous(memory_format=torch.channels_last), targets

    def train_step(self) -> Tensor:
        images, targets = self.batch()
        self.rate = learning_rate(self.step, self.steps, self.plan.rate)
        return self.one_step.run(images, targets, self.rate, self.step)

    def report(self, loss: float) -> None:
        if not loss < float("inf"):
            raise NotFinite(f"step {self.step}: the loss is {loss}; a smaller --rate may help")
        if not self.one_step.has_finite_weights():  # on integers NaN becomes a level, and the loss stays finite
            raise NotFinite(f"step {self.step}: weights are not finite; a smaller --rate may help")
        self.recent = loss if self.recent == 0 else 0.5 * (self.recent + loss)
        left = self.seconds * (self.steps / self.step - 1)
        epoch = self.step / self.steps_an_epoch
        self.log.write(
            f"step {self.step}/{self.steps}, epoch {epoch:.2f}, loss {self.recent:.4f}, {self.seconds:.0f} s,"
            f" about {left:.0f} s left", event="step", step=self.step, epoch=round(epoch, 4), loss=self.recent,
            rate=self.rate, seconds=round(self.seconds, 3))

    def judge(self) -> None:
        if self.test is None:
            return
        correct, count = count_correct(self.network(), self.test, self.plan.amp), len(self.test)
        epoch = self.step / self.steps_an_epoch
        self.log.write(f"epoch {epoch:.2f}: {correct} of {count} test pictures ({correct / count:.2%})", event="test",
                       step=self.step, epoch=round(epoch, 4), correct=correct, pictures=count)

    def network(self) -> nn.Module:
        """With averaged weights, in eval mode."""
        return self.one_step.averaged.network()

    def run(self, interrupt: Interrupt) -> bool:
        """Whether it came to its end. A step's loss is read, which waits for the device, where it is reported alone."""
        saved = time.perf_counter()
        while self.step < self.steps:
            started = time.perf_counter()
            loss = self.train_step()
            self.step += 1
            reported = self.step % self.plan.report_steps == 0 or self.step == self.steps
            value = float(loss) if reported else 0.0
            self.seconds += time.perf_counter() - started
            if reported:
                self.report(value)
            if self.step % self.steps_an_epoch == 0 or self.step == self.steps:
                self.judge()
            if interrupt.asked or time.perf_counter() - saved > self.plan.save_seconds:
                self.save()
                saved = time.perf_counter()
            if interrupt.asked:
                return False
        self.save()
        return True


def save_weights(path: Path, model: nn.Module) -> None:
    torch.save({name: tensor.cpu() for name, tensor in model.state_dict().items()}, path)
