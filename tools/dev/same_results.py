#!/usr/bin/env python3
"""Whether two builds of qsim give the same: for every shipped model and configuration the JSON of a run (cycles of
every layer, energies, causes) and the text of the program; for small models in each dataflow, with the bytes that
they compute.

usage: same_results.py OLD_QSIM NEW_QSIM [--only WORD]

Times and provenance may differ, nothing else. Exit code 0 when all is equal, 1 otherwise. Takes some minutes.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/system/meta"))
import times  # noqa: E402  pylint: disable=wrong-import-position

WITH_DATA = {"vgg8-cifar10", "resnet14-cifar10", "vgg8", "conv1x1", "conv3x3", "conv_odd", "fc", "fc_batch16",
             "maxpool_alone", "relu_alone"}
DATAFLOWS = ("ws", "os", "is", "auto")


def shipped():
    """(configurations, models) by their names."""
    configs = sorted(path.stem for path in (ROOT / "configs").glob("*.yaml"))
    models = sorted(path.stem for folder in ("workloads", "networks") for path in (ROOT / "models" / folder).glob("*.yaml"))
    return configs, models + ["vgg8-cifar10", "resnet14-cifar10"]


def without_provenance(text):
    try:
        report = json.loads(text)
    except ValueError:
        return text
    report.pop("provenance", None)
    return json.dumps(report)


def results(qsim, config, model, dataflow):
    """{what: text or digest} that this build gives for one case."""
    words = [qsim, "--config", config]
    same = ["--model", model, "--dataflow", dataflow, "--quiet"]
    environment = dict(os.environ, QSIM_GOLDEN="cpu")
    found = {}
    with tempfile.TemporaryDirectory() as name:
        commands = {"run": ["run", *same, "--energy", "horowitz-45nm", "--no-data", "--json", "-"],
                    "program": ["compile", *same, "--out", "-"]}
        if model in WITH_DATA:
            commands["data"] = ["run", *same, "--out", "out", "--json", "-"]
        for what, command in commands.items():
            done = subprocess.run([*words, *command], capture_output=True, text=True, check=False, env=environment, cwd=name)
            found[f"{what}: exit code"] = done.returncode
            found[f"{what}: error"] = done.stderr
            found[what] = times.without_times(without_provenance(done.stdout))
        for path in sorted(pathlib.Path(name).rglob("*")):
            if path.suffix == ".npy":
                found[f"bytes of {path.name}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def main():
    if len(sys.argv) not in (3, 5) or (len(sys.argv) == 5 and sys.argv[3] != "--only"):
        sys.exit(__doc__)
    old, new = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    configs, models = shipped()
    cases = [case for case in ((config, model, dataflow) for config in configs for model in models
                               for dataflow in (DATAFLOWS if model in WITH_DATA else ("auto",)))
             if len(sys.argv) == 3 or sys.argv[4] in case]
    compared, ran, faults = 0, 0, []

    def both(case):
        return case, results(old, *case), results(new, *case)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, one, other in pool.map(both, cases):
            compared += len(one)
            ran += one["run: exit code"] == 0
            faults += [f"{' '.join(case)}: {what}" for what in sorted(one.keys() | other.keys())
                       if one.get(what) != other.get(what)]
    print("\n".join(faults))
    print(f"{len(cases)} cases, of which {ran} run, {compared} results compared, {len(faults)} differ")
    sys.exit(1 if faults or not ran else 0)


if __name__ == "__main__":
    main()
