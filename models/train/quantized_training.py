"""The loop of train_quantized.py: every step is a function of the seed and its number, so that a resumed run has the same bits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from augment import Recipe
from captured_step import Step
from data import normalize
from picture_sets import PictureSet
from resumable import Checkpoint, Interrupt, Log, Resumable
from run_lane import drawn_seed, wait
from train import learning_rate
from varied_batches import VariedBatches

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
        self.lane = self.one_step.lane
        self.batches = VariedBatches(pictures, plan.recipe, plan.batch_size, plan.seed)
        self.rate = 0.0
        self.steps_an_epoch = self.batches.steps_an_epoch
        self.steps = max(1, round(plan.epochs * self.steps_an_epoch))

    def state(self) -> dict[str, Any]:
        with self.lane.entered(waits=True):
            return self.one_step.state()

    def load(self, state: dict[str, Any]) -> None:
        with self.lane.entered():
            self.one_step.load(state)

    def advance(self) -> None:
        """Takes a step, on a GPU without waiting for it."""
        with self.lane.entered():
            images, targets = self.batches.of(self.step)
            torch.manual_seed(drawn_seed(self.plan.seed, "step", self.step))  # of dropout
            self.rate = learning_rate(self.step, self.steps, self.plan.rate)
            self.one_step.run(images, targets, self.rate, self.step)
        self.step += 1

    def check_finite(self) -> float:
        """The last loss. NotFinite says what is not; waits for the device."""
        with self.lane.entered():
            loss = float(self.one_step.loss)
            if not loss < float("inf"):
                raise NotFinite(f"step {self.step}: the loss is {loss}; a smaller --rate may help")
            if not self.one_step.has_finite_weights():  # on integers NaN becomes a level, and the loss stays finite
                raise NotFinite(f"step {self.step}: weights are not finite; a smaller --rate may help")
        return loss

    def report(self) -> None:
        loss = self.check_finite()
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
        correct, count = self.count_correct(self.test), len(self.test)
        epoch = self.step / self.steps_an_epoch
        self.log.write(f"epoch {epoch:.2f}: {correct} of {count} test pictures ({correct / count:.2%})", event="test",
                       step=self.step, epoch=round(epoch, 4), correct=correct, pictures=count)

    def count_correct(self, test: PictureSet) -> int:
        with self.lane.entered():
            return count_correct(self.network(), test, self.plan.amp)

    def network(self) -> nn.Module:
        """With averaged weights, in eval mode."""
        with self.lane.entered(waits=True):
            return self.one_step.averaged.network()

    def run(self, interrupt: Interrupt) -> bool:
        """Whether it came to its end. It waits for the device where it reports, judges or saves."""
        saved = time.perf_counter()
        while self.step < self.steps:
            started = time.perf_counter()
            self.advance()
            reported = self.step % self.plan.report_steps == 0 or self.step == self.steps
            if reported:
                wait(self.lane.mark())  # so that the time is that of the steps
            self.seconds += time.perf_counter() - started
            if reported:
                self.report()
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
