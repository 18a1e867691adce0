#!/usr/bin/env bash
# Builds the wheel, installs it into two fresh environments, one with Debian's PyTorch and numpy and one with nothing,
# and runs the tests of this folder with each. usage: installed_test.sh REPOSITORY_ROOT LIBRARY QSIM
set -euo pipefail
root=$1 library=$2 QSIM=$3
export QSIM
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$root/tools/wheel/build.sh" "$library" "$work/wheel"
cp "$root"/tests/python/*.py "$work/"
cd "$work"

# install VENV OPTION...: a fresh environment with the wheel.
install() {
  /usr/bin/python3 -m venv "${@:2}" "$work/$1"
  "$work/$1/bin/python" -m pip --quiet --disable-pip-version-check install --no-index "$work"/wheel/qsim-*.whl
}
install bare
"$work/bare/bin/python" -B -m unittest -q bare_test
install full --system-site-packages
"$work/full/bin/python" -B -m unittest -q golden_test fast_call_test torch_test cuda_test cuda_tensors_test program_test \
  torch_training_test torch_layers_test torch_eager_test torch_convert_test chain_test chain_module_test chain_changes_test chain_of_test \
  chain_cuda_test

# A checkout: an editable install takes the library that was built in it.
mkdir -p "$work/checkout/build/release/golden/c_interface"
cp -R "$root/python" "$root/include" "$work/checkout/"
rm -rf "$work"/checkout/python/build "$work"/checkout/python/*.egg-info "$work"/checkout/python/qsim/*.so
cp -L "$library" "$work/checkout/build/release/golden/c_interface/libqsim_golden.so"
/usr/bin/python3 -m venv --system-site-packages "$work/editable"
"$work/editable/bin/python" -m pip --quiet --disable-pip-version-check install --no-index --no-build-isolation -e "$work/checkout/python"
"$work/editable/bin/python" -B -c "import qsim, qsim.torch; assert qsim.__file__.startswith('$work/checkout/python/'), qsim.__file__"
