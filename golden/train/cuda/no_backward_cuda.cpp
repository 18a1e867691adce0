// The gradients of training layers without their kernels: the calls say so.
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

std::size_t workspace_bytes(const MaxPoolGradient&) { refuse(); }
std::size_t workspace_bytes(const GradientOperand&) { refuse(); }
std::size_t workspace_bytes(const ConvInputGradient&) { refuse(); }
std::size_t workspace_bytes(const ConvWeightGradient&) { refuse(); }
std::size_t workspace_bytes(const StepGradient&) { refuse(); }

void enqueue(const MaxPoolGradient&, void*, void*) { refuse(); }
void enqueue(const GradientOperand&, void*, void*) { refuse(); }
void enqueue(const ConvInputGradient&, void*, void*) { refuse(); }
void enqueue(const ConvWeightGradient&, void*, void*) { refuse(); }
void enqueue(const StepGradient&, void*, void*) { refuse(); }

}  // namespace qsim::golden::train::cuda
