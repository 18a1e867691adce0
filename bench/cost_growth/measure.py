#!/usr/bin/env python3
"""How qsim's time and memory grow with the network, the picture and the array: every point is 9 processes
with data (--no-verify) and 9 without (--no-data), and one as qsim comes, golden included, for its memory.

usage: measure.py BUILD_DIR       Figures on stdout, JSON a line; progress on stderr.
"""
import json
import pathlib
import subprocess
import sys

import networks

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/common"))
from emit import emit  # noqa: E402  pylint: disable=wrong-import-position
from figure import Figure, median_figure  # noqa: E402  pylint: disable=wrong-import-position

RUNS = 9


class Failed(Exception):
    """A program did not end with exit code 0."""


def output_of(command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, encoding="utf8", check=False)
    if done.returncode != 0:
        raise Failed(f"exit code {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


class Point:
    def __init__(self, build, network, array):
        self.network = network
        self.name = f"cost_growth/{network.name}/{array}"
        self.build = build
        self.folder = build / "cost_growth"
        self.config = self.write_config(array)
        self.model = self.folder / f"{network.name}.yaml"
        self.model.write_text(network.workload(), encoding="utf8")

    def write_config(self, array):
        file = ROOT / f"configs/{array}.yaml"
        if file.is_file():
            return file
        file = self.folder / f"{array}.yaml"
        tpu = (ROOT / "configs/tpu128x128.yaml").read_text(encoding="utf8")
        file.write_text(networks.pe64x64(tpu), encoding="utf8")
        return file

    def run_once(self, mode):
        """Wall seconds and peak memory of the process, and its own JSON."""
        report = self.folder / "run.json"
        lines = output_of([self.build / "bin/process_cost", "--runs", 1, self.build / "qsim", "--config",
                           self.config, "--model", self.model, *mode, "--quiet", "--json", report])
        wall, memory = (json.loads(line)["value"] for line in lines.splitlines())
        return wall, memory, json.loads(report.read_text(encoding="utf8"))

    def emit_samples(self, what, samples, kind):
        emit(median_figure(f"{self.name}/{what}", samples, {"time": "s", "memory": "bytes"}[kind], kind))

    def emit_count(self, what, value, unit):
        emit(Figure(f"{self.name}/{what}", value, unit, "count", 1, (value, value)))

    def measure_mode(self, mode, word):
        runs = [self.run_once([mode]) for _ in range(RUNS)]
        self.emit_samples(f"process_{word}", [wall for wall, _, _ in runs], "time")
        self.emit_samples(f"simulate_{word}", [run["wall_seconds"] for _, _, run in runs], "time")
        self.emit_samples(f"peak_memory_{word}", [memory for _, memory, _ in runs], "memory")
        return [run for _, _, run in runs]

    def measure_verified(self):
        """Memory of a default run, which differs less than a percent from run to run: once."""
        _, memory, run = self.run_once([])
        if run["verify"]["values"] == 0 or run["verify"]["mismatches"] != 0:
            raise Failed(f"{self.name}: a default run that was not compared, or has mismatches")
        self.emit_samples("peak_memory_verified", [memory], "memory")

    def measure(self):
        self.measure_verified()
        self.measure_mode("--no-verify", "with_data")
        runs = self.measure_mode("--no-data", "time_only")
        for phase in ("import", "compile"):
            self.emit_samples(phase, [run["phase_seconds"][phase] for run in runs], "time")
        compiled = json.loads(output_of([self.build / "qsim", "compile", "--config", self.config, "--model",
                                         self.model, "--quiet", "--json", "-"]))
        self.emit_count("macs", runs[0]["total"]["macs"], "MACs")
        self.emit_count("cycles", runs[0]["total"]["cycles"], "cycles")
        self.emit_count("commands", compiled["commands"], "commands")
        self.emit_count("model", self.network.model_bytes(), "bytes")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(sys.argv[1]).resolve()
    (build / "cost_growth").mkdir(exist_ok=True)
    points = networks.points()
    try:
        for number, (network, array) in enumerate(points, start=1):
            print(f"    point {number}/{len(points)}: {network.name} on {array}", file=sys.stderr, flush=True)
            Point(build, network, array).measure()
    except Failed as error:
        print(f"cost_growth: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
