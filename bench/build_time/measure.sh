#!/usr/bin/env bash
# Processor seconds of builds from nothing: the executable of ./dev demo, the rest, and one file again.
# usage: bench/build_time/measure.sh FOLDER [CMAKE OPTION...]
# FOLDER is made, and must not exist. No compiler cache is used. Prints one line a step: user + system
# seconds of all compilers and linkers, wall seconds, objects. On a machine that does other work too,
# processor seconds grow by up to a fifth: compare runs of the same load alone.
set -euo pipefail

[ $# -ge 1 ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
folder=$1
mkdir -p "$(dirname "$folder")"
shift
[ ! -e "$folder" ] || { echo "measure.sh: $folder exists" >&2; exit 2; }
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
jobs=$(nproc)

# configure OPTION...
configure() { cmake -S "$root" --preset release -B "$folder" "$@" >"$folder.log" || { cat "$folder.log" >&2; exit 1; }; }

# step NAME [TARGET...]: builds, and prints what it cost.
step() {
  local name=$1 user system wall objects
  shift
  TIMEFORMAT='%U %S %R'
  { time ninja -C "$folder" -j "$jobs" "$@" >"$folder.log" 2>&1 || { tail -n 30 "$folder.log" >&2; exit 1; }; } 2>"$folder.time"
  read -r user system wall < <(tail -n 1 "$folder.time")
  objects=$(grep -cE '^\[[0-9]+/[0-9]+\] Building' "$folder.log" || true)
  awk -v n="$name" -v u="$user" -v s="$system" -v w="$wall" -v o="$objects" \
    'BEGIN { printf "%-26s %7.1f s of processor %7.1f s wall %5d objects\n", n, u + s, w, o }'
}

# again NAME OBJECT: one object alone.
again() { rm -f "$folder/$2"; step "$1" "$2"; }

configure -DQSIM_TESTS=OFF -DQSIM_BENCH=OFF -DQSIM_CUDA_KERNELS=OFF "$@"
step "demo, no GPU" qsim
configure -DQSIM_TESTS=ON -DQSIM_BENCH=ON -DQSIM_CUDA_KERNELS=ON "$@"
step "everything else"
configure -DCMAKE_UNITY_BUILD=OFF "$@" # each source by itself, as with the preset edit
again core/network/graph.cpp core/CMakeFiles/qsim_core.dir/network/graph.cpp.o
again cli/commands/run.cpp cli/CMakeFiles/qsim_cli_lib.dir/commands/run.cpp.o
again tests/cli/run_test.cpp tests/cli/CMakeFiles/cli_test.dir/run_test.cpp.o
