#!/usr/bin/env bash
# Stands in for the simulated tests where there is no Verilator: skipped, or failed where it is
# required.
set -euo pipefail
case ",${QSIM_REQUIRE:-}," in
  *,verilator,*)
    echo "QSIM_REQUIRE lists verilator, but CMake found none" >&2
    exit 1
    ;;
esac
echo "skipped: no verilator"
exit 77
