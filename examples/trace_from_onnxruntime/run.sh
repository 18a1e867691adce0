#!/usr/bin/env bash
# Makes a layer trace of an int8 ONNX model with ONNX Runtime and lets qsim replay it.
# usage: run.sh MODEL.onnx    environment: QSIM, the executable (default: build/release/qsim);
# QSIM_ORT_DIR, where tools/ort/install.sh put ONNX Runtime for node (default: build/release/ort)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
qsim=${QSIM:-$here/../../build/release/qsim}
export QSIM_ORT_DIR=${QSIM_ORT_DIR:-$here/../../build/release/ort}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if ! /usr/bin/python3 -c 'import onnxruntime' 2>/dev/null && [ ! -f "$QSIM_ORT_DIR/run_onnx.mjs" ]; then
  echo "skipped: no ONNX Runtime (./dev test installs it)"
  case ",${QSIM_REQUIRE:-}," in *,node,*) exit 1 ;; *) exit 77 ;; esac
fi
/usr/bin/python3 "$here/trace.py" "$1" "$folder/trace"
"$qsim" verify --model "$folder/trace"
