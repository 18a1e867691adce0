"""One pass of a QuantizedSequential forward: the levels of each tensor, and what the backward pass needs of it.

forward() calls a function for each step of the plan. A step whose scale is to be measured computes twice: each in the first
step of training, and the last layer in each one.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, cast

from .. import _convolutions as convolutions
from .. import _library as lib
from .._torch_operations import nhwc, torch
from .._training import calls
from . import levels as arithmetic
from . import norm as normalization
from . import plan as plans

nn = torch.nn
Shape = Tuple[int, int, int, int]
Tensors = List[Optional[torch.Tensor]]
OBSERVERS = {arithmetic.LAST: calls.LAST, arithmetic.ALL: calls.ALL, arithmetic.AVERAGE: calls.AVERAGE}


class Settings(NamedTuple):
    """The options of a QuantizedSequential."""
    weights: calls.Levels
    input: calls.Levels
    power_of_two: bool
    observer: str
    momentum: float


class Buffers(NamedTuple):
    """What a QuantizedSequential remembers, a row for each scale."""
    state: torch.Tensor  # float32 [rows, 3], of qsim_observe
    scales: torch.Tensor  # float32 [rows]
    spans: torch.Tensor  # float32 [rows]: levels above 0
    lowest: torch.Tensor  # int32 [1]: -128
    ones: torch.Tensor  # float32 [rows]
    folded: torch.Tensor  # bool [rows]: of a convolution that does not measure its scale, but in the first pass


class Run:
    """levels, scales, passes and shapes (of NHWC) by the numbers of the plan's tensors; kept: by step, for the backward pass.

    sizes: bytes of workspaces, for all passes of this x's shape.
    """

    def __init__(self, plan: plans.Plan, settings: Settings, buffers: Buffers, training: bool, measured: bool,
                 sizes: Dict[Any, int]):
        self.plan, self.settings, self.buffers = plan, settings, buffers
        self.training, self.measured, self.sizes = training, measured, sizes
        self.rows = buffers.scales.clone()  # the backward pass needs those of this pass
        self.row_views = self.rows.split(1)
        self.ranges = torch.empty((plan.rows, 2), dtype=torch.float32, device=self.rows.device)  # each training pass writes all
        self.range_views = self.ranges.unbind()
        count = len(plan.values)
        self.levels: Tensors = [None] * count
        self.passes: Tensors = [None] * count
        self.scales: Tensors = [None] * count  # of tensors whose scale is not their row's
        self.shapes: List[Any] = [None] * count
        self.kept: List[Tensors] = [[] for _ in plan.steps]
        self.batch_statistics: Dict[int, bool] = {}  # by the id of a step

    def is_measuring(self, y: int) -> bool:
        """Whether the scale of y is that of this pass."""
        output = self.plan.values[self.plan.output].row
        return self.training and (not self.measured or self.plan.values[y].row == output)

    def scale(self, y: int) -> torch.Tensor:
        """[1]: the scale of a tensor."""
        known = self.scales[y]
        return self.row_views[self.plan.values[y].row] if known is None else known

    def at(self, step: plans.Step, *more: Any) -> Any:
        """Where the workspace of a step's call is noted whose shapes follow from x's, and from `more`."""
        return self.sizes, (step.y, *more)

    def point(self, y: int) -> Optional[torch.Tensor]:
        return self.buffers.lowest if self.plan.values[y].zero_point else None

    def given(self, x: int) -> torch.Tensor:
        """The levels of a tensor that an earlier step made."""
        return cast(torch.Tensor, self.levels[x])

    def saw(self, y: int, reals: torch.Tensor) -> None:
        """reals [2]: the range of y's real numbers. Where the scale is measured, it follows."""
        row = self.plan.values[y].row
        self.range_views[row].copy_(reals)
        if self.is_measuring(y):
            self.row_views[row].copy_(arithmetic.scales_of(
                self.ranges[row:row + 1], self.buffers.spans[row:row + 1], self.settings.power_of_two))

    def make(self, y: int, shape: Shape) -> Tuple[torch.Tensor, torch.Tensor]:
        """Memory for the levels and bits of a tensor [B, H, W, C]."""
        count = shape[0] * shape[1] * shape[2] * shape[3]
        levels = torch.empty(shape, dtype=torch.int8, device=self.rows.device)
        passes = torch.empty((count + 7) // 8, dtype=torch.uint8, device=self.rows.device)
        self.levels[y], self.passes[y], self.shapes[y] = levels, passes, shape
        return levels, passes

    def same(self, step: plans.Step, levels: torch.Tensor) -> None:
        """The step keeps the scale of what it reads."""
        self.put(step.y, levels)
        self.scales[step.y] = self.scales[step.x]

    def put(self, y: int, levels: torch.Tensor, passes: Optional[torch.Tensor] = None) -> None:
        self.levels[y], self.passes[y], self.shapes[y] = levels, passes, tuple(levels.shape)


def _input(run: Run, x: torch.Tensor) -> None:
    settings, buffers = run.settings, run.buffers
    if run.training and settings.input.scale_kind != calls.GIVEN:
        calls.observe(x, OBSERVERS[settings.observer], settings.momentum, settings.input, buffers.state[0], run.row_views[0], None)
    levels, passes = run.make(0, cast(Shape, tuple(x.shape)))
    calls.quantize_levels(x, settings.input, run.row_views[0], None, levels, passes, None)


def _weights(step: plans.Convolution) -> torch.Tensor:
    """[O, kh, kw, C / groups]"""
    weight = step.layer.weight
    if weight.dtype is not torch.float32:
        raise lib.BadInput(f"QuantizedSequential: the weights of layer {step.name} are {weight.dtype}; allowed: float32")
    return nhwc(weight, step.name) if weight.dim() == 4 else weight[:, None, None]


def _ones(step: plans.Convolution, channels: int, device: torch.device) -> Tuple[torch.Tensor, torch.Tensor]:
    """An average pool's weights: 1, of the scale 1 / size."""
    height, width = plans.pair(step.layer.kernel_size)
    levels = torch.ones((channels, height, width, 1), dtype=torch.int8, device=device)
    return levels, torch.full((channels,), 1 / (height * width), dtype=torch.float32, device=device)


def conv_of(run: Run, step: plans.Convolution, w: torch.Tensor) -> calls.LevelConv:
    """The convolution of a step, of levels w."""
    x = run.levels[step.x]
    q = calls.shape_alone(run.shapes[step.x], w) if x is None else x
    return calls.LevelConv(q, run.point(step.x), w, step.window, step.groups or w.shape[0])


def _convolve(run: Run, step: plans.Convolution, kept: Tensors) -> None:
    x, layer = run.given(step.x), step.normalization
    if isinstance(step.layer, nn.AvgPool2d):
        reals = None
        w, w_scales = _ones(step, x.shape[3], x.device)
    else:
        reals = _weights(step)
        w = torch.empty(reals.shape, dtype=torch.int8, device=x.device)
        w_scales = torch.empty(reals.shape[0], dtype=torch.float32, device=x.device)
    reads = w.shape[3] * (step.groups or w.shape[0])
    if x.shape[3] != reads:
        raise lib.BadInput(f"QuantizedSequential: layer {step.name} reads {reads} channels; its input has {x.shape[3]}")
    size = convolutions.output_size(step.window, x.shape[1:3], w.shape[1:3])
    shape = (x.shape[0], *size, w.shape[0])
    kept += [w, w_scales]
    norm, given = None, normalization.NONE
    if layer is not None:
        run.batch_statistics[id(step)] = layer.training
        given = normalization.given(step.name, layer, shape[0] * shape[1] * shape[2])
        norm = torch.empty((5, shape[3]), dtype=torch.int64, device=x.device)
        kept.append(norm)
    row, measures = run.plan.values[step.y].row, run.is_measuring(step.y)
    levels, passes = run.make(step.y, shape)
    flags = (layer is not None and layer.training, step.relu, run.settings.power_of_two)
    calls.chain_forward(
        conv_of(run, step, w), reals, run.settings.weights, w_scales, run.scale(step.x), normalization.vector(step.name, "the bias", getattr(step.layer, "bias", None)), norm,
        given, run.point(step.y), run.row_views[row], run.range_views[row] if run.training else None,
        run.buffers.spans[row:row + 1] if measures else None, flags, levels, passes,
        run.at(step, None if reals is None else reals.stride(), flags[0], measures, run.training))


def _max_pool(run: Run, step: plans.MaxPool, _kept: Tensors) -> None:
    x = run.given(step.x)
    size = convolutions.output_size(step.window, x.shape[1:3], step.kernel)
    y = torch.empty((x.shape[0], *size, x.shape[3]), dtype=torch.int8, device=x.device)
    calls.max_pool_levels(x, *step.kernel, step.window, y, run.at(step))
    run.same(step, y)


def _global_average(run: Run, step: plans.GlobalAverage, _kept: Tensors) -> None:
    x = run.given(step.x)
    size = x.shape[1] * x.shape[2]
    zx, zy = run.plan.values[step.x].zero_point, run.plan.values[step.y].zero_point
    sums = (x.sum((1, 2), keepdim=True, dtype=torch.int32) - zx * size).float()
    if run.training:
        share = run.scale(step.x) / run.rows.new_full((1,), size)  # as norm.of_batch: not by a number
        run.saw(step.y, arithmetic.range_of(sums * share, False))
    levels, passes = arithmetic.average_levels(sums, size, run.scale(step.x), run.scale(step.y), zy)
    run.put(step.y, levels, arithmetic.pack_bits(passes))


def _add(run: Run, step: plans.Add, _kept: Tensors) -> None:
    a, b = run.given(step.x), run.given(step.other)
    if a.shape != b.shape:
        raise lib.BadInput(f"QuantizedSequential: layer {step.name} adds tensors of the shapes {tuple(a.shape)} and "
                           f"{tuple(b.shape)}; allowed: equal shapes, [B, H, W, C]")
    za, zb, zy = (run.plan.values[value].zero_point for value in (step.x, step.other, step.y))
    scales = run.scale(step.x), run.scale(step.other)
    pairs = arithmetic.pairs_of(a, b)
    if run.training:
        reals = arithmetic.real_sums(scales, (za, zb))
        run.saw(step.y, arithmetic.range_of(reals.index_select(0, pairs), step.relu))
    table = arithmetic.add_table((*scales, run.scale(step.y)), (za, zb, zy), step.relu)
    passes = arithmetic.pack_bits(table.passes.index_select(0, pairs))
    run.put(step.y, table.levels.index_select(0, pairs).view(a.shape), passes)


def _flatten(run: Run, step: plans.Flatten, _kept: Tensors) -> None:
    x = run.given(step.x)
    features = x.shape[1] * x.shape[2] * x.shape[3]
    run.same(step, x.permute(0, 3, 1, 2).reshape(x.shape[0], 1, 1, features))


def _drop(run: Run, step: plans.Dropout, kept: Tensors) -> None:
    """In training some levels become the zero_point, and the scale of the others is larger."""
    x = run.given(step.x)
    if not (step.layer.training and step.layer.p > 0):
        run.same(step, x)
        return
    keeps = torch.rand(x.shape, device=x.device) >= step.layer.p
    run.put(step.y, x.masked_fill(~keeps, run.plan.values[step.x].zero_point))
    run.scales[step.y] = run.scale(step.x) / run.rows.new_full((1,), 1 - step.layer.p)
    kept.append(arithmetic.pack_bits(keeps))


_STEPS: Dict[type, Callable[[Run, Any, Tensors], None]] = {
    plans.Convolution: _convolve, plans.MaxPool: _max_pool, plans.GlobalAverage: _global_average, plans.Add: _add,
    plans.Flatten: _flatten, plans.Dropout: _drop,
}


@torch.no_grad()
def forward(run: Run, x: torch.Tensor, keep: bool) -> torch.Tensor:
    """y of x [B, H, W, C] (real, any strides): float32 [B, OH, OW, O]. keep: for the backward pass."""
    _input(run, x)
    left = [value.uses for value in run.plan.values]
    later = run.plan.read_backward() if keep else set()
    for step, kept in zip(run.plan.steps, run.kept):
        _STEPS[type(step)](run, step, kept)
        for read in {step.x, getattr(step, "other", step.x)}:
            left[read] -= 1
            if left[read] <= 0 and read not in later:
                run.levels[read] = None
        if not keep:
            kept.clear()
    if run.training:
        _observe(run)
    output = run.plan.output
    levels = run.given(output)
    run.levels[output] = levels if output in later else None
    point = run.plan.values[output].zero_point
    return (levels.float() - point if point else levels) * run.scale(output)


def _observe(run: Run) -> None:
    """The scales of the next pass. Ranges of folded convolutions are in units of their scale."""
    settings, buffers = run.settings, run.buffers
    units = torch.where(buffers.folded, run.rows, buffers.ones) if run.measured else buffers.ones
    calls.observe_rows(run.ranges, units, buffers.spans, OBSERVERS[settings.observer], settings.momentum, settings.power_of_two,
                       buffers.state, run.row_views[0], buffers.scales)
