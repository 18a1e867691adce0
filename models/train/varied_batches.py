"""The pictures of each step of a training, in random order and varied: a function of the seed and the step's number alone."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from augment import Recipe, augment_epoch
from data import normalize
from picture_sets import PictureSet
from run_lane import drawn_seed

VARIED_BYTES = 1 << 28  # of float32 pictures, varied at once: many small steps in few launches


class VariedBatches:
    """Those of one step after another; another order of steps is as right, and slower."""

    def __init__(self, pictures: PictureSet, recipe: Recipe, batch_size: int, seed: int) -> None:
        self.pictures, self.recipe, self.batch_size, self.seed = pictures, recipe, batch_size, seed
        self.steps_an_epoch = len(pictures) // batch_size
        picture_bytes = 4 * 3 * pictures.size**2
        self.steps_at_once = max(1, min(self.steps_an_epoch, VARIED_BYTES // (picture_bytes * batch_size)))
        self.varied: tuple[int, int, Tensor, Tensor] | None = None  # the epoch, its first step, pictures, shares

    def order(self, epoch: int) -> Tensor:
        """On the device of the labels, without waiting for it."""
        order = torch.randperm(len(self.pictures), generator=torch.Generator().manual_seed(self.seed * 1000 + epoch))
        device = self.pictures.labels.device
        return order.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else order

    def vary(self, epoch: int, first: int) -> tuple[Tensor, Tensor]:
        """Of the steps from `first` of the epoch. Draws PyTorch's random numbers."""
        last = min(first + self.steps_at_once, self.steps_an_epoch)
        chosen = self.order(epoch)[first * self.batch_size : last * self.batch_size]
        torch.manual_seed(drawn_seed(self.seed, "pictures", epoch, first))
        targets = F.one_hot(self.pictures.labels[chosen], len(self.pictures.class_names)).float()
        images, targets = augment_epoch(normalize(self.pictures.read(chosen)), targets, self.recipe)
        return images.contiguous(memory_format=torch.channels_last), targets

    def of(self, step: int) -> tuple[Tensor, Tensor]:
        """Pictures [batch_size, 3, size, size], channels last, and shares of classes [batch_size, classes]."""
        epoch, at = divmod(step, self.steps_an_epoch)
        first = at - at % self.steps_at_once
        if self.varied is None or self.varied[:2] != (epoch, first):
            self.varied = None  # its memory is free
            self.varied = (epoch, first, *self.vary(epoch, first))
        chosen = slice((at - first) * self.batch_size, (at - first + 1) * self.batch_size)
        return self.varied[2][chosen], self.varied[3][chosen]
