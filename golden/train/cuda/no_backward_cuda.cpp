// The gradients of training layers without their kernels: the calls say so.
#include "core/error.h"
#include "golden/device/devices.h"
#include "golden/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

[[noreturn]] void no_kernel() {
  use_device(0);  // throws in a build without nvcc
  throw InternalError("a call of a training layer without its CUDA kernel");
}

}  // namespace

std::size_t workspace_bytes(const MaxPoolGradient&) { no_kernel(); }
std::size_t workspace_bytes(const GradientOperand&) { no_kernel(); }
std::size_t workspace_bytes(const ConvInputGradient&) { no_kernel(); }
std::size_t workspace_bytes(const ConvWeightGradient&) { no_kernel(); }
std::size_t workspace_bytes(const StepGradient&) { no_kernel(); }

void enqueue(const MaxPoolGradient&, void*, void*) { no_kernel(); }
void enqueue(const GradientOperand&, void*, void*) { no_kernel(); }
void enqueue(const ConvInputGradient&, void*, void*) { no_kernel(); }
void enqueue(const ConvWeightGradient&, void*, void*) { no_kernel(); }
void enqueue(const StepGradient&, void*, void*) { no_kernel(); }

}  // namespace qsim::golden::train::cuda
