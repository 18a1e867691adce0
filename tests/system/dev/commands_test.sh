#!/usr/bin/env bash
# ./dev: what bench, demo, test and fuzz do, on a machine of fakes.
# usage: commands_test.sh REPOSITORY_ROOT
set -euo pipefail
root=$1
# shellcheck source=tests/system/dev/common.sh
. "$root/tests/system/dev/common.sh"

fake_machine
# Everything is installed, a GPU included.
fake dpkg-query <<'FAKE'
shift 3
for package in "$@"; do echo "installed $package"; done
FAKE
fake nvidia-smi <<'FAKE'
echo "GPU 0: NVIDIA H200 (UUID: GPU-0)"
FAKE
fake nvcc <<'FAKE'
exit 1
FAKE

# bench, where nothing has to be built: what the programs measure comes through, and run.py's exit code.
fake cmake <<'FAKE'
exit 0
FAKE
programs=$scratch/repository/build/release/bin
mkdir -p "$programs"
# measure SECONDS [COMMAND]: the kernel's benchmark then takes so long, as it says.
measure() {
  cat >"$programs/systemc_array_kernel_bench" <<BENCH
#!/bin/sh
echo '{"name": "array_kernel/a", "value": $1, "unit": "s", "kind": "time", "runs": 9, "spread": [$1, $1]}'
${2:-exit 0}
BENCH
  chmod +x "$programs/systemc_array_kernel_bench"
}
bench() { on_fake_machine env -C "$scratch" "$dev" bench --only array_kernel "$@"; }
measure 1.0
expect "bench prints figures" 0 '^array_kernel/a +1 s +9$' bench --json base.json
measure 1.09
expect "bench --against, 9% worse" 0 '^array_kernel/a +1 s +1\.09 s +1\.090$' bench --against base.json
sed 's/array_kernel/rtl/' "$scratch/base.json" >"$scratch/other.json"
expect "bench --against without a common figure" 6 '^nothing could be judged: no figure is in both' \
  bench --against "$scratch/other.json"
measure 1.12
expect "bench --against, 12% worse" 6 '^array_kernel/a .* WORSE$' bench --against base.json
# shellcheck disable=SC2016  # the benchmark's parent
measure 1.0 'kill -INT $PPID; sleep 1000'
expect "bench interrupted" 130 'interrupted; .*/kept.json has what was measured' bench --json kept.json
expect "what was measured is kept" 0 '"array_kernel/a"' cat "$scratch/kept.json"

rm -rf "$scratch/repository/bench/baselines"
measure 1.0
expect "the first baseline needs no folder" 0 '^array_kernel/a ' \
  bench --json "$scratch/repository/bench/baselines/new.json"
expect "and is found by its name" 0 '^array_kernel/a +1 s +1 s +1\.000$' bench --against new

# demo compiles the CUDA kernels only for a GPU of this machine, and never takes away what is configured.
fake cmake <<FAKE
echo "cmake \$*" >>"$scratch/cmake.log"
FAKE
release=$scratch/repository/build/release
printf '#!/bin/sh\n' >"$release/qsim"
chmod +x "$release/qsim"
# expect_kernels NAME ON|OFF|unchanged COMMAND: what `./dev COMMAND` tells CMake of them.
expect_kernels() {
  local told
  : >"$scratch/cmake.log"
  expect "$1" 0 configure on_fake_machine "$dev" "$3"
  told=$(grep -o 'QSIM_CUDA_KERNELS=[A-Z]*' "$scratch/cmake.log" || echo "=unchanged")
  if [ "${told#*=}" != "$2" ]; then
    echo "FAILED: $1: expected $2, told ${told#*=}"
    failures=$((failures + 1))
  fi
}
expect_kernels "the first demo with a GPU compiles the kernels" ON demo
fake nvidia-smi <<'FAKE'
echo "No devices found."
FAKE
expect_kernels "the first demo without a GPU does not" OFF demo
expect_kernels "build compiles them on any machine" ON build
: >"$release/CMakeCache.txt"
expect_kernels "a later demo leaves them as they are" unchanged demo
rm "$release/CMakeCache.txt"

# wheel: builds the library, then the wheel with it.
mkdir -p "$scratch/repository/tools/wheel"
# shellcheck disable=SC2016  # the fake's own variable
printf '%s\n' '#!/bin/sh' 'echo "wheel of $1 in $2"' >"$scratch/repository/tools/wheel/build.sh"
chmod +x "$scratch/repository/tools/wheel/build.sh"
: >"$scratch/cmake.log"
expect "wheel" 0 '^wheel of build/release/golden/c_interface/libqsim_golden.so in build/release/wheel$' \
  on_fake_machine "$dev" wheel
expect "wheel builds the library alone" 0 'cmake --build --preset release --target qsim_golden$' \
  cat "$scratch/cmake.log"

