"""One measured figure, as every benchmark reports it: a JSON object a line (bench/README.md)."""
import math
import re
from dataclasses import dataclass

KINDS = ("time", "ratio", "instructions", "memory", "count")
UNIT_OF_KIND = {"time": "s", "ratio": "1", "instructions": "instructions", "memory": "bytes"}
LEAST_TIMED_RUNS = 9
NAME = re.compile(r"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)+")
REQUIRED = {"name", "value", "unit", "kind", "runs", "spread"}


class BadFigure(ValueError):
    """Not a figure; the text says what is wrong."""


@dataclass(frozen=True)
class Figure:
    """`tool`: what counted the instructions; counts of different tools are never compared."""
    name: str
    value: float
    unit: str
    kind: str
    runs: int
    spread: tuple  # lower and upper quartile
    tool: str = ""

    def as_json(self):
        json = {"name": self.name, "value": self.value, "unit": self.unit, "kind": self.kind,
                "runs": self.runs, "spread": list(self.spread)}
        return {**json, "tool": self.tool} if self.tool else json


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check(condition, text):
    if not condition:
        raise BadFigure(text)


def figure_of(json):
    """The figure that a parsed JSON object is; BadFigure where it is none."""
    check(isinstance(json, dict), "a figure is an object")
    missing = sorted(REQUIRED - json.keys())
    check(not missing, f"a figure without {', '.join(missing)}")
    unknown = sorted(json.keys() - REQUIRED - {"tool"})
    check(not unknown, f"a figure with the unknown key {', '.join(unknown)}")
    name = json["name"]
    check(isinstance(name, str) and NAME.fullmatch(name), f"a figure is called {name!r}")
    check(json["kind"] in KINDS, f"{name}: kind {json['kind']!r}; allowed: {', '.join(KINDS)}")
    unit = UNIT_OF_KIND.get(json["kind"], json["unit"])
    check(json["unit"] == unit and isinstance(unit, str) and unit,
          f"{name}: unit {json['unit']!r} of a {json['kind']}")
    check(is_number(json["value"]) and json["value"] >= 0, f"{name}: value {json['value']!r}")
    runs = json["runs"]
    check(isinstance(runs, int) and runs >= (LEAST_TIMED_RUNS if json["kind"] == "time" else 1),
          f"{name}: {runs!r} runs of a {json['kind']}")
    spread = json["spread"]
    check(isinstance(spread, list) and len(spread) == 2 and all(map(is_number, spread)) and
          spread[0] <= json["value"] <= spread[1], f"{name}: spread {spread!r}")
    tool = json.get("tool", "")
    check(isinstance(tool, str) and bool(tool) == (json["kind"] == "instructions"),
          f"{name}: tool {tool!r} of a {json['kind']}")
    return Figure(name, json["value"], unit, json["kind"], runs, tuple(spread), tool)


def median_figure(name, samples, unit, kind, tool=""):
    """As bench/common/figures.cpp: median and quartiles by rank."""
    ordered = sorted(samples)
    last = len(ordered) - 1
    return Figure(name, ordered[len(ordered) // 2], unit, kind, len(ordered),
                  (ordered[last // 4], ordered[last - last // 4]), tool)
