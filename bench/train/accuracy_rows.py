"""What accuracy.py keeps of its runs, a JSON object a line, and what is said of them: means over seeds, and distances from float."""
import json
import math
import statistics

SCHEMA = "qsim.bench.train.accuracy/1"
ALLOWED_BELOW = {8: 0.3, 4: 1.0}  # points of top-1, by bits of weights
RECIPE = ("network", "recipe", "epochs", "batch_size", "rate", "average", "dropout")  # how a network is trained
COMMON = (*RECIPE, "dataset", "size", "test", "counted", "device", "pytorch")  # what makes runs comparable
HEADER = ("layers", "seeds", "right, a seed each", "top-1, mean", "standard deviation", "below float, points", "standard error", "seconds a run")


def read_lines(text):
    """The runs of a file. ValueError where a line is no result, or of another program."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            raise ValueError(f"line {number} is no JSON object") from None
        schema = found.get("schema") if isinstance(found, dict) else None
        if schema != SCHEMA:
            raise ValueError(f"line {number} has the schema {schema!r}; allowed: {SCHEMA}")
        lines.append(found)
    return lines


def together(lines):
    """Lists of the runs that are comparable, in the order of their first ones."""
    groups = {}
    for line in lines:
        groups.setdefault(tuple(line[name] for name in COMMON), []).append(line)
    return list(groups.values())


def by_variant(lines):
    """{variant: {seed: run}}, both in order; variants of float first."""
    order = list(dict.fromkeys(line["variant"] for line in sorted(lines, key=lambda line: line["weight_bits"] is not None)))
    return {name: {line["seed"]: line for line in sorted(lines, key=lambda line: line["seed"]) if line["variant"] == name} for name in order}


def top1(run):
    return 100 * run["correct"] / run["pictures"]


def below(first, runs):
    """Points below the first variant, of the seeds that both have."""
    return [top1(first[seed]) - top1(run) for seed, run in runs.items() if seed in first]


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else None


def shown(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def rows(lines):
    """Cells of HEADER, a row a variant. Distances are from the first variant, where that is a float one."""
    variants = by_variant(lines)
    first = next(iter(variants.values()))
    is_float = next(iter(first.values()))["weight_bits"] is None
    for at, (name, runs) in enumerate(variants.items()):
        found = [top1(run) for run in runs.values()]
        apart = below(first, runs) if at and is_float else []
        error = spread(apart)
        yield [name, str(len(found)), ", ".join(f"{run['correct']:,}" for run in runs.values()), f"{statistics.mean(found):.2f}%",
               shown(spread(found)), shown(statistics.mean(apart) if apart else None),
               shown(None if error is None else error / math.sqrt(len(apart))),
               shown(statistics.mean(run["seconds"] for run in runs.values()), 1)]


def verdicts(lines):
    """Whether each integer variant is near enough to the first one, if that is float."""
    variants = by_variant(lines)
    reference, first = next(iter(variants.items()))
    if next(iter(first.values()))["weight_bits"] is not None:
        return
    for name, runs in variants.items():
        allowed = ALLOWED_BELOW.get(next(iter(runs.values()))["weight_bits"])
        apart = below(first, runs)
        if allowed is not None and apart:
            points = statistics.mean(apart)
            yield f"{name}: {points:.2f} points below {reference}, {'within' if points <= allowed else 'NOT within'} {allowed}"


def table(lines):
    """Markdown."""
    return ["| " + " | ".join(HEADER) + " |", "|---" * len(HEADER) + "|", *("| " + " | ".join(row) + " |" for row in rows(lines))]
