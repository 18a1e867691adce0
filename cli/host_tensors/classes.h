// From a network's output to its classes: their scores, probabilities and names.
#pragma once

#include <string>
#include <vector>

#include "cli/host_tensors/host_layout.h"
#include "report/output_class.h"

namespace qsim::cli {

// Whether each picture's output is a vector of classes.
bool has_classes(const OutputForm& form);

// The `count` best classes of picture `picture`, best first. `output` is [N][1][1][C], and
// has_classes(form). `labels` may be empty.
std::vector<report::OutputClass> best_classes(const Tensor& output, const OutputForm& form,
                                              std::int64_t picture,
                                              const std::vector<std::string>& labels,
                                              std::size_t count);

// The same from one picture's scores, which are real numbers when `has_scale`.
std::vector<report::OutputClass> top_classes(const std::vector<double>& scores, bool has_scale,
                                             const std::vector<std::string>& labels,
                                             std::size_t count);

}  // namespace qsim::cli
