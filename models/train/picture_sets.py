"""Pictures with labels for training, from CIFAR-10's files or class folders of any names and sizes.

Sets that fit are decoded once and kept as bytes on the device; larger ones are decoded when a batch asks for them.
"""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from data import CLASS_NAMES, LabelledImages, load_binary_batch, load_torchvision

KEPT_BYTES = 2 * 2**30  # decoded pictures, up to which a set is kept on the device
LARGEST_SIZE = 224  # that a set's own size gives; --size may be larger
SUFFIXES = (".jpg", ".jpeg", ".png")
BINARY, PYTHON = "cifar-10-batches-bin", "cifar-10-batches-py"


@dataclass
class PictureSet:
    """`read`: indices int64 [n] -> uint8 [n, 3, size, size] on `device`, where the labels (int64 [N]) are too."""

    labels: Tensor
    class_names: tuple[str, ...]
    size: int
    read: Callable[[Tensor], Tensor]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Files:
    """The pictures of a folder or a zip: `.../<class>/<file>`, sorted by name."""

    path: Path
    names: tuple[str, ...]
    content: Callable[[str], bytes]

    def classes(self) -> list[str]:
        return [Path(name).parent.name for name in self.names]

    def decoded(self, index: int, size: int | None) -> Image.Image:
        """As it is, or its middle square, of which `size` pixels a side are made."""
        name = self.names[index]
        try:
            picture = Image.open(io.BytesIO(self.content(name))).convert("RGB")
        except UnidentifiedImageError:  # its message has the address of an object
            raise ValueError(f"{self.path}: {name} cannot be read as a picture: its bytes are of no known format") from None
        except OSError as error:
            raise ValueError(f"{self.path}: {name} cannot be read as a picture: {error}") from None
        if size is None or picture.size == (size, size):
            return picture
        side = min(picture.size)
        left, upper = (picture.width - side) / 2, (picture.height - side) / 2
        return picture.resize((size, size), Image.BILINEAR, box=(left, upper, left + side, upper + side))


def list_files(path: Path) -> Files:
    if path.is_dir():
        names = sorted(str(p.relative_to(path)) for p in path.rglob("*") if p.suffix.lower() in SUFFIXES)
        files = Files(path, tuple(names), lambda name: (path / name).read_bytes())
    else:
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile:
            raise ValueError(f"{path}: neither a folder, a zip of pictures nor a CIFAR-10 binary batch (.bin)") from None
        files = Files(path, tuple(sorted(n for n in archive.namelist() if n.lower().endswith(SUFFIXES))), archive.read)
    if not files.names:
        raise ValueError(f"{path}: no {', '.join(SUFFIXES)} in it, and no CIFAR-10 batches")
    if "" in files.classes():
        raise ValueError(f"{path}: {files.names[files.classes().index('')]} is in no class folder; expected <class>/<file>")
    return files


def read_files(files: Files, device: torch.device, size: int | None, class_names: tuple[str, ...] | None) -> PictureSet:
    found = files.classes()
    if class_names is None:
        if len(set(found)) < 2:
            raise ValueError(f"{files.path}: one class, '{found[0]}'; training needs two or more")
        class_names = CLASS_NAMES if set(found) == set(CLASS_NAMES) else tuple(sorted(set(found)))
    unknown = sorted(set(found) - set(class_names))
    if unknown:
        raise ValueError(f"{files.path}: folder '{unknown[0]}' is no class of training: {', '.join(class_names)}")
    side = size or min(LARGEST_SIZE, *files.decoded(0, None).size)
    labels = torch.tensor([class_names.index(name) for name in found], device=device)

    def read(indices: Tensor) -> Tensor:
        with ThreadPoolExecutor() as threads:
            arrays = list(threads.map(lambda i: np.asarray(files.decoded(i, side)), indices.tolist()))
        return torch.from_numpy(np.stack(arrays)).to(device).permute(0, 3, 1, 2).contiguous()

    if len(found) * 3 * side * side > KEPT_BYTES:
        return PictureSet(labels, class_names, side, read)
    return kept(LabelledImages(read(torch.arange(len(found))), labels), class_names)


def kept(pictures: LabelledImages, class_names: tuple[str, ...]) -> PictureSet:
    images = pictures.images
    return PictureSet(pictures.labels, class_names, images.shape[-1], lambda indices: images[indices.to(images.device)])


def binary_batches(paths: list[Path]) -> LabelledImages:
    batches = [load_binary_batch(path) for path in paths]
    return LabelledImages(torch.cat([b.images for b in batches]), torch.cat([b.labels for b in batches]))


def read_set(path: Path, device: torch.device, size: int | None, class_names: tuple[str, ...] | None = None) -> PictureSet:
    """`class_names`: those of the training pictures, where this are the test pictures. `size` None: the pictures' own."""
    if not path.exists():
        raise ValueError(f"{path}: no such file or folder")
    batches = sorted(path.glob("data_batch_*.bin")) if path.is_dir() else [path] * (path.suffix == ".bin")
    if not batches and not (path / PYTHON).is_dir():
        return read_files(list_files(path), device, size, class_names)
    if size not in (None, 32) or class_names not in (None, CLASS_NAMES):
        raise ValueError(f"{path}: pictures of CIFAR-10 are of 32x32 pixels and of its ten classes")
    pictures = binary_batches(batches) if batches else load_torchvision(path)
    return kept(pictures.to(device), CLASS_NAMES)


def find_sets(dataset: str, data: Path, test: Path | None) -> tuple[Path, Path | None]:
    """Where the training and the test pictures are: `dataset` is cifar10 (its files are in `data`) or a path.

    A folder that has folders train and val (or test) has both.
    """
    if dataset == "cifar10":
        if (data / BINARY).is_dir():
            return data / BINARY, test or data / BINARY / "test_batch.bin"
        if (data / PYTHON).is_dir():
            return data, test
        raise ValueError(f"--dataset cifar10: neither {BINARY} nor {PYTHON} in {data}; --data says where they are")
    path = Path(dataset)
    if not (path / "train").is_dir():
        return path, test
    beside = next((path / name for name in ("val", "test") if (path / name).is_dir()), None)
    return path / "train", test or beside
