// Which vector instructions the kernels use. The bytes are the same on every path.
#pragma once

#include <array>
#include <string_view>

namespace qsim::sim {

enum class VectorPath { kPortable, kAvx2, kAvxVnni, kAvx512Vnni };

// The best first.
inline constexpr std::array kVectorPaths = {VectorPath::kAvx512Vnni, VectorPath::kAvxVnni,
                                            VectorPath::kAvx2, VectorPath::kPortable};

std::string_view vector_path_name(VectorPath path);
bool is_supported(VectorPath path);  // by this processor
VectorPath best_vector_path();

}  // namespace qsim::sim
