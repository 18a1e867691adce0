"""The host gives the outputs of ONNX's own node tests, as Debian packages them, but for those that a list names.

usage: node_tests_test.py HOST_CHECK EXCEPTIONS
"""
import fnmatch
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path("/usr/share/libonnx-testdata/data/node")
VERDICTS = {"refused": "refused", "FAIL": "fails", "pass": "passes"}


def main(host_check, exceptions):
    if not FOLDER.exists():
        print("skipped: no libonnx-testdata")
        return 77
    listed = [line.split() for line in pathlib.Path(exceptions).read_text(encoding="utf8").splitlines()
              if line and not line.startswith("#")]
    found = subprocess.run([host_check, "--node-tests", *sorted(FOLDER.glob("test_*"))], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    counts, used, wrong = dict.fromkeys(VERDICTS.values(), 0), set(), []
    for line in found:
        name, word = line.split()[:2]
        counts[VERDICTS[word]] += 1
        matching = [(pattern, verdict) for pattern, verdict in listed if fnmatch.fnmatchcase(name, pattern)]
        used.update(pattern for pattern, _ in matching)
        expected = matching[-1][1] if matching else "passes"
        if VERDICTS[word] != expected:
            wrong.append(f"{line}; expected: {expected}")
    wrong += [f"{pattern}: no test of that name" for pattern, _ in listed if pattern not in used]
    print(f"{len(found)} node tests: {counts}", *wrong, sep="\n")
    # Otherwise the package is not what it is taken for.
    assert counts["passes"] > 700
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
