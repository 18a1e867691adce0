#include "golden/device/tensor_map.h"

#include <string>

#include <cuda_runtime.h>

#include "core/base/error.h"
#include "golden/device/cuda_error.h"

namespace qsim::golden::cuda {
namespace {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

// The driver's function, found at run time so that nothing links against libcuda.
EncodeTiled encode_function() {
  static const EncodeTiled kFunction = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                           cudaEnableDefault, &result),
          "asking the driver for tensor maps");
    if (result != cudaDriverEntryPointSuccess) {
      throw_bad_input("CUDA: the driver does not support tensor maps");
    }
    return reinterpret_cast<EncodeTiled>(found);
  }();
  return kFunction;
}

}  // namespace

CUtensorMap make_tensor_map(const void* data, const std::vector<std::uint64_t>& sizes,
                            const std::vector<std::uint32_t>& box,
                            std::vector<std::uint64_t> strides, std::vector<std::uint32_t> steps) {
  std::uint64_t stride = 1;
  const bool is_dense = strides.empty();
  for (std::size_t i = 0; is_dense && i + 1 < sizes.size(); ++i) {
    strides.push_back(stride *= sizes[i]);
  }
  steps.resize(sizes.size(), 1);
  CUtensorMap map;
  const CUresult result = encode_function()(
      &map, CU_TENSOR_MAP_DATA_TYPE_UINT8, static_cast<std::uint32_t>(sizes.size()),
      const_cast<void*>(data), sizes.data(), strides.data(), box.data(), steps.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE,
      box[0] == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw_bad_input("CUDA: the driver refused a tensor map (code " +
                    std::to_string(static_cast<int>(result)) + ")");
  }
  return map;
}

}  // namespace qsim::golden::cuda
