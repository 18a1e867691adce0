"""Augmentation of a whole epoch at once, on the device that holds the pictures."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

IMAGE_PX = 32  # lengths of recipes are in pixels of a picture of this side; others' are scaled


@dataclass(frozen=True)
class Recipe:
    """What one training run does to its pictures and how it regularizes. Lengths are in pixels of 32x32 pictures."""

    name: str
    shift_px: int = 4
    rotate_degrees: float = 0.0
    zoom: float = 0.0
    color: float = 0.0
    cutout_px: int = 8
    cutmix_probability: float = 0.0
    dropout: float = 0.2
    label_smoothing: float = 0.1
    peak_learning_rate: float = 0.2
    weight_decay: float = 5e-4


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("plain"),
        Recipe("mix", color=0.2, cutmix_probability=0.5, label_smoothing=0.05),
        Recipe("strong", rotate_degrees=10.0, zoom=0.15, color=0.3, cutmix_probability=0.5, label_smoothing=0.05),
    )
}


def uniform(count, low, high, device):
    return torch.rand(count, device=device) * (high - low) + low


def random_affine(images, recipe):
    """Flip, whole-pixel shift, rotation and zoom by one resampling; what comes in from outside is the reflection.

    Without rotation and zoom every sample point is a pixel centre, so pixels are moved, not blended.
    """
    count, device = len(images), images.device
    flip = torch.randint(0, 2, (count,), device=device) * 2.0 - 1.0
    angle = uniform(count, -1.0, 1.0, device) * math.radians(recipe.rotate_degrees)
    scale = 1.0 + uniform(count, -recipe.zoom, recipe.zoom, device)
    size = images.shape[-1]
    shift = torch.randint(-recipe.shift_px, recipe.shift_px + 1, (count, 2), device=device) * (size / IMAGE_PX)
    shift = torch.round(shift) * (2.0 / size)
    cos, sin = scale * torch.cos(angle), scale * torch.sin(angle)
    rows = [torch.stack((cos * flip, -sin, shift[:, 0]), 1), torch.stack((sin * flip, cos, shift[:, 1]), 1)]
    grid = F.affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="reflection", align_corners=False)


def color_jitter(images, strength):
    """Saturation and contrast by a factor, brightness by a term, each drawn once a picture; values are in -1..1."""
    count, device = len(images), images.device
    saturation, contrast, brightness = (
        uniform(count, -strength, strength, device).view(-1, 1, 1, 1) for _ in range(3)
    )
    gray = images.mean(dim=1, keepdim=True)
    images = gray + (1.0 + saturation) * (images - gray)
    mean = images.mean(dim=(1, 2, 3), keepdim=True)
    return mean + (1.0 + contrast) * (images - mean) + brightness


def random_boxes(side_px, size, device):
    """bool [N, 1, size, size]: for each picture a square of side side_px[n] around a random centre, cut at the edge."""
    axis = (torch.arange(size, device=device) + 0.5) * (IMAGE_PX / size)
    centre = torch.rand(len(side_px), 2, device=device) * IMAGE_PX
    half = side_px.view(-1, 1) / 2
    rows = (axis - centre[:, :1]).abs() < half
    columns = (axis - centre[:, 1:]).abs() < half
    return (rows.unsqueeze(2) & columns.unsqueeze(1)).unsqueeze(1)


def cutmix(images, targets, probability):
    """Replaces a box by that of the next picture, and the same share of the target; targets are float [N, 10].

    The pictures are in random order already, so the neighbour is a random partner.
    """
    count, device = len(images), images.device
    chosen = torch.rand(count, device=device) < probability
    boxes = random_boxes(torch.rand(count, device=device).sqrt() * IMAGE_PX * chosen, images.shape[-1], device)
    share = boxes.float().mean(dim=(1, 2, 3)).view(-1, 1)
    images = torch.where(boxes, images.roll(1, 0), images)
    return images, targets * (1.0 - share) + targets.roll(1, 0) * share


def augment_epoch(images, targets, recipe):
    """float [N, 3, size, size] and float [N, classes], both in random order -> the same shapes, augmented."""
    images = random_affine(images, recipe)
    if recipe.color:
        images = color_jitter(images, recipe.color)
    if recipe.cutmix_probability:
        images, targets = cutmix(images, targets, recipe.cutmix_probability)
    if recipe.cutout_px:
        sides = torch.full((len(images),), float(recipe.cutout_px), device=images.device)
        images = images.masked_fill(random_boxes(sides, images.shape[-1], images.device), 0.0)
    return images, targets
