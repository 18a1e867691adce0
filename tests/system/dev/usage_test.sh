#!/usr/bin/env bash
# ./dev: its usage errors.
# usage: usage_test.sh REPOSITORY_ROOT
set -euo pipefail
root=$1
# shellcheck source=tests/system/dev/common.sh
. "$root/tests/system/dev/common.sh"

expect "help lists the commands" 0 '^  demo ' "$dev" --help
expect "so does the word help" 0 '^  demo ' "$dev" help
commands='demo, test, test-fresh, build, wheel, verify-rtl, fuzz, gpu-test, bench, fmt, lint, gen'
expect_usage "no command" "no command; allowed: $commands" "$dev"
expect_usage "unknown command" "unknown command 'gpu'; allowed: $commands" "$dev" gpu
expect_usage "unknown option" "unknown option '--faster'" "$dev" build --faster
expect_usage "--full elsewhere" '--full is for test, not for build' "$dev" build --full
expect_usage "--fast elsewhere" '--fast is for lint, not for build' "$dev" build --fast
while read -r command presets; do
  expect_usage "unknown preset of $command" "unknown preset 'nightly'; allowed: $presets" \
    "$dev" "$command" --preset nightly
done <<'PRESETS'
build release, edit, dev, asan, nocuda
test release, edit, dev, asan, nocuda
gpu-test release, edit, dev
fuzz fuzz
PRESETS
expect_usage "a hidden preset" "unknown preset 'base'; allowed: release, edit, dev, asan, nocuda" \
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
    'dev: QSIM_REQUIRE has (node|nvccs); allowed: charts, compute-sanitizer, data, nvcc, onnxruntime, perfetto, qemu, torch, verilator$' \
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

finish
