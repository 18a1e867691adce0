#!/usr/bin/env bash
# ./dev: its usage errors, and its set-up against a machine of fakes (dpkg-query, apt-get, sudo), so
# that nothing is installed or built.
# usage: dev_test.sh REPOSITORY_ROOT
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# A repository with the scripts alone: what ./dev logs stays out of the real one.
mkdir -p "$scratch"/repository/{compiler,core,examples,golden,report,sim,tests,tools}
cp "$1/dev" "$1/CMakePresets.json" "$scratch/repository/"
cp "$1/tools/packages.txt" "$scratch/repository/tools/"
cp -r "$1/tools/dev" "$1/tools/gpu_test" "$scratch/repository/tools/"
cp -r "$1/bench" "$scratch/repository/"
mkdir "$scratch/repository/tests/fuzz"
cp "$1/tests/fuzz/run.sh" "$1/tests/fuzz/npy_target.cpp" "$scratch/repository/tests/fuzz/"
dev=$scratch/repository/dev

# expect NAME STATUS PATTERN COMMAND...: exit status, and a pattern in stdout or stderr.
expect() {
  local name=$1 wanted=$2 pattern=$3 status=0
  shift 3
  "$@" >"$scratch/output" 2>&1 || status=$?
  if [ "$status" -ne "$wanted" ] || ! grep -qE -- "$pattern" "$scratch/output"; then
    echo "FAILED: $name: exit $status (expected $wanted), expected /$pattern/ in:"
    sed 's/^/  | /' "$scratch/output"
    failures=$((failures + 1))
  fi
}

# expect_usage NAME LINE COMMAND...: exit status 2, and that one line as all there is to read.
expect_usage() {
  local name=$1 line=$2
  shift 2
  expect "$name" 2 . "$@"
  if ! diff <(echo "dev: $line; \`./dev help\` says more") "$scratch/output" >"$scratch/difference"; then
    echo "FAILED: $name: expected (<) and printed (>):"
    sed 's/^/  | /' "$scratch/difference"
    failures=$((failures + 1))
  fi
}

