// Which vector instructions the kernels use. The bytes are the same on every path.
#pragma once

#include <string_view>

namespace qsim {

enum class VectorPath { kPortable, kAvx2, kAvx512Vnni };

std::string_view vector_path_name(VectorPath path);
bool is_supported(VectorPath path);  // by this processor
VectorPath best_vector_path();

}  // namespace qsim
