// ONNX models for a first corpus that the project's writer does not write: with Reshape, Constant
// nodes, automatic padding and external data.
#pragma once

#include <string>
#include <vector>

namespace qsim::fuzz {

std::vector<std::string> edited_models();

}  // namespace qsim::fuzz
