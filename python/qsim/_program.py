"""The qsim program as functions: run() and verify()."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Dict, List, Optional

# Exit codes whose JSON is the answer: agreement, mismatch, a condition of fail_if that is true.
_ANSWERS = (0, 5, 6)


class ProgramError(RuntimeError):
    """The qsim program failed. `exit_code` is one of docs/reference/cli.md; the text is what it said."""

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code


def _program(given: Optional[str]) -> str:
    """The executable: the one given, that of QSIM, or qsim on the PATH."""
    name = given or os.environ.get("QSIM") or "qsim"
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"the program '{name}' is not found; put qsim on the PATH, set QSIM, or give program=")
    return found


def _arguments(options: Dict[str, Any]) -> List[str]:
    """Keyword arguments as options: fail_if=["a", "b"] is --fail-if a --fail-if b, no_data=True is --no-data."""
    words: List[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words.append(f"{option}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return words


def _call(command: str, program: Optional[str], options: Dict[str, Any]) -> Dict[str, Any]:
    for name in ("json", "quiet"):
        if name in options:
            raise TypeError(f"{command}() sets {name} itself; leave it out")
    words = [_program(program), command, "--json=-", "--quiet", *_arguments(options)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in _ANSWERS or not done.stdout:
        said = done.stderr.decode(errors="replace").strip()
        raise ProgramError(said or f"qsim {command} ended with exit code {done.returncode}", done.returncode)
    result = json.loads(done.stdout)
    result["exit_code"] = done.returncode
    return result


def run(*, program: Optional[str] = None, **options: Any) -> Dict[str, Any]:
    """`qsim run`: simulates a model on a configuration, and compares it with golden.

    Each option of `qsim run` is a keyword, with underscores: run(config="pe8x8", model="net.onnx", no_verify=True).
    A list gives an option several times. Returns the JSON of `--json` (docs/reference/output.md) as Python objects, and
    `exit_code`: 0, 5 for a mismatch, or 6 where a condition of fail_if is true. Raises ProgramError for every other
    exit code, and FileNotFoundError without the program: `program`, else the variable QSIM, else qsim on the PATH.
    """
    return _call("run", program, options)


def verify(*, program: Optional[str] = None, **options: Any) -> Dict[str, Any]:
    """`qsim verify`: compares engines with golden, layer by layer. Options, result and errors as run()."""
    return _call("verify", program, options)
