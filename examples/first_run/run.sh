#!/usr/bin/env bash
# Runs the shipped network on a configuration by name and reads the result from a script.
# usage: run.sh [CONFIG]      environment: QSIM, the executable (default: build/release/qsim)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
qsim=${QSIM:-$here/../../build/release/qsim}

"$qsim" --config "${1:-pe16x16}" --quiet --json - | /usr/bin/python3 "$here/summary.py"
