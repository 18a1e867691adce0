#!/usr/bin/env bash
# Tests and measures the GPU of this machine with the programs of this folder (made by
# `./dev gpu-test --bundle`); ends with a table. `run.sh --help` has the options.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
command -v python3 >/dev/null || {
  echo "gpu-test: python3 is not found" >&2
  exit 3
}
exec python3 -B "$here/scripts/run.py" "$@"
