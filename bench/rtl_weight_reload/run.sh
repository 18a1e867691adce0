#!/usr/bin/env bash
# The measurement of ADR 0004: how fast 16 x 16 arrays simulate that reload their weights in
# different ways. Takes about a minute; needs verilator and clang++ (CXX=g++ for the other compiler).
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include=$(verilator --getenv VERILATOR_ROOT)/include

for array in one_shadow two_shadows array_copies; do
  verilator --cc "$here/$array.sv" --top-module "$array" --prefix Varray --Mdir "$work/$array" -O3 \
    --x-assign fast --noassert -Wno-fatal -Wno-lint -Wno-style
  "${CXX:-clang++}" -std=c++20 -O3 -march=native -w -I "$work/$array" -isystem "$include" \
    -isystem "$include/vltstd" "$work/$array"/*.cpp "$include"/verilated{,_threads}.cpp \
    "$here/weight_reload_bench.cpp" -o "$work/$array/bench" -pthread -latomic
  printf '%-13s' "$array"
  "$work/$array/bench"
done
