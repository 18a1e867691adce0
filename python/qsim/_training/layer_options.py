"""How a layer quantizes its input and its weights: the options of the modules, checked once."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Optional, Union

from .. import _library as lib
from .. import _operations as ops
from . import calls as tr

ROUNDINGS = {"half_even": tr.HALF_EVEN, "toward_zero": tr.TOWARD_ZERO}
SCALES = {"float": tr.MAX, "power_of_two": tr.POWER_OF_TWO, "learned": tr.GIVEN}
OBSERVERS = {"last": tr.LAST, "min_max": tr.ALL, "moving_average": tr.AVERAGE, "percentile": tr.AVERAGE}
LEAST_SCALE = 2.0**-126


@dataclasses.dataclass(frozen=True)
class LayerOptions:
    """bits: of the input's levels, 2 to 8, -2^(bits - 1) to 2^(bits - 1) - 1; weight_bits: of the weights', bits without.

    rounding: half_even or toward_zero (truncation). scale: "float" (the greatest level is the range's end), "power_of_two"
    (the next one above), "learned" (a parameter: learned step size), or a number, which is the input's fixed scale.
    observer: the range is that of the last input, of all ("min_max"), their "moving_average" with `momentum`, or the moving
    average of the `percentile` of |x|. zero_points: the input's range needs not be symmetric; with the scales "float" and
    "learned" alone. per_channel: a scale for each output channel's weights, else one for all.
    """

    bits: int = 8
    weight_bits: Optional[int] = None
    rounding: str = "half_even"
    scale: Union[str, float] = "float"
    observer: str = "last"
    momentum: float = 0.1
    percentile: float = 99.9
    zero_points: bool = False
    per_channel: bool = True

    def __post_init__(self) -> None:
        lib.whole("bits", self.bits, 2, 8)
        if self.weight_bits is not None:
            lib.whole("weight_bits", self.weight_bits, 2, 8)
        ops.word("rounding", self.rounding, ROUNDINGS)
        ops.word("observer", self.observer, OBSERVERS)
        share("momentum", self.momentum, 1)
        share("percentile", self.percentile, 100)
        if isinstance(self.scale, str):
            ops.word("scale", self.scale, SCALES)
        elif isinstance(self.scale, bool) or not isinstance(self.scale, (int, float)) or not LEAST_SCALE <= self.scale < float("inf"):
            raise lib.BadInput(f"scale is {self.scale}; allowed: {', '.join(SCALES)}, and numbers from 2^-126 on")
        flag("zero_points", self.zero_points)
        flag("per_channel", self.per_channel)
        if self.zero_points and self.scale not in ("float", "learned"):  # a scale of max|x| has no zero point
            raise lib.BadInput(f"zero_points with the scale {self.scale}; allowed: with the scales float and learned")

    @property
    def learned(self) -> bool:
        """Whether scales are parameters."""
        return self.scale == "learned"

    @property
    def fixed(self) -> bool:
        """Whether the input's scale is a number of the caller's."""
        return not isinstance(self.scale, str)

    @property
    def lo(self) -> int:
        """The input's least level."""
        return -2**(self.bits - 1)

    @property
    def hi(self) -> int:
        """The input's greatest level."""
        return 2**(self.bits - 1) - 1

    @property
    def weight_hi(self) -> int:
        """The weights' greatest level; the least is its negative."""
        return 2**((self.weight_bits or self.bits) - 1) - 1

    @property
    def rounding_code(self) -> int:
        """qsim_level_rounding"""
        return ROUNDINGS[self.rounding]

    @property
    def scale_kind(self) -> int:
        """qsim_scale_kind of the input."""
        if self.fixed:
            return tr.GIVEN
        return tr.AFFINE if self.zero_points and not self.learned else SCALES[str(self.scale)]

    @property
    def weight_kind(self) -> int:
        """qsim_scale_kind of the weights."""
        return tr.MAX if self.fixed else SCALES[str(self.scale)]

    def numbers(self) -> List[int]:
        """As operators.How."""
        return [self.lo, self.hi, self.weight_hi, self.rounding_code, self.weight_kind, int(self.per_channel),
                int(self.learned)]


def layer_options(given: Dict[str, Any]) -> LayerOptions:
    """The options of these names; refuses others."""
    known = [field.name for field in dataclasses.fields(LayerOptions)]
    for name in given:
        if name not in known:
            raise lib.BadInput(f"'{name}' is no option of a quantized layer; allowed: {', '.join(known)}")
    return LayerOptions(**given)


def flag(name: str, value: bool) -> None:
    """Refuses what is neither True nor False."""
    if not isinstance(value, bool):
        raise lib.BadInput(f"{name} is {value!r}; allowed: True and False")


def share(name: str, value: float, most: int) -> None:
    """Refuses a value that is not in 0..most, or 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= most:
        raise lib.BadInput(f"{name} is {value}; allowed: above 0, to {most}")
