#include "golden/cuda/kernel_choice.h"

#include <vector>

namespace qsim::golden::cuda {
namespace {

using Maker = std::unique_ptr<Kernel> (*)(const ConvTask&);

bool has_wgmma(const CudaDevice& device) { return device.major == 9 && device.minor == 0; }

std::vector<Maker> makers(CudaPath path, const CudaDevice& device) {
  switch (path) {
    case CudaPath::kDirect:
      return {make_conv_direct};
    case CudaPath::kHopper:  // wgmma wherever it can, even where another family is faster
      return {make_conv_wgmma, make_conv_first, make_linear_stream, make_conv_mma,
              make_conv_direct};
    case CudaPath::kAuto:
      if (!has_wgmma(device)) break;
      return {make_conv_first, make_linear_stream, make_conv_wgmma, make_conv_mma,
              make_conv_direct};
    case CudaPath::kPortable:
      break;
  }
  return {make_conv_first, make_linear_stream, make_conv_mma, make_conv_direct};
}

}  // namespace

std::unique_ptr<Kernel> make_conv(const ConvTask& task, CudaPath path, const CudaDevice& device) {
  if (path == CudaPath::kHopper && !has_wgmma(device)) {
    throw_bad_input("CUDA: " + device.name + " has compute capability " +
                    std::to_string(device.major) + "." + std::to_string(device.minor) +
                    "; the path hopper needs 9.0");
  }
  for (const Maker maker : makers(path, device)) {
    if (std::unique_ptr<Kernel> kernel = maker(task)) return kernel;
  }
  throw InternalError("no kernel family takes a convolution");
}

}  // namespace qsim::golden::cuda
