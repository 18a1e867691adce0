#!/usr/bin/env bash
# Runs a test in the environment of tools/ort/install.sh; without one it is skipped (77), or fails
# where QSIM_REQUIRE lists onnxruntime. usage: with_onnxruntime.sh ORT_DIR SCRIPT.py ARGUMENT...
set -eu
if [ ! -f "$1/installed.sha256" ]; then
  echo "skipped: no ONNX Runtime (tools/ort/install.sh $1)"
  [[ ",${QSIM_REQUIRE:-}," != *,onnxruntime,* ]] || exit 1
  exit 77
fi
exec "$1/bin/python" -B "${@:2}"