# fake NAME: an executable on the fakes' PATH, its body from stdin.
fake() {
  { echo '#!/bin/sh'; cat; } >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

expect "help lists the commands" 0 '^  demo ' "$dev" --help
expect "so does the word help" 0 '^  demo ' "$dev" help
commands='demo, test, test-fresh, build, verify-rtl, fuzz, gpu-test, bench, fmt, lint, gen'
expect_usage "no command" "no command; allowed: $commands" "$dev"
expect_usage "unknown command" "unknown command 'gpu'; allowed: $commands" "$dev" gpu
expect_usage "unknown option" "unknown option '--faster'" "$dev" build --faster
expect_usage "--fast elsewhere" '--fast is for lint, not for build' "$dev" build --fast
while read -r command presets; do
  expect_usage "unknown preset of $command" "unknown preset 'nightly'; allowed: $presets" \
    "$dev" "$command" --preset nightly
done <<'PRESETS'
build release, dev, asan, nocuda
test release, dev, asan, nocuda
gpu-test release, dev
fuzz fuzz
PRESETS
expect_usage "a hidden preset" "unknown preset 'base'; allowed: release, dev, asan, nocuda" \
  "$dev" build --preset=base
expect_usage "--preset without a name" '--preset needs a name' "$dev" build --preset
expect "fuzz with another preset" 2 "fuzz takes only its own preset, not 'asan'" "$dev" fuzz --preset asan
expect "fuzz with the default preset" 2 "only its own preset, not 'release'" "$dev" fuzz --preset=release
for command in build demo test bench; do
  expect_usage "$command with the preset of fuzz" "preset fuzz is for fuzz, not for $command" \
    "$dev" "$command" --preset fuzz
done
expect_usage "--check with build" '--check is for fmt, lint and gen, not for build' "$dev" build --check
expect "two commands" 2 'one command at a time' "$dev" build test
expect "an option of gpu-test elsewhere" 2 'are for gpu-test' "$dev" build --quick
expect "gpu-test without CUDA" 2 'preset nocuda has no CUDA' "$dev" gpu-test --preset nocuda
expect "an option of fuzz elsewhere" 2 '--seconds, --target and --jobs are for fuzz' "$dev" test --jobs 2
expect "--seed elsewhere" 2 '--seed is for fuzz and verify-rtl' "$dev" test --seed 3
expect "fuzz --seed 0, which libFuzzer takes for any" 2 "--seed needs a number from 1 to 999999999, not '0'" \
  "$dev" fuzz --seed 0
expect_usage "fuzz --target of nothing" "--target: there is no 'typo' in tests/fuzz; allowed: npy" \
  "$dev" fuzz --target typo
expect "fuzz --seconds 0" 2 "--seconds needs a number from 1 to 999999999, not '0'" "$dev" fuzz --seconds 0
expect "--demo elsewhere" 2 '--demo is for test-fresh' "$dev" test --demo
expect "--bundle without a folder" 2 '--bundle needs a value' "$dev" gpu-test --bundle
expect "options of running with --bundle" 2 'not for --bundle' "$dev" gpu-test --bundle x --only RTL
expect "--minutes elsewhere" 2 'are for gpu-test' "$dev" test --minutes 3
expect "gpu-test --only of no step" 2 'no step has TYPO in its name' "$dev" gpu-test --only TYPO
expect "gpu-test --only of nothing" 2 'needs a name that is not empty' "$dev" gpu-test --only ''
expect "gpu-test --minutes -1" 2 "invalid minutes value: '-1'" "$dev" gpu-test --minutes -1
expect "QSIM_REQUIRE of nothing known" 2 'QSIM_REQUIRE has dta' env QSIM_REQUIRE=dta "$dev" gpu-test
for required in node data,node nvccs,data; do
  expect "QSIM_REQUIRE=$required" 2 \
    'dev: QSIM_REQUIRE has (node|nvccs); allowed: compute-sanitizer, data, nvcc, onnxruntime, torch, verilator$' \
    env QSIM_REQUIRE="$required" "$dev" test
done
expect "an option of bench elsewhere" 2 '--against, --json and --page are for bench' "$dev" test --json x
expect "--only elsewhere" 2 '--only is for bench and gpu-test' "$dev" build --only RTL
expect "--against without a base" 2 '--against needs a value' "$dev" bench --against
expect "bench --only of nothing known" 2 "no benchmark 'all'; there are array_kernel, " "$dev" bench --only all
expect "bench --against of no baseline" 3 'bench: --against nowhere: no such baseline; bench/baselines has' \
  "$dev" bench --against nowhere
expect "bench --against of a path, the caller's" 3 "bench: $scratch/base.json: No such file" \
  env -C "$scratch" "$dev" bench --against base.json
echo '{' >"$scratch/base.json"
expect "bench --against of what is not JSON" 3 "bench: $scratch/base.json: not JSON" \
  env -C "$scratch" "$dev" bench --against ./base.json
expect "bench --json into no folder" 3 'none/x.json: cannot be written' \
  env -C "$scratch" "$dev" bench --json none/x.json
ln -s "$dev" "$scratch/link"
expect "through a link, from another folder" 0 '^usage' env -C / "$scratch/link" --help

# A machine where everything but cppcheck is there.
mkdir "$scratch/bin"
fake dpkg-query <<'FAKE'
shift 3
for package in "$@"; do
  case $package in
    cppcheck) ;;
    ninja-build) [ -n "${WITHOUT_NINJA:-}" ] || echo "installed ninja-build" ;;
    debootstrap) [ -n "${WITHOUT_DEBOOTSTRAP:-}" ] || echo "installed debootstrap" ;;
    clang-tidy) [ -n "${HAS_CLANG_TIDY:-}" ] && echo "installed clang-tidy" || echo "config-files clang-tidy" ;;
    *) echo "installed $package" ;;
  esac
done
exit 1
FAKE
fake apt-get <<FAKE
echo "apt-get \$* frontend=\${DEBIAN_FRONTEND:-}" >>"$scratch/apt.log"
FAKE
fake id <<'FAKE'
echo 1000
FAKE
fake sudo <<FAKE
echo sudo >>"$scratch/apt.log"
exec "\$@"
FAKE
fake clang-format <<'FAKE'
exit 0
FAKE
on_fake_machine() { env PATH="$scratch/bin:$PATH" "$@"; }

# Every command gets as far as its set-up, and says what that lacks.
while read -r -a words; do
  expect "${words[*]} begins with the set-up" 3 'missing Debian packages: .*ninja-build' \
    on_fake_machine env WITHOUT_NINJA=1 "$dev" "${words[@]}" --no-install
done <<'COMMANDS'
demo
test --preset dev
build
bench --page
gen --check
lint --fast
fuzz --target npy --seconds 1 --jobs 2 --seed 7
verify-rtl --programs 10 --seed 2 --cxx g++ --coverage --mutants 3
COMMANDS
expect "test-fresh begins with the set-up" 3 'missing Debian packages: debootstrap' \
  on_fake_machine env WITHOUT_DEBOOTSTRAP=1 "$dev" test-fresh --demo --no-install
expect "--cxx of another compiler" 2 "clang\+\+ or g\+\+, not 'cc'" "$dev" verify-rtl --cxx cc
for option in --programs --seed --mutants; do
  expect "$option of no number" 2 "$option needs a number, not 'many'" "$dev" verify-rtl "$option" many
