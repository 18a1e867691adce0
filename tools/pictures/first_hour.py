#!/usr/bin/env python3
"""Writes the pictures of docs/guide/first_hour.md, and the counts that they show, from what qsim prints.

usage: first_hour.py QSIM           write docs/pictures/first_hour.json and the two .svg; needs python3-matplotlib
       first_hour.py --check QSIM   say whether they are current (exit code 1 where not); without matplotlib of the
                                    version that drew them, only that counts and pictures belong together
"""

import argparse
import hashlib
import importlib
import json
import sys
from pathlib import Path

import first_hour_data

FOLDER = first_hour_data.ROOT / "docs" / "pictures"
DATA = "first_hour.json"
PICTURES = ("first_hour_array_time.svg", "first_hour_limits.svg")


def as_text(data):
    """JSON with a line a layer, so that a change is easy to review."""
    runs = []
    for name, run in data.items():
        layers = ",\n".join("      " + json.dumps(layer) for layer in run["layers"])
        rest = {key: value for key, value in run.items() if key != "layers"}
        fields = "".join(f"    {json.dumps(key)}: {json.dumps(value)},\n" for key, value in rest.items())
        runs.append(f"  {json.dumps(name)}: {{\n{fields}    \"layers\": [\n{layers}\n    ]\n  }}")
    return "{\n" + ",\n".join(runs) + "\n}\n"


def drawn_from(text):
    """What a picture says about the counts that it was drawn from."""
    return f"{DATA} sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def drawer():
    """The module that draws; None where matplotlib is not installed."""
    try:
        return importlib.import_module("first_hour_draw")
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        return None


def write(text):
    draw = drawer()
    if draw is None:
        raise SystemExit("first_hour: drawing needs matplotlib (Debian: python3-matplotlib)")
    FOLDER.mkdir(exist_ok=True)
    pictures = {name: draw.PICTURES[name](json.loads(text), drawn_from(text)) for name in PICTURES}
    for name, content in {DATA: text, **pictures}.items():
        (FOLDER / name).write_text(content)
        print(f"wrote {FOLDER / name}")


def check(text):
    """What is not current, in words; empty where all is."""
    if not (FOLDER / DATA).is_file():
        return [f"{DATA} is not there"]
    stale = []
    if json.loads((FOLDER / DATA).read_text()) != json.loads(text):
        stale.append(f"{DATA} is not what qsim prints now")
    draw = drawer()
    for name in PICTURES:
        kept = (FOLDER / name).read_text() if (FOLDER / name).is_file() else ""
        if drawn_from(text) not in kept:
            stale.append(f"{name} was not drawn from what qsim prints now")
        elif draw is None or f"Matplotlib v{draw.matplotlib.__version__}," not in kept:
            print(f"{name}: its lines are not compared, since the matplotlib that drew it is not here")
        elif draw.PICTURES[name](json.loads(text), drawn_from(text)) != kept:
            stale.append(f"{name} is not what the script draws now")
    return stale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qsim", type=Path, metavar="QSIM")
    parser.add_argument("--check", action="store_true", help="compare with what is there")
    arguments = parser.parse_args()
    text = as_text(first_hour_data.measure(arguments.qsim.resolve()))
    if not arguments.check:
        write(text)
        return 0
    stale = check(text)
    for line in stale:
        print(f"FAILED: {line}")
    if stale:
        print("tools/pictures/first_hour.py QSIM writes them anew")
        return 1
    print("the pictures of the guide are current")
    return 0


if __name__ == "__main__":
    sys.exit(main())
