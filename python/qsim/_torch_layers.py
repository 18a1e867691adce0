"""BinaryConv2d: a binary convolution whose weights are prepared once for each GPU and shape of its input."""
from __future__ import annotations

from typing import Dict, List, Optional, Tuple, Union

from . import _convolutions as convolutions
from . import _operations as ops
from . import _torch_operations as real
from ._torch_operations import torch

Pair = Union[int, Tuple[int, int], List[int]]


class BinaryConv2d:
    """binary_conv2d with weights that are given once, as CPU tensors: on CPU bits, and on CUDA bits.

    words and alpha: of binarize_weights; beta: float32 [N]; bias: float32 [O]. The first call with bits of a new shape or
    on a new GPU puts the weights into a kernel's order and copies them there; later ones, also in CUDA graphs and under
    torch.compile, are one kernel on the current stream.
    """

    def __init__(self, words: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor,
                 bias: Optional[torch.Tensor] = None, *, channels: int, stride: Pair = 1, padding: Pair = 0,
                 dilation: Pair = 1):
        self._parts = (words, alpha, beta, bias)
        self._channels = channels
        pairs = [[value, value] if isinstance(value, int) else list(value) for value in (stride, padding, dilation)]
        self._pairs = pairs
        self._window = convolutions.window_of(*pairs)
        self._planned: Dict[Tuple[Tuple[int, ...], int], Tuple[real.PlannedLayer, List[int]]] = {}

    def __call__(self, bits: torch.Tensor) -> torch.Tensor:
        """y [B, O, OH, OW] (float32) of bits [B, H, W, N, ceil(C / 64)]."""
        if not bits.is_cuda:
            return torch.ops.qsim.binary_conv2d(bits, *self._parts, self._channels, *self._pairs)
        planned, size = self._plan(bits)
        return torch.ops.qsim.binary_layer(bits, planned.packed, planned.number, size)

    def _plan(self, bits: torch.Tensor) -> Tuple[real.PlannedLayer, List[int]]:
        ops.require_rank("BinaryConv2d: bits", bits.shape, 5)
        index = bits.get_device()
        key = (tuple(bits.shape), index)
        found = self._planned.get(key)
        if found is None:
            words = self._parts[0]
            layer = real.PlannedLayer(self._channels, self._parts, self._window, bits.shape[:3], bits.device)
            size = [*convolutions.output_size(self._window, bits.shape[1:3], words.shape[2:4]), words.shape[0]]
            found = self._planned[key] = (layer, size)
        return found