done
expect "gpu-test --lenient --quick still needs a GPU" 3 'needs a GPU' \
  env PATH="$scratch/bin:$PATH" "$dev" gpu-test --lenient --quick --minutes 2

# gpu-test says what is missing before anything long begins.
bare_path=$scratch/bare
mkdir "$bare_path"
for tool in bash cat cut dirname env grep head readlink sed; do
  ln -s "$(command -v "$tool")" "$bare_path/$tool"
done
on_bare_machine() { env PATH="$bare_path" "$@"; }
expect "gpu-test without a driver" 3 'gpu-test: needs a GPU: no NVIDIA driver: nvidia-smi is not found' \
  on_bare_machine "$dev" gpu-test
fake nvidia-smi <<'FAKE'
echo "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver."
echo "Make sure that it is running."
exit 9
FAKE
expect "gpu-test with a driver that fails" 3 'needs a GPU: nvidia-smi says: NVIDIA-SMI has failed' \
  on_fake_machine "$dev" gpu-test
fake nvidia-smi <<'FAKE'
echo "No devices found."
FAKE
expect "gpu-test with a driver and no GPU" 3 'needs a GPU: nvidia-smi lists no GPU' \
  on_fake_machine "$dev" gpu-test
expect "gpu-test says how to go on elsewhere" 3 '--bundle DIR makes the folder' \
  on_fake_machine "$dev" gpu-test
if [ ! -x /usr/local/cuda/bin/nvcc ]; then
  expect "a bundle without nvcc" 3 'gpu-test: needs nvcc' on_bare_machine "$dev" gpu-test --bundle "$scratch/b"
fi
fake nvcc <<'FAKE'
exit 1
FAKE
fake nvidia-smi <<'FAKE'
echo "GPU 0: NVIDIA H200 (UUID: GPU-0)"
FAKE
expect "gpu-test with a GPU goes on to its set-up" 3 'missing Debian packages: ninja-build$' \
  on_fake_machine env WITHOUT_NINJA=1 "$dev" gpu-test --no-install
expect "--data without the pictures" 3 '--data: .*/cifar10/test_batch.bin is not there' \
  on_fake_machine "$dev" gpu-test --bundle "$scratch/b" --data "$scratch"
mkdir "$scratch/elsewhere"
expect "paths are the caller's" 3 "--data: $scratch/elsewhere/d/cifar10/test_batch.bin" \
  on_fake_machine env -C "$scratch/elsewhere" "$dev" gpu-test --bundle b --data d
[ ! -e "$scratch/b" ] || { echo "FAILED: a bundle was begun"; failures=$((failures + 1)); }

expect "--no-install lists what is missing" 3 'missing Debian packages: clang-tidy cppcheck$' \
  on_fake_machine "$dev" fmt --check --no-install
[ ! -e "$scratch/apt.log" ] || { echo "FAILED: --no-install called apt-get"; failures=$((failures + 1)); }
expect "what is missing is listed before it is installed" 0 'missing Debian packages: cppcheck$' \
  on_fake_machine env HAS_CLANG_TIDY=1 "$dev" fmt --check
expect "only what is missing is installed, with sudo" 0 \
  'DPkg::Lock::Timeout=300 install .* cppcheck frontend=noninteractive' cat "$scratch/apt.log"
expect "package lists are refreshed first" 0 'update' sed -n 2p "$scratch/apt.log"
expect "sudo is used where not root" 0 '^sudo$' sed -n 1p "$scratch/apt.log"
if grep -q 'clang-tidy' "$scratch/apt.log"; then
  echo "FAILED: an installed package was installed again"
  failures=$((failures + 1))
fi

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

# test: everything provoked is only asked for where nothing may be skipped.
fake ctest <<'FAKE'
exit 0
FAKE
mkdir -p "$scratch/repository"/{build/release/record,tests/system/meta,tools/ort}
: >"$scratch/repository/build/release/record/libqsim_test_record.so"
printf '%s\n' 'import sys' 'print("provoked", *sys.argv[1:])' >"$scratch/repository/tests/system/meta/provoked.py"
# shellcheck disable=SC2016  # the fake's own variable
printf '%s\n' '#!/bin/sh' 'exit ${ORT_FAILS:-0}' >"$scratch/repository/tools/ort/install.sh"
chmod +x "$scratch/repository/tools/ort/install.sh"
for all in data,onnxruntime,nvcc,verilator verilator,nvcc,data,onnxruntime,torch; do
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

[ "$failures" -eq 0 ] || exit 1
echo "all checks of ./dev passed"
