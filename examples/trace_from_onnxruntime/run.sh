#!/usr/bin/env bash
# Makes a layer trace of an int8 ONNX model with ONNX Runtime and lets qsim replay it.
# usage: run.sh MODEL.onnx    environment: QSIM, the executable (default: build/release/qsim);
# QSIM_ORT_DIR, what tools/ort/install.sh made (default: build/release/ort)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
qsim=${QSIM:-$here/../../build/release/qsim}
python=${QSIM_ORT_DIR:-$here/../../build/release/ort}/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if [ ! -x "$python" ]; then
  echo "skipped: no ONNX Runtime (./dev test installs it)"
  case ",${QSIM_REQUIRE:-}," in *,onnxruntime,*) exit 1 ;; *) exit 77 ;; esac
fi
"$python" -B "$here/trace.py" "$1" "$folder/trace"
"$qsim" verify --model "$folder/trace"
