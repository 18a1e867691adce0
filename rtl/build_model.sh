#!/usr/bin/env bash
# Builds one Verilated model of rtl/src/ as a shared library for rtl/engine (core_abi.h): the one
# builder of CMake's models and of those built on demand. Needs verilator, a C++ compiler, and nothing
# else. Nothing half-made is left: the library is renamed into place when it is whole.
set -euo pipefail
umask go-w  # nobody else's code is loaded (formats/files/own_file.h)

usage() {
  cat >&2 <<'USAGE'
usage: build_model.sh --variant plain|assert|trace|coverage --cxx COMPILER --output FILE.so
       [--march NAME] NAME=VALUE...

  NAME=VALUE  every parameter of qsim_accelerator (docs/reference/rtl.md): ArrayRows=16 ...
  --march     the processor that the model is for, as the compiler names it; default native
The log is FILE.log beside FILE.so. Verilator's runtime is compiled anew, unless QSIM_RTL_RUNTIME names a
folder that keeps its objects.
USAGE
  exit 2
}

rtl=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
variant=plain
cxx=clang++
march=native
output=
parameters=()
while [ $# -gt 0 ]; do
  case $1 in
    --variant | --cxx | --output | --march)
      [ $# -ge 2 ] || usage
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    *=*) parameters+=("$1") ;;
    *) usage ;;
  esac
  shift
done
[ -n "$output" ] || usage

# Loops over the columns must be unrolled (Verilator 5.006 has no non-blocking assignment in a loop that
# stays one); those over all PEs stay loops, which the compiler turns into vector code. Measured from 4x4
# to 16x16: twice the columns is the fastest or within 3% of it.
unroll=64
for parameter in "${parameters[@]}"; do
  case $parameter in ArrayCols=*) unroll=$((2 * ${parameter#*=})) ;; esac
done
# The same for every model. What the RTL leaves open at power-up is the engine's choice (--x-initial).
verilate=(--cc --top-module qsim_accelerator --prefix Vqsim_accelerator -O3 --unroll-count "$unroll"
  --unroll-stmts 1000000 --x-assign fast --x-initial unique -Wno-fatal -Wno-lint -Wno-style
  --timescale 1ns/1ps)
defines=(-DVM_SC=0 -DVM_TRACE_VCD=0 -DVL_USER_FINISH -DVL_USER_STOP -DVL_USER_FATAL
  -DVL_PRINTF=qsim_rtl_printf)
runtime=(verilated verilated_threads)
libraries=()
case $variant in
  plain) verilate+=(--noassert) ;;
  assert) verilate+=(--assert) ;;
  trace) verilate+=(--noassert --trace-fst) && runtime+=(verilated_fst_c) && libraries+=(-lz) ;;
  coverage) verilate+=(--assert --coverage-line --coverage-toggle) && runtime+=(verilated_cov) ;;
  *) usage ;;
esac
for name in trace coverage; do
  value=0
  [ "$variant" != "$name" ] || value=1
  defines+=("-DVM_${name^^}=$value")
  [ "$name" != trace ] || defines+=("-DVM_TRACE_FST=$value")
done

# ArrayRows=16 -> -GArrayRows=16 for Verilator, -DQSIM_RTL_ARRAY_ROWS=16 for the adapter.
adapter_defines=()
for parameter in "${parameters[@]}"; do
  name=$(printf %s "${parameter%%=*}" | sed 's/\([a-z]\)\([A-Z]\)/\1_\2/g')
  verilate+=("-G$parameter")
  adapter_defines+=("-DQSIM_RTL_${name^^}=${parameter#*=}u")
done

