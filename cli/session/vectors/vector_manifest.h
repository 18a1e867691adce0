// manifest.json of `qsim export-vectors`: what the files hold and where they come from.
#pragma once

#include "cli/session/vectors/vector_files.h"
#include "report/run_report.h"

namespace qsim::cli {

// {"schema": "qsim.vectors/1", ...}; docs/guide/verify_your_rtl.md describes it.
std::string manifest_json(const report::Provenance& provenance, const Program& program,
                          const Vectors& vectors, const std::vector<VectorFile>& files);

}  // namespace qsim::cli
