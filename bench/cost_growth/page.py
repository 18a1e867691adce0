#!/usr/bin/env python3
"""Writes the tables of docs/measurements/performance.md on how the cost grows, from a results file.

usage: page.py RESULTS.json [--check]
--check only says whether the page has this file's tables (exit code 1 if not). The page's prose is kept: what is
between the two marks is written anew. Exit codes: 0; 1 the page differs; 2 usage; 3 no such results, or incomplete ones.
"""
import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("bench/common", "bench/cost_growth"):
    sys.path.insert(0, str(ROOT / folder))

import machine  # noqa: E402  pylint: disable=wrong-import-position
import points as growth  # noqa: E402  pylint: disable=wrong-import-position
import results  # noqa: E402  pylint: disable=wrong-import-position

PAGE = ROOT / "docs/measurements/performance.md"
BEGIN = "<!-- written by bench/cost_growth/page.py: begin -->"
END = "<!-- written by bench/cost_growth/page.py: end -->"
# Where the quantity on the right grows by less than this factor, no exponent can be told: noise would decide.
LEAST_GROWTH = 1.5


def milliseconds(seconds):
    return f"{seconds * 1e3:.4g}"


def megabytes(count):
    return f"{count / 1e6:,.0f}" if abs(count) >= 10e6 else f"{count / 1e6:.1f}"


def markdown(titles, rows, words):
    """The first columns are words, the others numbers."""
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * words + "---:|" * (len(titles) - words)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def points_table(points):
    rows = [(p.network, p.array, megabytes(p["model"]), f"{p['commands']:,}", milliseconds(p["simulate_with_data"]),
             milliseconds(p["simulate_time_only"]), milliseconds(p["compile"]), milliseconds(p["process_with_data"]),
             megabytes(p["peak_memory_time_only"]), megabytes(p["peak_memory_verified"])) for p in points]
    return markdown(("network", "array", "model, MB", "commands", "simulate, ms", "time only", "compile", "process",
                     "peak, time only, MB", "peak, golden"), rows, words=2)


def growth_table(points):
    """The last step is the one that says where it goes: in small pictures the fully connected layers, which
    do not shrink with the picture, are most of the work."""
    pictures = growth.vgg16_pictures(points)
    fits = (("simulate", "simulate_with_data", "MACs", "macs"), ("time only", "simulate_time_only", "commands", "commands"),
            ("compile", "compile", "model", "model"), ("process", "process_with_data", "MACs", "macs"),
            ("peak, golden", "peak_memory_verified", "model", "model"))
    rows = []
    for what, key, against, against_key in fits:
        told = [growth.exponent(series, key, against_key) if growth.spans(series, against_key) >= LEAST_GROWTH else None
                for series in (pictures, pictures[-2:])]
        rows.append((what, against, *("-" if exponent is None else f"{exponent:.2f}" for exponent in told)))
    return markdown(("exponent", "against", "32 to 448", "224 to 448"), rows, words=2)


def over_text(point):
    return f"{point.network} on {point.array} (+{megabytes(growth.over_model(point))} MB)"


def memory_sentence(points):
    """Where the bound is missed comes first: a page that only named the worst could hide the others."""
    missed = [p for p in points if growth.over_model(p) > growth.ALLOWED_OVER_MODEL]
    met = [p for p in points if p not in missed]
    bound = f"The bound of the model and {megabytes(growth.ALLOWED_OVER_MODEL)} MB, golden included, is"
    most = f"the most there is {over_text(max(met, key=growth.over_model))}." if met else ""
    if not missed:
        return f"{bound} met at all {len(points)} points; {most}"
    where = ", ".join(map(over_text, sorted(missed, key=growth.over_model, reverse=True)))
    return f"{bound} missed by {where}. " + (f"It is met at the other {len(met)} points; {most}" if met else "")


def provenance(measured):
    dirty = " with uncommitted changes" if measured["dirty"] else ""
    about = measured["machine"]
    return (f"Measured on {about['cpu']}, {about['cores']} cores, {about.get('system', 'unknown')}, "
            f"{about['compiler']}; commit {measured['commit'][:12]}{dirty}, {measured['date'][:10]}.")


def generated(measured):
    points = growth.points_of(measured["figures"])
    return "\n\n".join((provenance(measured), points_table(points), memory_sentence(points), growth_table(points)))


def page_with(text, part):
    """The page's text with the generated part replaced; ValueError where the marks are not there once."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE}: the marks of the generated part are missing")
    return f"{before}{BEGIN}\n{part}\n{END}{after}"


def write(measured, file=PAGE):
    results.replace_file(file, page_with(file.read_text(encoding="utf8"), generated(measured)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    try:
        measured = results.load(args.results)
        growth.points_of(measured["figures"])
    except (results.BadResults, growth.Incomplete) as error:
        print(f"page.py: {error}", file=sys.stderr)
        return 3
    if args.check:
        text = PAGE.read_text(encoding="utf8")
        if page_with(text, generated(measured)) == text:
            return 0
        print(f"{PAGE.relative_to(ROOT)} does not have the tables of {args.results}; run "
              f"bench/cost_growth/page.py {args.results}", file=sys.stderr)
        return 1
    write(measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
