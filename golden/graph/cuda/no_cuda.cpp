// The CUDA golden of a build without nvcc: it says so.
#include "golden/device/devices.h"
#include "golden/graph/cuda/graph_executor.h"
#include "golden/graph/cuda/peak.h"

namespace qsim::golden {

namespace {
[[noreturn]] void refuse() { throw_bad_input("CUDA: " + cuda_status().reason); }
}  // namespace

double measure_peak_int8_ops(int) { refuse(); }
double measure_copy_bytes(int) { refuse(); }

class CudaGraphExecutor::Impl {};

CudaGraphExecutor::CudaGraphExecutor(const Graph&, const CudaOptions&) { refuse(); }
CudaGraphExecutor::~CudaGraphExecutor() = default;

// No executor exists to call these on.
namespace {
[[noreturn]] void unreachable() { throw InternalError("a CUDA executor without CUDA"); }
}  // namespace

std::vector<Tensor> CudaGraphExecutor::run(const Tensor&) { unreachable(); }
double CudaGraphExecutor::time_network(int) { unreachable(); }
std::vector<CudaKernelTime> CudaGraphExecutor::time_kernels(int) { unreachable(); }
std::vector<std::string> CudaGraphExecutor::kernels() const { unreachable(); }
std::int64_t CudaGraphExecutor::device_bytes() const { unreachable(); }

}  // namespace qsim::golden
