"""QuantizedConv2d, QuantizedConv2dReLU and QuantizedLinear: layers that compute and train with the accelerator's integers."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from .. import _library as lib
from .._torch_operations import torch
from . import autograd, eager
from .layer_options import LEAST_SCALE, OBSERVERS, LayerOptions, layer_options
from .observers import Observer, first_step
from .tracing import refuse_tracing

Tensor = torch.Tensor
TYPES = (torch.float32, torch.float16, torch.bfloat16)


def result_type(x: Tensor) -> torch.dtype:
    """The type of a layer's result: autocast's where it is on, else x's."""
    if x.is_meta:
        return x.dtype
    if hasattr(torch, "get_autocast_dtype"):  # PyTorch 2.4
        kind = x.device.type
        return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype  # type: ignore[call-arg,unused-ignore]
    if x.is_cuda:
        return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else x.dtype
    return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else x.dtype


class _Levels(torch.nn.Module):
    """What the layers share: options, the input's observer, and learned steps of the weights."""

    options: LayerOptions
    observer: Observer
    weight_step: Optional[torch.nn.Parameter]
    weight: Tensor
    bias: Any
    _observer_class = Observer
    _slow_forward = refuse_tracing

    def _set_options(self, options: Dict[str, Any]) -> None:
        self.options = layer_options(options)
        self._how = self.options.numbers()
        o = self.options
        self._setup = eager.Setup(o.lo, o.hi, o.rounding_code, o.scale_kind, o.weight_hi, o.weight_kind, OBSERVERS[o.observer],
                                  o.momentum, not o.per_channel, o.learned)
        self.observer = self._observer_class(self.options, self.weight.device)
        if self.options.learned:
            count = self.weight.shape[0] if self.options.per_channel else 1
            self.weight_step = torch.nn.Parameter(torch.ones(count, dtype=torch.float32, device=self.weight.device))
            self.reset_steps()
        else:
            self.register_parameter("weight_step", None)

    def reset_steps(self) -> None:
        """Learned steps of the weights begin at 2 mean|w| / sqrt(hi) of each channel, or of all."""
        if self.weight_step is None or self.weight.numel() == 0 or self.weight.is_meta:
            return
        rows = self.weight.detach().reshape(self.weight_step.numel(), -1)
        with torch.no_grad():
            self.weight_step.copy_(torch.cat([first_step(row, self.options.weight_hi) for row in rows]))

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, local_metadata: Any, strict: bool,
                              missing_keys: List[str], *rest: Any) -> None:
        """A float layer's state too is taken: weight and bias."""
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *rest)
        key = prefix + "weight_step"
        if key in missing_keys and not any(name.startswith(prefix + "observer.") for name in state_dict):
            missing_keys.remove(key)
            self.reset_steps()

    def _convolve(self, x: Tensor, weight: Tensor, window: Tuple[int, ...], groups: int, relu: bool) -> Tensor:
        """Of x [B, C, H, W] and weights [O, C / groups, kh, kw], or both of two dimensions: rows."""
        if x.dtype not in TYPES or weight.dtype not in TYPES:
            raise lib.BadInput(f"{type(self).__name__}: x is {x.dtype}, its weights {weight.dtype}; allowed: float32, float16 and "
                               "bfloat16")
        steps = None if self.weight_step is None else self.weight_step.float().clamp(min=LEAST_SCALE)
        if autograd.is_eager(x):
            observer = self.observer
            if x.is_neg():
                x = x.resolve_neg()
            self._check_sizes(x, weight, window)
            scale, state = observer.before_call(x)
            one = eager.Pass(self._setup, scale, observer.zero_point, state, window, groups, relu, result_type(x))
            return eager.layer(x, weight, self.bias, steps, one)
        scale = self.observer(x)
        flat = x.dim() == 2
        if flat:
            x, weight = x[:, :, None, None], weight[:, :, None, None]
        y = autograd.quantized_conv2d(x, weight, self.bias, scale, self.observer.zero_point, steps, window, groups,
                                      self._how, result_type(x), relu)
        return y.flatten(1) if flat else y

    def _check_sizes(self, x: Tensor, weight: Tensor, window: Tuple[int, ...]) -> None:
        """As the library would say it, of other names."""
        if x.dim() != 4:
            return
        for axis, name in ((2, "rows"), (3, "columns")):
            extent, has = (weight.shape[axis] - 1) * window[axis + 4] + 1, x.shape[axis] + window[axis] + window[axis + 2]
            if extent > has:
                raise lib.BadInput(f"{type(self).__name__}: its kernel spans {extent} {name}; x with its pads has {has}")


class QuantizedConv2d(_Levels, torch.nn.Conv2d):
    """torch.nn.Conv2d by int8 products: its arguments, and options() as keywords (LayerOptions).

    forward() quantizes x (float32, float16, bfloat16; any memory format, which y keeps) and the weights, and multiplies
    integers: y = acc * (scale * weight scale) + bias, the same bits on every device. Gradients are those of the quantized
    tensors, 0 where a value was clamped; products of bfloat16, sums of float32. Kept for it are int8 levels and bits alone.
    In eval mode the input's scale is frozen.
    """

    _relu = False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None, **options: Any):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
                         device, dtype)
        self._set_options(options)

    def _window(self) -> Tuple[int, ...]:
        """Stride, pads (top, left, bottom, right) and dilation; other pads than zeros are put around x before."""
        left, right, top, bottom = self._reversed_padding_repeated_twice if self.padding_mode == "zeros" else (0, 0, 0, 0)
        return (*self.stride, top, left, bottom, right, *self.dilation)  # type: ignore[return-value]

    def forward(self, input: Tensor) -> Tensor:  # pylint: disable=redefined-builtin
        """y [B, O, OH, OW] of [B, C, H, W]; without B of one picture."""
        if input.dim() not in (3, 4) or input.shape[-3] != self.in_channels:
            raise lib.BadInput(f"{type(self).__name__}: x has the shape {list(input.shape)}; allowed: [B, "
                               f"{self.in_channels}, H, W], or without B")
        x = input if input.dim() == 4 else input[None]
        if self.padding_mode != "zeros":
            x = torch.nn.functional.pad(x, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        y = self._convolve(x, self.weight, self._window(), self.groups, self._relu)
        return y if input.dim() == 4 else y[0]


class QuantizedConv2dReLU(QuantizedConv2d):
    """QuantizedConv2d and ReLU as one kernel; a bit a value is kept for the latter's gradient."""

    _relu = True


class QuantizedLinear(_Levels, torch.nn.Linear):
    """torch.nn.Linear by int8 products: otherwise as QuantizedConv2d."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None,
                 **options: Any):
        super().__init__(in_features, out_features, bias, device, dtype)
        self._set_options(options)

    def forward(self, input: Tensor) -> Tensor:  # pylint: disable=redefined-builtin
        """y [..., out_features] of [..., in_features]."""
        if input.dim() == 0 or input.shape[-1] != self.in_features:
            raise lib.BadInput(f"QuantizedLinear: x has the shape {list(input.shape)}; allowed: [..., {self.in_features}]")
        x = input if input.dim() == 2 else input.reshape(input.shape[:-1].numel(), self.in_features)
        y = self._convolve(x, self.weight, (1, 1, 0, 0, 0, 0, 1, 1), 1, False)
        return y if input.dim() == 2 else y.reshape(*input.shape[:-1], self.out_features)
