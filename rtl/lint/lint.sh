#!/usr/bin/env bash
# Verilator's lint, -Wall, on the whole accelerator for several shapes, with and without the
# bound assertions, on the AXI4 shim alone and with the core, for both requantizers. Prints nothing when all is clean.
set -euo pipefail
rtl=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)

mapfile -t sources < <(find "$rtl/src" -name '*_pkg.sv' | sort &&
  find "$rtl/src" -name '*.sv' ! -name '*_pkg.sv' | sort)
mapfile -t assertions < <(find "$rtl/assertions" -name '*.sv' | sort)

# lint TOP ARGUMENT...
lint() {
  local top=$1
  shift
  verilator --lint-only -Wall --top-module "$top" "$rtl/lint/waivers.vlt" "${sources[@]}" "$@"
}

# Square, more columns, more rows, and a bus narrower and wider than the words.
for shape in "4 4 4" "16 16 16" "16 32 32" "32 8 16" "16 16 4" "8 8 64"; do
  read -r rows cols bus <<<"$shape"
  lint qsim_accelerator "-GArrayRows=$rows" "-GArrayCols=$cols" "-GBusBytes=$bus"
done
# Lints the core without one of the dataflows, or two.
for dataflows in 1 3 5; do lint qsim_accelerator "-GDataflows=$dataflows"; done
# Lints the core with the requantizer for any scale.
for bus in 4 64; do lint qsim_accelerator -GDyadic=1 "-GBusBytes=$bus"; done
lint qsim_accelerator --assert "${assertions[@]}"
lint qsim_axi4_shim
lint qsim_accelerator_axi4
lint qsim_accelerator_axi4 -GBusBytes=128
