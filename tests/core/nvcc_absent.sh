#!/usr/bin/env bash
# Stands in for the CUDA tests where there is no nvcc: skipped, or failed where nvcc is required.
set -euo pipefail
case ",${QSIM_REQUIRE:-}," in
  *,nvcc,*)
    echo "QSIM_REQUIRE lists nvcc, but CMake found no nvcc (or QSIM_CUDA is OFF)" >&2
    exit 1
    ;;
esac
echo "skipped: no nvcc"
exit 77