# test: everything provoked is only asked for where nothing may be skipped.
fake ctest <<'FAKE'
exit 0
FAKE
mkdir -p "$scratch/repository"/{build/release/record,tests/system/meta,tools/ort,tools/perfetto}
: >"$scratch/repository/build/release/record/libqsim_test_record.so"
printf '%s\n' 'import sys' 'print("provoked", *sys.argv[1:])' >"$scratch/repository/tests/system/meta/provoked.py"
# shellcheck disable=SC2016  # the fake's own variable
printf '%s\n' '#!/bin/sh' 'exit ${ORT_FAILS:-0}' >"$scratch/repository/tools/ort/install.sh"
chmod +x "$scratch/repository/tools/ort/install.sh"
# shellcheck disable=SC2016  # the fake's own variable
printf '%s\n' '#!/bin/sh' 'exit ${PERFETTO_FAILS:-0}' >"$scratch/repository/tools/perfetto/install.sh"
chmod +x "$scratch/repository/tools/perfetto/install.sh"
for all in charts,data,onnxruntime,nvcc,verilator verilator,nvcc,data,onnxruntime,torch; do
  expect "test with QSIM_REQUIRE=$all asks for everything" 0 '^provoked \. build/release$' \
    on_fake_machine env QSIM_REQUIRE="$all" "$dev" test
done
for some in '' onnxruntime,verilator data,onnxruntime,verilator; do
  expect "test with QSIM_REQUIRE=$some asks for a part" 0 '^provoked --partial \. build/release$' \
    on_fake_machine env QSIM_REQUIRE="$some" "$dev" test
done
expect "test without ONNX Runtime" 0 '^  not installed: what needs it is skipped$' \
  on_fake_machine env ORT_FAILS=1 QSIM_REQUIRE=verilator "$dev" test
expect "and where it is required" 1 'ONNX Runtime, a witness' \
  on_fake_machine env ORT_FAILS=1 QSIM_REQUIRE=data,onnxruntime "$dev" test
if grep -qE 'skipped|tests$' "$scratch/output"; then
  echo "FAILED: test went on without the ONNX Runtime that QSIM_REQUIRE lists"
  failures=$((failures + 1))
fi

expect "test without Perfetto's trace processor" 0 '^  not installed: what needs it is skipped$' \
  on_fake_machine env PERFETTO_FAILS=1 QSIM_REQUIRE=verilator "$dev" test
expect "and where it is required" 1 "Perfetto's trace processor, a witness" \
  on_fake_machine env PERFETTO_FAILS=1 QSIM_REQUIRE=data,perfetto "$dev" test
if grep -qE 'skipped|tests$' "$scratch/output"; then
  echo "FAILED: test went on without the trace processor that QSIM_REQUIRE lists"
  failures=$((failures + 1))
fi

# The chart library: what needs it is skipped where it cannot be had, and never where it is required.
expect "build without the chart library" 0 '^  not installed: --report says so; everything else works$' \
  on_fake_machine env CHARTS_FAIL=1 QSIM_REQUIRE= "$dev" build
expect "and where it is required" 1 'the chart library of --report' \
  on_fake_machine env CHARTS_FAIL=1 QSIM_REQUIRE=charts "$dev" test
if grep -qE 'skipped|tests$' "$scratch/output"; then
  echo "FAILED: test went on without the chart library that QSIM_REQUIRE lists"
  failures=$((failures + 1))
fi
expect "demo needs no chart library" 0 'run: the shipped network' \
  on_fake_machine env CHARTS_FAIL=1 QSIM_REQUIRE=charts "$dev" demo

# fuzz: a seed says what libFuzzer tries and on which vector path; without one it is drawn and told.
mkdir -p "$scratch/fuzz/bin"
cat >"$scratch/fuzz/bin/fuzz_npy" <<'TARGET'
#!/bin/sh
echo "$1 on $QSIM_FUZZ_VECTOR_PATH"
TARGET
chmod +x "$scratch/fuzz/bin/fuzz_npy"
run_targets=(env -u QSIM_FUZZ_VECTOR_PATH "$scratch/repository/tests/fuzz/run.sh" --build "$scratch/fuzz" --target npy)
expect "fuzz tells its seed" 0 'seed 7, vector path avx512_vnni' "${run_targets[@]}" --seed 7
expect "a target gets seed and path" 0 '^-seed=7 on avx512_vnni$' cat "$scratch/fuzz/logs/npy.log"
expect "a drawn seed is told" 0 'seed [1-9][0-9]*, vector path [a-z]' "${run_targets[@]}"
expect "and given" 0 '^-seed=[1-9][0-9]* on [a-z]' cat "$scratch/fuzz/logs/npy.log"

finish
