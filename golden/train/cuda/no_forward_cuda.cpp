// The forward pass of training layers without their kernels: the calls say so.
#include "core/error.h"
#include "golden/device/devices.h"
#include "golden/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

[[noreturn]] void refuse() {
  use_device(0);  // throws in a build without nvcc
  throw InternalError("a call of a training layer without its CUDA kernel");
}

}  // namespace

std::size_t workspace_bytes(const Observe&) { refuse(); }
std::size_t workspace_bytes(const QuantizeLevels&) { refuse(); }
std::size_t workspace_bytes(const QuantizeWeights&) { refuse(); }
std::size_t workspace_bytes(const ConvReal&) { refuse(); }
std::size_t workspace_bytes(const ConvLevels&) { refuse(); }
std::size_t workspace_bytes(const ConvStatistics&) { refuse(); }
std::size_t workspace_bytes(const ConvGradientSums&) { refuse(); }
std::size_t workspace_bytes(const ConvNormalizeGradient&) { refuse(); }
std::size_t workspace_bytes(const MaxPool&) { refuse(); }

void enqueue(const Observe&, void*, void*) { refuse(); }
void enqueue(const QuantizeLevels&, void*, void*) { refuse(); }
void enqueue(const QuantizeWeights&, void*, void*) { refuse(); }
void enqueue(const ConvReal&, void*, void*) { refuse(); }
void enqueue(const ConvLevels&, void*, void*) { refuse(); }
void enqueue(const ConvStatistics&, void*, void*) { refuse(); }
void enqueue(const ConvGradientSums&, void*, void*) { refuse(); }
void enqueue(const ConvNormalizeGradient&, void*, void*) { refuse(); }
void enqueue(const MaxPool&, void*, void*) { refuse(); }

}  // namespace qsim::golden::train::cuda
