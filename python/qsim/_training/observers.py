"""Observer: what a layer remembers of its inputs' ranges, and the scale that follows."""
from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple

from .. import _library as lib
from .._torch_operations import torch
from . import calls as tr
from .autograd import is_compiling, operator_for
from .layer_options import LEAST_SCALE, OBSERVERS, LayerOptions

Tensor = torch.Tensor


class Observer(torch.nn.Module):
    """In training it sees each input and changes the scale; in eval mode the scale is frozen. It never waits for a GPU.

    Its state: range_state (float32 [3]: least, most, inputs seen), scale (float32 [1]; a parameter where it is learned),
    and with zero_points zero_point (int32 [1]).
    """

    range_state: Tensor
    scale: Tensor
    zero_point: Optional[Tensor]

    def __init__(self, options: LayerOptions, device: Any = None):
        super().__init__()
        self.options = options
        start = float(options.scale) if options.fixed else 1.0
        self.register_buffer("range_state", torch.zeros(3, dtype=torch.float32, device=device))
        scale = torch.full((1,), start, dtype=torch.float32, device=device)
        if options.learned:
            self.scale = torch.nn.Parameter(scale)
        else:
            self.register_buffer("scale", scale)
        self.register_buffer("zero_point", torch.zeros(1, dtype=torch.int32, device=device) if options.zero_points else None)
        # A fact of the host, so that no forward pass asks the device.
        self.has_scale = options.fixed

    def forward(self, x: Tensor) -> Tensor:
        """The scale for x, [1]. Its gradient, and later inputs, do not change it."""
        if self._sees(x):
            self._see(x.detach())
            self.has_scale = True
        if self.options.learned:
            return self.scale.clamp(min=LEAST_SCALE)
        return self.scale.clone() if torch.is_grad_enabled() else self.scale

    def _sees(self, x: Tensor) -> bool:
        """Whether it changes the scale. Refuses an x that has none."""
        if self.training and x.numel() > 0 and not (self.has_scale and self.options.scale_kind == tr.GIVEN):
            return True
        if not self.has_scale and x.numel() > 0:
            raise lib.BadInput("a quantized layer in eval mode has seen no input; call it in train mode first, load a state, "
                               "or give a number as scale")
        return False

    def before_call(self, x: Tensor) -> Tuple[Tensor, Optional[Tensor]]:
        """(scale, state) for a call that observes x itself; state None: it must not."""
        if self.options.learned or self.options.observer == "percentile" or self._forward_hooks or self._forward_pre_hooks:
            return self(x), None
        if not self._sees(x):
            return self.scale, None
        self.has_scale = True
        return self.scale, self.range_state

    def _see(self, x: Tensor) -> None:
        options = self.options
        if options.learned:
            with torch.no_grad():
                self._first_step(x)
            return
        seen = self._bounds(x) if options.observer == "percentile" else x
        self.observe(seen, [options.lo, options.hi, options.rounding_code, options.scale_kind])

    def observe(self, x: Tensor, levels: List[int]) -> None:
        """qsim_observe() on the state."""
        scale = self.scale.detach()
        operator_for(x, "observe")(x, self.range_state, scale, self.zero_point, OBSERVERS[self.options.observer],
                               self.options.momentum, levels)

    def _first_step(self, x: Tensor) -> None:
        """A learned step begins at 2 mean|x| / sqrt(hi), or with zero_points at that of the range."""
        if x.is_cuda and not is_compiling() and torch.cuda.is_current_stream_capturing():
            raise lib.BadInput("a learned step begins with the first input; run a layer once before it is captured in a graph")
        options = self.options
        self.observe(x, [options.lo, options.hi, options.rounding_code, tr.AFFINE if options.zero_points else tr.MAX])
        if not options.zero_points:
            self.scale.copy_(first_step(x, options.hi))

    def _bounds(self, x: Tensor) -> Tensor:
        """[least, most]: the percentile of |x|, or with zero_points that of either side. Other values are clamped."""
        values = x.flatten().float()
        if not self.options.zero_points:
            most = self._at(values.abs())
            return torch.stack((-most, most))
        return torch.stack((-self._at(-values), self._at(values)))

    def _at(self, values: Tensor) -> Tensor:
        """The percentile of the values that are finite; infinity, which nothing observes, where none is."""
        finite = torch.isfinite(values)
        ordered = torch.where(finite, values, torch.full_like(values, math.inf)).sort().values
        count = finite.sum().double() * self.options.percentile
        rank = (count / torch.full_like(count, 100)).ceil().clamp(min=1).long() - 1  # by a number it would be a product on a GPU
        return ordered.gather(0, rank.reshape(1)).reshape(())

    def _apply(self, fn: Any, *rest: Any) -> Any:
        """half() and bfloat16() leave the state in float32, as the kernels need it."""
        before = {"range_state": self.range_state, "scale": self.scale.detach()}
        super()._apply(fn, *rest)  # type: ignore[no-untyped-call,unused-ignore]
        for name, value in before.items():
            found = getattr(self, name)
            if found.dtype in (torch.float16, torch.bfloat16):
                found.data = value.to(found.device)
        return self

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *rest: Any) -> None:
        """A float layer's state has nothing of an observer: then it stays as it is."""
        if not any(key.startswith(prefix) for key in state_dict):
            return
        super()._load_from_state_dict(state_dict, prefix, *rest)
        self.has_scale = self.options.fixed or (not self.range_state.is_meta and bool(self.range_state[2] > 0))

    def extra_repr(self) -> str:
        return f"scale={self.options.scale!r}, observer={self.options.observer!r}"


def first_step(values: Tensor, hi: int) -> Tensor:
    """Of learned step size quantization: 2 mean|values| / sqrt(hi), [1]; 1 of values that are 0."""
    mean = values.detach().float().abs().mean().reshape(1) * (2 / math.sqrt(hi))
    return torch.where(mean > LEAST_SCALE, mean, torch.ones_like(mean))
