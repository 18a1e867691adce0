// Which kernel family takes a convolution: the makers of tasks.h in the order of a path.
#pragma once

#include "golden/device/devices.h"
#include "golden/graph/cuda/graph_executor.h"
#include "golden/graph/cuda/tasks.h"

namespace qsim::golden::cuda {

// The first family of `path` that takes the task; conv_direct, the last of every path, takes all.
std::unique_ptr<Kernel> make_conv(const ConvTask& task, CudaPath path, const CudaDevice& device);

}  // namespace qsim::golden::cuda
