// The last step of a picture: from the network's ofmap to names of classes.
#pragma once

#include <vector>

#include "cli/session/network.h"
#include "report/run_report.h"

namespace qsim {

// The most likely classes of the first picture; empty when the output is not a vector of classes.
// `ofmap` is the last program layer's.
std::vector<OutputClass> classes_of(const Network& network, const Tensor& ofmap);

}  // namespace qsim