mkdir -p "$(dirname "$output")"
folder=$(cd "$(dirname "$output")" && pwd)
work=$(mktemp -d "$folder/.build-XXXXXX")
log=${output%.so}.log
jobs_of=()
clean_up() {
  trap '' TERM
  [ ${#jobs_of[@]} -eq 0 ] || kill "${jobs_of[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs in the background, so that a signal ends the script at once.
run() {
  echo "+ $*" >>"$work/log"
  "$@" >>"$work/log" 2>&1 &
  jobs_of+=($!)
}
wait_for_all() {
  local job
  for job in "${jobs_of[@]}"; do
    wait "$job" || {
      mv -f "$work/log" "$log"
      grep -v '^+ ' "$log" | tail -n 15 >&2 || true
      echo "build_model.sh: failed; the whole log is $log" >&2
      exit 1
    }
  done
  jobs_of=()
}

root=$(verilator --getenv VERILATOR_ROOT) || {
  echo "build_model.sh: 'verilator --getenv VERILATOR_ROOT' failed: $root" >&2
  exit 1
}
include=$root/include
compile=("$cxx" -std=c++20 "-march=$march" -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -w
  "${defines[@]}" -include "$rtl/engine/verilated_print.h" -I "$work" -I "$rtl/.."
  -isystem "$include" -isystem "$include/vltstd")

# Follows everything that the runtime's objects depend on: compiler, flags (they are in this script),
# the processor that `native` means, sources.
runtime_key() {
  {
    printf '%s\n' "$cxx" "$march" "${defines[@]}"
    "$cxx" --version || true
    grep -m 1 '^flags' /proc/cpuinfo || true
    cat "$0" "$rtl/engine/verilated_print.h" "$include"/verilated*.h "$include"/verilated*.cpp
  } 2>/dev/null | sha256sum | cut -c1-32
}

# Packages first; with assertions, what binds them to the units.
mapfile -t sources < <(find "$rtl/src" -name '*_pkg.sv' | sort &&
  find "$rtl/src" -name '*.sv' ! -name '*_pkg.sv' | sort)
if [[ $variant =~ ^(assert|coverage)$ ]] && [ -d "$rtl/assertions" ]; then
  mapfile -t -O ${#sources[@]} sources < <(find "$rtl/assertions" -name '*.sv' | sort)
fi
run verilator "${verilate[@]}" --Mdir "$work" "${sources[@]}"
# The runtime is the same for every model of a variant.
kept=
# Objects that others may have written are not linked.
is_own() { [ -n "$(find "$1" -maxdepth 0 -user "$(id -u)" ! -perm /022 2>/dev/null)" ]; }
if [ -n "${QSIM_RTL_RUNTIME:-}" ] && { [ ! -e "$QSIM_RTL_RUNTIME" ] || is_own "$QSIM_RTL_RUNTIME"; } && key=$(runtime_key 2>/dev/null); then
  kept=$QSIM_RTL_RUNTIME/$key
fi
for source in "${runtime[@]}"; do
  if [ -n "$kept" ] && [ -f "$kept-$source.o" ]; then
    cp "$kept-$source.o" "$work/$source.o"
  else
    run "${compile[@]}" -O2 -c "$include/$source.cpp" -o "$work/$source.o"
  fi
done
wait_for_all
if [ -n "$kept" ] && mkdir -p "$QSIM_RTL_RUNTIME" 2>/dev/null && [ -w "$QSIM_RTL_RUNTIME" ]; then
  for source in "${runtime[@]}"; do
    [ -f "$kept-$source.o" ] || { cp "$work/$source.o" "$kept-$$.tmp" && mv -f "$kept-$$.tmp" "$kept-$source.o"; }
  done
fi

# What runs every cycle as one unit and optimised; constructors and such (__Slow) apart and not.
for source in "$work"/*.cpp; do
  case $source in
    *__Slow.cpp | *__Syms.cpp | *__Trace*) echo "#include \"$source\"" >>"$work/slow.cc" ;;
    *) echo "#include \"$source\"" >>"$work/fast.cc" ;;
  esac
done
echo "#include \"$rtl/engine/verilated_core.cpp\"" >>"$work/fast.cc"
run "${compile[@]}" "${adapter_defines[@]}" -O3 -c "$work/fast.cc" -o "$work/fast.o"
run "${compile[@]}" "${adapter_defines[@]}" -O1 -c "$work/slow.cc" -o "$work/slow.o"
wait_for_all
run "$cxx" -shared -Wl,-Bsymbolic -o "$work/model.so" "$work"/*.o "${libraries[@]}" -latomic
wait_for_all

mv -f "$work/log" "$log"
mv -f "$work/model.so" "$output"
