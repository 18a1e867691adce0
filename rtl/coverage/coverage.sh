#!/usr/bin/env bash
# Line and toggle coverage of rtl/src by random programs and extreme commands: toggles on pe4x4, lines
# on an array with more columns than rows and a bus narrower than a word, and on one whose POST adds tensors
# and looks levels up. Prints both per module, and what is not covered; exit code 6 below the targets
# (100% of lines and branches, 95% of toggles, both of what exclusions.txt does not exclude), 3 when
# an exclusion is wrong, 77 when a tool is absent (1 if QSIM_REQUIRE lists verilator).
set -euo pipefail

usage() {
  echo "usage: coverage.sh [--programs N] [--seed S] [--driver COVER_RTL] [--work FOLDER]" >&2
  exit 2
}

rtl=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
programs=200
seed=0
driver=$rtl/../build/release/bin/cover_rtl
work=$rtl/../build/coverage
while [ $# -gt 0 ]; do
  case $1 in
    --programs | --seed | --driver | --work)
      [ $# -ge 2 ] || usage
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    *) usage ;;
  esac
  shift
done
for tool in verilator verilator_coverage clang++ python3; do
  command -v "$tool" >/dev/null && continue
  [[ ",${QSIM_REQUIRE:-}," != *,verilator,* ]] || { echo "there is no $tool" >&2 && exit 1; }
  echo "skipped: no $tool" && exit 77
done
[ -x "$driver" ] || { echo "coverage.sh: $driver is not there; build the target cover_rtl" >&2 && exit 2; }
mkdir -p "$work"
work=$(cd "$work" && pwd)

# sources NAME SED: a copy of rtl/ that is changed for counting. The counting code is huge and runs
# little: compiled without much optimisation it is there in seconds rather than minutes. Counts are
# kept for each instance of a module.
sources() {
  local copy=$work/$1/rtl quick='s/-O1 -c/-O0 -c/; s/-O3 -c/-O1 -c/; s/-O2 -c/-O0 -c/'
  rm -rf "$copy"
  mkdir -p "$copy"
  cp -r "$rtl/src" "$rtl/assertions" "$rtl/engine" "$copy"
  sed "$quick; $2" "$rtl/build_model.sh" >"$copy/build_model.sh"
  chmod +x "$copy/build_model.sh"
  sed -i 's/context_.coveragep()->write/context_.coveragep()->forcePerInstance(true);\n  &/' \
    "$copy/engine/verilated_core.cpp"
  grep -q forcePerInstance "$copy/engine/verilated_core.cpp"
}

# cover NAME OPTION...: runs the driver on the copy; its counts go to $work/NAME/counts.
cover() {
  local folder=$work/$1
  shift
  rm -rf "$folder/counts"
  "$driver" --rtl "$folder/rtl" --models "$folder/models" --out "$folder/counts" --seed "$seed" "$@"
}

sources toggles ''
sources lines 's/ --coverage-toggle//'
! grep -q coverage-toggle "$work/lines/rtl/build_model.sh" || { echo "coverage.sh: sed" >&2 && exit 1; }
cover lines --programs $((programs / 4 + 1)) --extremes 40 "$rtl/mutation/configs/bus_narrow_4x8.yaml" \
  "$rtl/mutation/configs/dyadic_4x8.yaml" &
lines_job=$!
trap 'kill "$lines_job" 2>/dev/null || true' EXIT
cover toggles --programs "$programs" --extremes $((programs + 200)) "$rtl/../configs/pe4x4.yaml"
wait "$lines_job"
trap - EXIT

for name in toggles lines; do
  mapfile -t counts < <(find "$work/$name/counts" -name '*.dat' | sort)
  verilator_coverage --write "$work/$name/merged.dat" "${counts[@]}"
  [ "$name" != toggles ] || cores=${#counts[@]}
done
python3 "$rtl/coverage/report.py" --toggles "$work/toggles/merged.dat" --cores "$cores" \
  --lines "$work/lines/merged.dat"
