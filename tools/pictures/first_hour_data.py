"""What the pictures of docs/guide/first_hour.md show: a few counts of three runs of qsim.

Counts alone, no times, so the same on every machine.
"""

import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "configs" / "pe16x16.yaml"
NARROW_BUS_BYTES = 4
PICTURES_AT_A_TIME = 16


def with_bus(text, bus_bytes):
    """The configuration's text with another bus; the guide does the same with sed."""
    lines = text.splitlines()
    found = [i for i, line in enumerate(lines) if line.startswith("bus_bytes:")]
    if len(found) != 1:
        raise SystemExit(f"first_hour: {BASE} has {len(found)} lines with bus_bytes, not one")
    lines[found[0]] = f"bus_bytes: {bus_bytes}"
    return "\n".join(lines) + "\n"


def run(qsim, config, batch=1):
    """The counts of one run that the pictures need."""
    command = [str(qsim), "--config", str(config), "--batch", str(batch), "--no-data", "--quiet", "--json", "-"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    keys = ("name", "macs", "cycles", "dram_read_bytes", "array_time_pe_cycles")
    return {
        "array_rows": report["config"]["array_rows"],
        "array_cols": report["config"]["array_cols"],
        "bus_bytes": report["config"]["bus_bytes"],
        "batch": batch,
        "layers": [{key: layer[key] for key in keys} for layer in report["layers"]],
        "total": {key: report["total"][key] for key in keys[1:]},
    }


def measure(qsim):
    with tempfile.TemporaryDirectory() as folder:
        narrow = Path(folder) / "narrow.yaml"
        narrow.write_text(with_bus(BASE.read_text(), NARROW_BUS_BYTES))
        return {
            "pe16x16": run(qsim, BASE),
            "narrow": run(qsim, narrow),
            "batch": run(qsim, BASE, PICTURES_AT_A_TIME),
        }
