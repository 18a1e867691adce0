// The float executor on a GPU, of a build without nvcc: it says so.
#include "golden/device/devices.h"
#include "golden/graph/real/cuda/real_cuda_executor.h"

namespace qsim::golden {

class CudaRealExecutor::Impl {};

CudaRealExecutor::CudaRealExecutor(const Graph&, const RealExecutorOptions&, int) {
  throw_bad_input("CUDA: " + cuda_status().reason);
}
CudaRealExecutor::~CudaRealExecutor() = default;

// No executor exists to call these on.
namespace {
[[noreturn]] void unreachable() { throw InternalError("a CUDA executor without CUDA"); }
}  // namespace

void CudaRealExecutor::reserve(std::int64_t) { unreachable(); }
Tensor CudaRealExecutor::run(const Tensor&, const OnTensor&) { unreachable(); }
std::vector<std::string> CudaRealExecutor::kernels() const { unreachable(); }
double CudaRealExecutor::time_network(int) { unreachable(); }

}  // namespace qsim::golden
