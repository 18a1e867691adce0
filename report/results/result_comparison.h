// What `qsim compare` says of two results files: totals, layers, what changed and why.
#pragma once

#include "report/results/result_json.h"
#include "report/sheet.h"

namespace qsim::report {

// Schema "qsim.compare/1". Two files of one result each are compared whatever they are of; others
// by model, configuration, set fields and dataflow (same_point). The sheet has a row for each pair,
// and for one pair a row for each layer. Throws Error (exit code 3) where nothing can be compared.
Sheet comparison_sheet(const ResultsFile& first, const ResultsFile& second);

}  // namespace qsim::report
