"""QuantizedSequential: a chain of layers as one autograd function, whose tensors stay int8 between its layers."""
from __future__ import annotations

import copy
import sys
from typing import Any, Dict, List, Optional, Tuple

from .. import _library as lib
from .._torch_operations import torch
from .._training import calls
from .._training.layer_options import LEAST_SCALE, flag, share
from .._training.tracing import refuse_tracing
from . import backward as backwards
from . import levels as arithmetic
from . import plan as plans
from . import run as runs
from .of_layers import MODAL, batches_of, float_layers, measure, options_of

nn = torch.nn
ROUNDINGS = {"half_even": calls.HALF_EVEN, "toward_zero": calls.TOWARD_ZERO}
SCALES = {"float": calls.MAX, "power_of_two": calls.POWER_OF_TWO}
TYPES = (torch.float32, torch.float16, torch.bfloat16)  # of x


def _one_of(name: str, word: str, words: Any) -> str:
    if word not in words:
        raise lib.BadInput(f"QuantizedSequential: {name} is '{word}'; allowed: {', '.join(words)}")
    return word


class _Chain(torch.autograd.Function):
    """y of x and of the parameters of all convolutions."""

    @staticmethod
    def forward(ctx: Any, chain: QuantizedSequential, x: torch.Tensor, *_parameters: Any) -> torch.Tensor:  # type: ignore[override]
        run = chain.new_run(x)
        y = runs.forward(run, chain.channels_last(x), True)
        ctx.x_dtype = x.dtype
        ctx.counts = [len(kept) for kept in run.kept]
        ctx.save_for_backward(run.rows, *run.levels, *run.passes, *run.scales, *(one for kept in run.kept for one in kept))
        run.levels, run.passes, run.scales, run.kept = [], [], [], []
        del run.rows, run.row_views, run.ranges, run.range_views
        ctx.run = run
        return chain.channels_first(y)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[misc,unused-ignore]
    def backward(ctx: Any, dy: torch.Tensor) -> Any:  # type: ignore[override]
        run = _restored(ctx)
        needs = ctx.needs_input_grad[2:]
        fours = [needs[first:first + 4] for first in range(0, len(needs), 4)]
        dy = dy.resolve_neg()
        picture = dy.permute(0, 2, 3, 1) if dy.dim() == 4 else dy[:, None, None]
        dx, parameters = backwards.backward(run, picture, fours, ctx.x_dtype if ctx.needs_input_grad[1] else None)
        if dx is not None:
            dx = dx[:, 0, 0] if run.plan.flat_input else dx.permute(0, 3, 1, 2)
        return (None, dx, *parameters)


def _restored(ctx: Any) -> runs.Run:
    """The run with the tensors that ctx saved."""
    run = copy.copy(ctx.run)
    tensors = iter(ctx.saved_tensors)
    run.rows = next(tensors)
    run.row_views = run.rows.split(1)
    count = len(run.plan.values)
    run.levels, run.passes, run.scales = ([next(tensors) for _ in range(count)] for _ in range(3))
    run.kept = [[next(tensors) for _ in range(length)] for length in ctx.counts]
    if hasattr(ctx, "maybe_clear_saved_tensors"):  # PyTorch 2.3: the run alone has them now
        ctx.maybe_clear_saved_tensors()
    return run


def _computed(chain: QuantizedSequential, x: torch.Tensor) -> torch.Tensor:
    return chain.compute(x)


