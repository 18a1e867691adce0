#!/bin/sh
# Installs libqsim_golden of a build folder into a folder of its own, builds the examples with
# find_package(qsim) against it, and runs them. usage: run.sh [BUILD_FOLDER]
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=${1:-$here/../../build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quiet() { "$@" >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}; }
quiet cmake --install "$build" --component golden --prefix "$work/installed"
quiet cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" \
  -DCMAKE_C_FLAGS="-std=c11 -Wall -Wextra -Wpedantic -Werror" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror"
quiet cmake --build "$work/build"
"$work/build/linear"
"$work/build/conversion"
