// The kernels that are linked into this program, and which of them it launches. A kernel that is a
// template counts once for each of its instances.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace qsim::golden_test {

// Mangled, each once, sorted; without the kernels of libraries that are not ours.
std::vector<std::string> kernel_names();

// Indices into kernel_names() of what was launched since the last call, each once.
std::vector<std::size_t> take_launched_kernels();

}  // namespace qsim::golden_test
