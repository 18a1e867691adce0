#!/usr/bin/env bash
# Runs the fuzz targets of a build for a while; the corpora grow in BUILD/corpus, findings lie in
# BUILD/findings, logs in BUILD/logs. Exit code 1 on a finding, 130 when interrupted.
# usage: run.sh --build DIR [--seconds N] [--target NAME]... [--jobs J] [--seed S]
# The same seed, of 1 to 4294967295, and the same BUILD/corpus try the same inputs in the same order on
# the same vector path, as far as the time allows. Without it a random one is taken, and printed.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
build=
seconds=30
jobs=1
seed=
targets=()

while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$(realpath "$2") ;;
    --seconds) seconds=$2 ;;
    --target) targets+=("$2") ;;
    --jobs) jobs=$2 ;;
    --seed) seed=$2 ;;
    *)
      echo "run.sh: unknown option '$1'" >&2
      exit 2
      ;;
  esac
  shift 2
done
if [ -z "$build" ]; then
  echo "run.sh: --build is missing" >&2
  exit 2
fi
if [ ${#targets[@]} -eq 0 ]; then
  for source in "$here"/*_target.cpp; do
    targets+=("$(basename "$source" _target.cpp)")
  done
fi

# What the targets write meanwhile; crashed ones leave it behind.
TMPDIR=$(mktemp -d)
export TMPDIR
mkdir -p "$build"/{corpus,findings,logs}

# libFuzzer takes 0 for "any".
: "${seed:=$((RANDOM * 32768 + RANDOM + 1))}"

# One of the SystemC engine's vector paths, a different one from seed to seed; the best where the
# processor lacks it.
paths=(portable avx2 avx_vnni avx512_vnni)
QSIM_FUZZ_VECTOR_PATH=${QSIM_FUZZ_VECTOR_PATH:-${paths[$((seed % ${#paths[@]}))]}}
export QSIM_FUZZ_VECTOR_PATH

# The longest input worth trying.
max_bytes() {
  case $1 in
    network) echo 400 ;;
    cifar | layer_trace) echo 6500 ;;
    program_text) echo 12000 ;;
    *) echo 4096 ;;
  esac
}

# fuzz_one TARGET: becomes it, so that it is what a signal ends; the log's name is the target's.
fuzz_one() {
  local target=$1 corpus=$build/corpus/$1 options=()
  mkdir -p "$corpus"
  [ ! -f "$here/dictionaries/$target.dict" ] || options=("-dict=$here/dictionaries/$target.dict")
  # Memory in MiB, seconds an input: what an input of a few kilobytes may take under sanitizers.
  exec "$build/bin/fuzz_$target" -seed="$seed" -max_total_time="$seconds" -max_len="$(max_bytes "$target")" \
    -timeout=25 -rss_limit_mb=2048 -malloc_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$target-" "${options[@]}" \
    "$corpus" "$here/corpus/$target" >"$build/logs/$target.log" 2>&1
}

# report TARGET STATUS
report() {
  local log=$build/logs/$1.log inputs coverage
  if [ "$2" -eq 0 ]; then
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    coverage=$(sed -nE 's/.*\sDONE\s+cov: ([0-9]+).*/\1/p' "$log" | tail -n 1)
    printf '  %-13s %8s inputs, %5s places of the code reached\n' "$1" "$inputs" "$coverage" >&2
    return
  fi
  findings=$((findings + 1))
  local file
  file=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
  {
    echo "  $1: FINDING"
    grep -E -m 3 'FINDING:|ERROR:|runtime error:|what\(\)' "$log" | sed 's/^/    /' || true
    echo "    the input: ${file:-none was written}"
    echo "    replay it: QSIM_FUZZ_VECTOR_PATH=$QSIM_FUZZ_VECTOR_PATH $build/bin/fuzz_$1 ${file:-FILE}"
    echo "    the log:   $log"
  } >&2
}

running=()
names=()
findings=0

# Waits for the oldest of those that run.
finish_one() {
  local status=0
  wait "${running[0]}" || status=$?
  report "${names[0]}" "$status"
  running=("${running[@]:1}")
  names=("${names[@]:1}")
}

interrupted() {
  trap - INT TERM
  kill "${running[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  echo "fuzz: interrupted; the corpora of $build/corpus are kept" >&2
  exit 130
}
trap interrupted INT TERM
trap 'rm -rf "$TMPDIR"' EXIT

echo "  ${#targets[@]} targets, $seconds s each, $jobs at a time, seed $seed, vector path $QSIM_FUZZ_VECTOR_PATH" >&2
for target in "${targets[@]}"; do
  [ ${#running[@]} -lt "$jobs" ] || finish_one
  fuzz_one "$target" &
  running+=($!)
  names+=("$target")
done
while [ ${#running[@]} -gt 0 ]; do finish_one; done

if [ "$findings" -gt 0 ]; then
  echo "fuzz: $findings of ${#targets[@]} targets have a finding (tests/fuzz/README.md says what to do)" >&2
  exit 1
fi
echo "fuzz: ${#targets[@]} targets, no finding" >&2
