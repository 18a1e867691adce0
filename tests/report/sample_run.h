// A small program of two layers with command times worked out by hand, and the report of its run.
#pragma once

#include "report/run_report.h"

namespace qsim {

// 4 x 4 PEs; per layer one LOAD, one EXECUTE (10 pixels, 3 folds, in the second layer 2 pixels and
// 5 folds), one POST, one STORE.
Program sample_program();

// Times that follow the token rules, and no ofmaps.
RunResult sample_result();

report::RunReport sample_report();

}  // namespace qsim
