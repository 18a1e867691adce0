"""Results files for the tests of bench/, and the way to bench's modules."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("bench", "bench/common", "bench/instructions", "bench/cost_growth"):
    sys.path.insert(0, str(ROOT / folder))

MACHINE = {"cpu": "Test CPU, family 1, model 2", "cores": 2, "vector_instructions": ["avx2"],
           "compiler": "g++ 12.2.0", "build_type": "Release"}


def figure(name="systemc/vgg8", value=1.0, kind="time", **changes):
    """A figure as JSON; `changes` replace or, with None, remove keys."""
    units = {"time": "s", "ratio": "1", "memory": "bytes", "instructions": "instructions", "count": "commands"}
    json = {"name": name, "value": value, "unit": units.get(kind, "s"), "kind": kind, "runs": 9,
            "spread": [value, value]}
    if kind == "instructions":
        json["tool"] = "callgrind"
    json.update(changes)
    return {key: item for key, item in json.items() if item is not None}


def results(*figures, **changes):
    """A results file as JSON; its benches are those of its figures."""
    names = {item["name"].split("/")[0] for item in figures}
    json = {"schema": "qsim.bench/1", "commit": "0123456789abcdef", "dirty": False,
            "date": "2026-01-02T03:04:05Z", "machine": dict(MACHINE), "complete": True,
            "benches": {name: "ran" for name in names}, "figures": list(figures)}
    json.update(changes)
    return {key: item for key, item in json.items() if item is not None}
