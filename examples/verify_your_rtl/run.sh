#!/usr/bin/env bash
# Exports the test vectors of a network and runs them through the accelerator's RTL in the test bench
# beside this script, with Verilator alone: no C++ of qsim takes part.
# usage: run.sh [MODEL [CONFIG]]   QSIM: the executable (default: build/release/qsim)
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
qsim=${QSIM:-$root/build/release/qsim}
model=${1:-$here/small.yaml}
config=${2:-pe4x4}

if ! command -v verilator >/dev/null; then
  echo "skipped: no verilator"
  [[ ",${QSIM_REQUIRE:-}," != *,verilator,* ]] || exit 1
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$qsim" --config "$config" export-vectors --model "$model" --out "$work/vectors"

# Your design: in place of rtl/src, its files. Test benches are not linted as hardware is.
verilator --binary --timing -Wno-fatal -Wno-lint -Wno-style --top-module tb_vectors -I"$work/vectors" \
  --Mdir "$work/build" -CFLAGS -O1 "$root/rtl/src/qsim_pkg.sv" "$root"/rtl/src/qsim_{requantize,requantizer,sum}_pkg.sv \
  "$here/tb_vectors.sv" -y "$root/rtl/src" >"$work/build.log" 2>&1 || {
  cat "$work/build.log" >&2
  exit 1
}
cd "$work/vectors"
# Verilator says where $finish is; a line about the test bench, not about the design.
"$work/build/Vtb_vectors" | sed '/^- .*Verilog [$]finish/d' | tee "$work/run.log"
grep -qx PASS "$work/run.log"
