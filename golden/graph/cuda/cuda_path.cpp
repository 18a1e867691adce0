#include "golden/graph/cuda/graph_executor.h"

namespace qsim::golden {

std::string_view cuda_path_name(CudaPath path) {
  constexpr std::string_view kNames[] = {"auto", "hopper", "portable", "direct"};
  return kNames[static_cast<std::size_t>(path)];
}

}  // namespace qsim::golden
