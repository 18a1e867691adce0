// Convolutions of tensors on a GPU in a build without nvcc: it says so.
#include "golden/device/devices.h"
#include "golden/graph/cuda/tensors/conv_tensors.h"

namespace qsim::golden::cuda {

void enqueue_conv(const TensorConv&, void*) { use_device(0); }  // throws

}  // namespace qsim::golden::cuda