class QuantizedSequential(nn.Sequential):
    """nn.Sequential whose forward pass is the accelerator's int8 arithmetic, and whose gradients are ours too.

    layers: Conv2d, BatchNorm2d, Linear, BatchNorm1d, ReLU, MaxPool2d, AvgPool2d, AdaptiveAvgPool2d(1), Flatten, Dropout,
    Identity, Sequential and Residual, or one Sequential of them; they keep their names in state_dict. What a layer computes is in
    docs/reference/training.md. y is float32, the levels of the last layer times their scale.

    weight_bits: 2 to 8. rounding: half_even or toward_zero, of weights and of x. scale: float or power_of_two. observer:
    moving_average (with momentum), min_max or last: what scales remember of earlier steps; in eval mode they are fixed.
    zero_points: tensors after ReLU use all 256 levels. input_scale: the scale of x, if it is fixed.
    """

    levels_state: torch.Tensor
    levels_scale: torch.Tensor
    _spans: torch.Tensor
    _lowest: torch.Tensor
    _ones: torch.Tensor
    _folded: torch.Tensor
    _slow_forward = refuse_tracing

    def __init__(self, *layers: Any, weight_bits: int = 8, rounding: str = "half_even", scale: str = "float",
                 observer: str = "moving_average", momentum: float = 0.1, zero_points: bool = False,
                 input_scale: Optional[float] = None):
        if len(layers) == 1 and type(layers[0]) is nn.Sequential:
            super().__init__()
            for key, layer in layers[0]._modules.items():
                self.add_module(key, layer)
        else:
            super().__init__(*layers)
        most = 2 ** (lib.whole("weight_bits", weight_bits, 2, 8) - 1) - 1
        share("momentum", momentum, 1)
        flag("zero_points", zero_points)
        mode, kind = ROUNDINGS[_one_of("rounding", rounding, ROUNDINGS)], SCALES[_one_of("scale", scale, SCALES)]
        of_input = calls.Levels(plans.LOWEST, plans.HIGHEST, mode, kind if input_scale is None else calls.GIVEN)
        self._settings = runs.Settings(calls.Levels(-most, most, mode, kind), of_input, scale == "power_of_two",
                                       _one_of("observer", observer, runs.OBSERVERS), momentum)
        self._plan = plans.make_plan(self, zero_points)
        rows = self._plan.rows
        self.register_buffer("levels_state", torch.zeros(rows, 3))
        self.register_buffer("levels_scale", torch.ones(rows))
        spans = torch.full((rows,), float(plans.HIGHEST))
        for value in self._plan.values:
            spans[value.row] = plans.HIGHEST - value.zero_point
        self.register_buffer("_spans", spans, persistent=False)
        self.register_buffer("_lowest", torch.tensor([plans.LOWEST], dtype=torch.int32), persistent=False)
        if input_scale is not None:
            if isinstance(input_scale, (bool, str)) or not LEAST_SCALE <= input_scale < float("inf"):
                raise lib.BadInput(f"QuantizedSequential: input_scale is {input_scale}; allowed: 2^-126 and more")
            self.levels_scale[0] = input_scale
        folded = torch.zeros(rows, dtype=torch.bool)
        for step in self._plan.convolutions():
            folded[self._plan.values[step.y].row] = self._plan.values[step.y].row != self._plan.values[self._plan.output].row
        self.register_buffer("_ones", torch.ones(rows), persistent=False)
        self.register_buffer("_folded", folded, persistent=False)
        self._sizes: Dict[Any, Dict[Any, int]] = {}
        self._layers = tuple(self.modules())[1:]
        self._measured: Optional[bool] = False  # None: the buffers say

    @classmethod
    def of(cls, model: nn.Module, pictures: Any, **options: Any) -> QuantizedSequential:
        """The chain of a trained network's layers, for the accelerator: quantized and float layers, and residual blocks.

        pictures: x, or many of them (a DataLoader: x first), which give the scales; BatchNorm and Dropout are as in eval mode
        then. Parameters are copies. options: of QuantizedSequential; weight_bits, rounding, scale and zero_points are the
        quantized layers' own unless they are given. What the chain computes is near the model's numbers, not equal to them.
        """
        x, batches = batches_of(pictures)
        device = next((parameter.device for parameter in model.parameters()), x.device)
        chain = cls(float_layers(model, x.to(device)), **{**options_of(model, options), **options})
        for module in chain.modules():
            if not isinstance(module, MODAL):
                module.training = model.training
        measure(chain, batches)
        return chain

    def _refuse_change(self) -> None:
        raise lib.BadInput("QuantizedSequential: its layers cannot be changed; make a new QuantizedSequential of them")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Module) and "_measured" in self.__dict__:
            self._refuse_change()
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._modules:
            self._refuse_change()
        super().__delattr__(name)

    def add_module(self, name: str, module: Any) -> None:
        if "_measured" in self.__dict__:
            self._refuse_change()
        super().add_module(name, module)

    def insert(self, index: int, module: Any) -> Any:
        return self._refuse_change()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise lib.BadInput("QuantizedSequential: a part of a chain has no scales of its own; make a new QuantizedSequential of "
                               "its layers")
        return super().__getitem__(index)

    def _replicate_for_data_parallel(self) -> Any:
        raise lib.Unsupported("QuantizedSequential: DataParallel does not divide a chain; use DistributedDataParallel")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """y of x [B, C, H, W], or [B, K] where the first layer is a Linear: float32, float16 or bfloat16."""
        if "torch._dynamo" in sys.modules and hasattr(torch, "compiler"):  # for torch.compile; importing it takes a second
            return torch.compiler.disable(_computed)(self, x)
        return _computed(self, x)

    def compute(self, x: torch.Tensor) -> torch.Tensor:
        """forward(), which torch.compile calls as it is."""
        x = x.resolve_neg()
        self._check(x)
        parameters = [parameter for step in self._plan.convolutions() for parameter in step.parameters()]
        keep = torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in (x, *parameters))
        with torch.autocast(x.device.type, enabled=False):
            if keep:
                y = _Chain.apply(self, x, *parameters)
            else:
                y = self.channels_first(runs.forward(self.new_run(x), self.channels_last(x), False))
        if self.training:
            self._measured = True
        return y

    def _check(self, x: torch.Tensor) -> None:
        for layer in self._layers:
            if layer._forward_hooks or layer._forward_pre_hooks:
                raise lib.Unsupported(f"QuantizedSequential: a {type(layer).__name__} has a hook, which a chain does not call; "
                                      "allowed: hooks of the chain itself")
        rank = 2 if self._plan.flat_input else 4
        if x.dim() != rank or x.dtype not in TYPES:
            raise lib.BadInput(f"QuantizedSequential: x is {x.dtype} with {x.dim()} dimensions; allowed: float32, float16 and "
                               f"bfloat16 with {rank}")
        if self.levels_scale.dtype is not torch.float32:
            raise lib.BadInput(f"QuantizedSequential: its buffers are {self.levels_scale.dtype}; allowed: float32, so leave out "
                               "half() and to(dtype)")
        if self.training and x.numel() == 0:
            raise lib.BadInput(f"QuantizedSequential: x has the shape {tuple(x.shape)}; a training step needs one picture")
        if not self.training and not self.is_measured():
            raise lib.BadInput("QuantizedSequential: its scales are not known before the first step in training mode; run one")

    def __getstate__(self) -> Dict[str, Any]:
        """Without sizes of workspaces, which are of this library and device."""
        return {**self.__dict__, "_sizes": {}}

    def is_measured(self) -> bool:
        """Whether its scales are known."""
        if self._measured is None:
            self._measured = bool((self.levels_state[1:, 2] > 0).all())
        return self._measured

    def new_run(self, x: torch.Tensor) -> runs.Run:
        """A pass over x."""
        buffers = runs.Buffers(self.levels_state, self.levels_scale, self._spans, self._lowest, self._ones, self._folded)
        if len(self._sizes) > 100:
            self._sizes.clear()
        sizes = self._sizes.setdefault((x.shape, x.device), {})
        return runs.Run(self._plan, self._settings, buffers, self.training, self.is_measured(), sizes)

    def channels_last(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, None, None] if self._plan.flat_input else x.permute(0, 2, 3, 1)

    def channels_first(self, y: torch.Tensor) -> torch.Tensor:
        return y[:, 0, 0] if self._plan.flat_output else y.permute(0, 3, 1, 2)

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, local_metadata: Any, strict: bool,
                              missing_keys: List[str], *rest: Any) -> None:
        """A float network's state_dict has no scales: they are measured then."""
        found: List[str] = []
        fixed = self.levels_scale[0].clone() if self._settings.input.scale_kind == calls.GIVEN else None
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, found, *rest)
        names = {prefix + "levels_state", prefix + "levels_scale"}
        if names <= set(found):
            found = [key for key in found if key not in names]
            self.levels_state.zero_()
        missing_keys += found
        self._measured = None
        # The state of a chain with other options has the same ranges, but other scales.
        with torch.no_grad():
            ranges, own = self.levels_state[:, :2], self._spans.to(self.levels_state.device)
            scales = arithmetic.scales_of(ranges, own, self._settings.power_of_two)
            seen = self.levels_state[:, 2] > 0
            seen[0] = False  # qsim_observe() made it
            self.levels_scale.copy_(torch.where(seen, scales, self.levels_scale))
            if fixed is not None:
                self.levels_scale[0] = fixed
