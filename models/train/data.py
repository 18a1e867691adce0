"""CIFAR-10 pictures and labels from the formats they come in, as uint8 tensors; nothing is augmented here."""

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

CLASS_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RECORD_BYTES = 1 + 3 * 32 * 32

# On the 0..1 scale, for each of R, G, B. With mean = std = 128/255 the normalized value of a pixel p is
# (p - 128) / 128, so uint8 with scale 2^-7 and zero_point 128 holds every pixel without loss.
MEAN = STD = 128.0 / 255.0


@dataclass
class LabelledImages:
    """images: uint8 [N, 3, 32, 32] (R, G, B planes, 0..255); labels: int64 [N], indices into CLASS_NAMES."""

    images: torch.Tensor
    labels: torch.Tensor

    def __len__(self):
        return len(self.labels)

    def subset(self, indices):
        return LabelledImages(self.images[indices], self.labels[indices])

    def to(self, device):
        return LabelledImages(self.images.to(device), self.labels.to(device))


def normalize(images):
    """uint8 [N, 3, H, W] -> float32 of the same shape, (p / 255 - mean) / std."""
    return (images.float() / 255.0 - MEAN) / STD


def load_binary_batch(path):
    """The official binary format: records of 3,073 bytes, a label and then the R, G and B planes."""
    raw = np.fromfile(path, dtype=np.uint8)
    if len(raw) == 0 or len(raw) % RECORD_BYTES:
        raise ValueError(f"{path}: {len(raw)} bytes is not a positive multiple of {RECORD_BYTES}")
    records = raw.reshape(-1, RECORD_BYTES)
    if records[:, 0].max() >= len(CLASS_NAMES):
        raise ValueError(f"{path}: label {records[:, 0].max()} is not below {len(CLASS_NAMES)}")
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    return LabelledImages(images, torch.from_numpy(records[:, 0].astype(np.int64)))


def load_torchvision(folder):
    """The 50,000 training pictures of torchvision's CIFAR10 folder (the one that holds cifar-10-batches-py)."""
    from torchvision.datasets import CIFAR10

    dataset = CIFAR10(folder, train=True, download=False)
    images = torch.from_numpy(dataset.data).permute(0, 3, 1, 2).contiguous()
    return LabelledImages(images, torch.tensor(dataset.targets, dtype=torch.int64))


def list_image_folder(path):
    """Yields (class name, bytes) of `.../<class>/<file>.{jpg,png}`, sorted by name, from a folder or a zip."""
    path = Path(path)
    if path.is_dir():
        for file in sorted(p for p in path.rglob("*") if p.suffix in (".jpg", ".png")):
            yield file.parent.name, file.read_bytes()
        return
    with zipfile.ZipFile(path) as archive:
        for name in sorted(n for n in archive.namelist() if n.endswith((".jpg", ".png"))):
            yield name.split("/")[-2], archive.read(name)


def load_image_folder(path):
    """The ImageFolder layout, one folder for each of CLASS_NAMES."""

    def decoded(file):
        class_name, data = file
        if class_name not in CLASS_NAMES:
            raise ValueError(f"{path}: folder '{class_name}' is none of {', '.join(CLASS_NAMES)}")
        picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        if picture.shape != (32, 32, 3):
            raise ValueError(f"{path}: a picture of '{class_name}' has shape {picture.shape}, expected (32, 32, 3)")
        return picture, CLASS_NAMES.index(class_name)

    with ThreadPoolExecutor() as threads:
        pictures = list(threads.map(decoded, list_image_folder(path)))
    if not pictures:
        raise ValueError(f"{path}: no .jpg or .png in it")
    images, labels = zip(*pictures)
    planes = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous()
    return LabelledImages(planes, torch.tensor(labels, dtype=torch.int64))


def add_training_arguments(parser):
    """Adds --cifar10 and --imagefolder, of which exactly one is needed."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--cifar10", metavar="DIR", help="torchvision's CIFAR10 folder")
    group.add_argument("--imagefolder", metavar="DIR_OR_ZIP", help="pictures as <class>/<file>.jpg or .png")


def load_training_images(args):
    return load_torchvision(args.cifar10) if args.cifar10 else load_image_folder(args.imagefolder)
