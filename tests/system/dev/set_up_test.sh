#!/usr/bin/env bash
# ./dev: the set-up of its commands, and what gpu-test says is missing, on a machine of fakes.
# usage: set_up_test.sh REPOSITORY_ROOT
set -euo pipefail
root=$1
# shellcheck source=tests/system/dev/common.sh
. "$root/tests/system/dev/common.sh"

fake_machine

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

finish
