// The calls of training layers without their kernels: they say so.
#include "core/base/error.h"
#include "golden/device/devices.h"
#include "golden/kernels/train/chain_calls.h"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

[[noreturn]] void no_kernel() {
  use_device(0);  // throws in a build without nvcc
  throw InternalError("a call of a training layer without its CUDA kernel");
}

}  // namespace

std::size_t workspace_bytes(const Observe&) { no_kernel(); }
std::size_t workspace_bytes(const CopyScale&) { no_kernel(); }
std::size_t workspace_bytes(const QuantizeLevels&) { no_kernel(); }
std::size_t workspace_bytes(const QuantizeWeights&) { no_kernel(); }
std::size_t workspace_bytes(const ConvReal&) { no_kernel(); }
std::size_t workspace_bytes(const ConvLevels&) { no_kernel(); }
std::size_t workspace_bytes(const ConvStatistics&) { no_kernel(); }
std::size_t workspace_bytes(const ConvGradientSums&) { no_kernel(); }
std::size_t workspace_bytes(const ConvNormalizeGradient&) { no_kernel(); }
std::size_t workspace_bytes(const MaxPool&) { no_kernel(); }
std::size_t workspace_bytes(const MaxPoolGradient&) { no_kernel(); }
std::size_t workspace_bytes(const GradientOperand&) { no_kernel(); }
std::size_t workspace_bytes(const ConvInputGradient&) { no_kernel(); }
std::size_t workspace_bytes(const ConvWeightGradient&) { no_kernel(); }
std::size_t workspace_bytes(const StepGradient&) { no_kernel(); }

void enqueue(const Observe&, void*, void*) { no_kernel(); }
void enqueue(const CopyScale&, void*, void*) { no_kernel(); }
void enqueue(const QuantizeLevels&, void*, void*) { no_kernel(); }
void enqueue(const QuantizeWeights&, void*, void*) { no_kernel(); }
void enqueue(const ConvReal&, void*, void*) { no_kernel(); }
void enqueue(const ConvLevels&, void*, void*) { no_kernel(); }
void enqueue(const ConvStatistics&, void*, void*) { no_kernel(); }
void enqueue(const ConvGradientSums&, void*, void*) { no_kernel(); }
void enqueue(const ConvNormalizeGradient&, void*, void*) { no_kernel(); }
void enqueue(const MaxPool&, void*, void*) { no_kernel(); }
void enqueue(const SpreadScales&, void*, void*) { no_kernel(); }
void enqueue(const NormalizeStatistics&, void*, void*) { no_kernel(); }
void enqueue(const FoldLevels&, void*, void*) { no_kernel(); }
void enqueue(const TrialScale&, void*, void*) { no_kernel(); }
void enqueue(const MeasureScale&, void*, void*) { no_kernel(); }
void enqueue(const ObserveRows&, void*, void*) { no_kernel(); }
void enqueue(const NormalizationGradient&, void*, void*) { no_kernel(); }
void enqueue(const MaxPoolGradient&, void*, void*) { no_kernel(); }
void enqueue(const GradientOperand&, void*, void*) { no_kernel(); }
void enqueue(const ConvInputGradient&, void*, void*) { no_kernel(); }
void enqueue(const ConvWeightGradient&, void*, void*) { no_kernel(); }
void enqueue(const StepGradient&, void*, void*) { no_kernel(); }

}  // namespace qsim::golden::train::cuda
