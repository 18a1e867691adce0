"""The families' names and their inputs: what quantizing a network and running it needs, without PyTorch."""
import numpy as np

NAMES = ("mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0", "densenet121", "shufflenet_v2", "regnet_x",
         "unet", "espcn", "ssdlite", "yolo_v5", "yolo_v8", "ds_cnn", "deit_tiny")
DETECTORS = ("ssdlite", "yolo_v5", "yolo_v8")


def pictures(shape, seed):
    """Smooth random float32 pictures of mean 0 and deviation 1: noise of four sizes, each enlarged bilinearly."""
    generator = np.random.default_rng(seed)
    total = np.zeros(shape, np.float32)
    for cells in (2, 4, 8, 16):
        coarse = generator.normal(0, 1, (*shape[:2], cells + 1, cells + 1))
        for axis, length in ((2, shape[2]), (3, shape[3])):
            at = np.linspace(0, cells, length)
            low = np.minimum(at.astype(int), cells - 1)
            part = (at - low).reshape(-1, 1) if axis == 2 else at - low
            coarse = np.take(coarse, low, axis) * (1 - part) + np.take(coarse, low + 1, axis) * part
        total += coarse.astype(np.float32)
    return (total - total.mean()) / total.std()
