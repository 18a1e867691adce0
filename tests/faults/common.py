"""What the fault tests share: a small network, the commands that write files, and what may lie in a folder
after one of them did not end well."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SMALL = """name: small
seed: %d
input: {shape: [1, 12, 10, 5], dtype: uint8}
layers:
  - {op: conv2d, name: first, out_channels: 20, kernel: 3, pad: 1, relu: true}
  - {op: max_pool, name: pool, kernel: 2}
  - {op: conv2d, name: second, out_channels: 9, kernel: 3}
"""
TEMPORARY = re.compile(r"^\..*\.tmp-\d+-\d+$")

# Sanitizers want to be loaded first, and say so.
PRELOADED = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_stack_use_after_return=0"}

# The command, and the file that says that its others are whole (none for single files).
COMMANDS = {
    "run --out": (["run", "--no-verify", "--out", "{there}"], "run.json"),
    "run --dump-layers": (["run", "--dump-layers", "{there}"], "trace.yaml"),
    "run --json": (["run", "--json", "{there}/result.json"], None),
    "verify --json": (["verify", "--json", "{there}/verify.json"], None),
    "compile --out": (["compile", "--out", "{there}/small.qprog"], None),
    "export-vectors": (["export-vectors", "--out", "{there}"], "manifest.json"),
    "golden run --out": (["golden", "run", "--images", "1", "--out", "{there}"], None),
}


class Case:
    """One command with a folder of its own; `seed` chooses between two results."""

    def __init__(self, qsim, name, work):
        self.qsim, self.name = qsim, name
        self.words, self.marker = COMMANDS[name]
        self.work = pathlib.Path(work)
        self.there = self.work / "there"
        for seed in (1, 2):
            (self.work / str(seed)).mkdir(exist_ok=True)
            (self.work / str(seed) / "small.yaml").write_text(SMALL % seed)

    def command(self, seed, there=None):
        words = [word.format(there=there or self.there) for word in self.words]
        # The file's own name is the same for both seeds, so that provenance does not tell them apart.
        return [self.qsim, *words, "--model", "./small.yaml", "--quiet"]

    def run(self, seed, environment=None, **more):
        return subprocess.run(self.command(seed), cwd=self.work / str(seed), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=120,
                              env={**os.environ, "QSIM_GOLDEN": "cpu", **(environment or {})}, **more)

    def fresh(self, seed=None):
        """An empty folder, or one with the whole result of `seed`."""
        shutil.rmtree(self.there, ignore_errors=True)
        self.there.mkdir()
        if seed is not None:
            good = self.run(seed)
            check(good.returncode == 0, f"{self.name}: a good run: {good.stderr}")
        return contents(self.there)


def contents(folder):
    """Every file by name; of JSON what does not differ between runs."""
    return {path.name: settled(path) for path in sorted(pathlib.Path(folder).iterdir())}


def settled(path):
    if path.suffix != ".json":
        return path.read_bytes()
    document = json.loads(path.read_text())  # a half file is no JSON
    for name in ("wall_seconds", "phase_seconds", "provenance"):
        document.pop(name, None)
    return json.dumps(document, sort_keys=True)


def check(fine, message):
    if not fine:
        sys.exit(f"FAILED: {message}")


def check_whole(found, olds, case, what):
    """Each file is one that some good run left; where the marker is there, all are of one run."""
    for name, content in found.items():
        check(not TEMPORARY.match(name), f"{what}: {name} is left")
        check(any(old.get(name) == content for old in olds), f"{what}: {name} is of no whole run")
    if case.marker in found:
        one_of = [old for old in olds if old.get(case.marker) == found[case.marker]]
        check(any(all(found.get(name) == content for name, content in old.items()) for old in one_of),
              f"{what}: {case.marker} stands for files that are not its own")


def check_error(outcome, what, path=None):
    check(outcome.returncode == 3, f"{what}: exit code {outcome.returncode}: {outcome.stderr}")
    check(outcome.stderr.startswith("qsim: error: ") and outcome.stderr.count("\n") == 1,
          f"{what}: not one line that says why: {outcome.stderr!r}")
    check(path is None or str(path) in outcome.stderr, f"{what}: does not name {path}: {outcome.stderr}")


def slow_files(case, library):
    """An environment in which the small results take some time to be written: moments to be hit."""
    return {"LD_PRELOAD": library, "QSIM_FAULT_FOLDER": str(case.there), "QSIM_FAULT_CALL": "none",
            "QSIM_FAULT_SLOW_US": "1000", **PRELOADED}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def work_folder():
    """Removed at the end; readable to other users, whom some tests become."""
    in_memory = pathlib.Path("/dev/shm")  # where fsync costs nothing
    where = in_memory if os.access(in_memory, os.W_OK) else None
    folder = tempfile.TemporaryDirectory(prefix="qsim-faults-", dir=where)
    os.chmod(folder.name, 0o755)
    return folder
