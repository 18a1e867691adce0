// The calls of training layers on a GPU: each only enqueues, on `stream` (a cudaStream_t) of the
// current device. `workspace` has workspace_bytes(call) bytes, aligned to 256; what is in it does
// not matter, and after the call nothing of it is kept.
#pragma once

#include <cstddef>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

std::size_t workspace_bytes(const Observe& call);
std::size_t workspace_bytes(const CopyScale& call);
std::size_t workspace_bytes(const QuantizeLevels& call);
std::size_t workspace_bytes(const QuantizeWeights& call);
std::size_t workspace_bytes(const ConvReal& call);
std::size_t workspace_bytes(const ConvLevels& call);
std::size_t workspace_bytes(const ConvStatistics& call);
std::size_t workspace_bytes(const ConvGradientSums& call);
std::size_t workspace_bytes(const ConvNormalizeGradient& call);
std::size_t workspace_bytes(const MaxPool& call);
std::size_t workspace_bytes(const MaxPoolGradient& call);
std::size_t workspace_bytes(const GradientOperand& call);
std::size_t workspace_bytes(const ConvInputGradient& call);
std::size_t workspace_bytes(const ConvWeightGradient& call);
std::size_t workspace_bytes(const StepGradient& call);

void enqueue(const Observe& call, void* workspace, void* stream);
void enqueue(const CopyScale& call, void* workspace, void* stream);
void enqueue(const QuantizeLevels& call, void* workspace, void* stream);
void enqueue(const QuantizeWeights& call, void* workspace, void* stream);
void enqueue(const ConvReal& call, void* workspace, void* stream);
void enqueue(const ConvLevels& call, void* workspace, void* stream);
void enqueue(const ConvStatistics& call, void* workspace, void* stream);
void enqueue(const ConvGradientSums& call, void* workspace, void* stream);
void enqueue(const ConvNormalizeGradient& call, void* workspace, void* stream);
void enqueue(const MaxPool& call, void* workspace, void* stream);
void enqueue(const MaxPoolGradient& call, void* workspace, void* stream);
void enqueue(const GradientOperand& call, void* workspace, void* stream);
void enqueue(const ConvInputGradient& call, void* workspace, void* stream);
void enqueue(const ConvWeightGradient& call, void* workspace, void* stream);
void enqueue(const StepGradient& call, void* workspace, void* stream);

}  // namespace qsim::golden::train::cuda
