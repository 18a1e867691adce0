// Included in front of everything that Verilator makes and of its runtime: their VL_PRINTF is this
// function (build_model.sh), so that the RTL's messages reach the engine and not stdout.
#pragma once

extern "C" int qsim_rtl_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
