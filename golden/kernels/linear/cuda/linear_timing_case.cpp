#include <limits>
#include <string>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "golden/device/devices.h"
#include "golden/kernels/linear/cuda/batch_plan.h"
#include "golden/kernels/linear/cuda/cuda_int8_linear.h"
#include "golden/kernels/linear/cuda/hopper_plan.h"
#include "golden/kernels/linear/cuda/linear_launch.h"

namespace qsim::golden {

std::string_view cuda_linear_kernel_name(CudaLinearKernel kernel) {
  constexpr std::string_view kNames[] = {"auto", "rows", "many_rows", "batch", "hopper", "plain"};
  return kNames[static_cast<std::size_t>(kernel)];
}

std::string_view int8_linear_kernel_name(Int8LinearKernel kernel) {
  constexpr std::string_view kNames[] = {"auto", "int8_rows", "int8_matrix", "int8_plain"};
  return kNames[static_cast<std::size_t>(kernel)];
}

void cuda::check_channels(std::int64_t out_features) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - cuda::kRowChannels;
  if (out_features <= kMost) return;
  throw_bad_input("linear: " + std::to_string(out_features) +
                  " output channels; a GPU takes at most " + std::to_string(kMost));
}

// One row is of linear_rows, if it has room for a row of x. More are of linear_batch_hopper, or of
// linear_batch with groups or 4 bits.
bool has_pipeline(const LinearTimingCase& one, int device) {
  const auto group_size = static_cast<int>(one.group_size);
  const auto in_features = static_cast<int>(one.in_features);
  const int limit = cuda::kSharedOfWhole;
  const auto rows_plan = [&](int stages) {
    return cuda::plan_rows({one.bits, group_size, one.out_features, in_features, stages, limit, 0});
  };
  if (one.rows == 1 && cuda::has_row_pipeline(rows_plan(0), group_size)) {
    return rows_plan(one.stages).stages == one.stages;
  }
  const int x_rows = one.rows <= 8 ? 8 : 16;
  if (one.bits == 8 && one.group_size == 0) {
    return cuda::plan_hopper(one.out_features, in_features, x_rows,
                             static_cast<int>(float_type_bytes(one.type)),
                             require_device(device).multiprocessors, one.stages, limit)
               .stages == one.stages;
  }
  return cuda::plan_batch(one.bits, group_size, in_features, x_rows, one.stages, limit).stages ==
         one.stages;
}

std::int64_t linear_bytes(const LinearTimingCase& one) {
  const auto x_size = static_cast<std::int64_t>(float_type_bytes(one.type));
  const auto y_size = static_cast<std::int64_t>(float_type_bytes(one.y_type));
  const std::int64_t groups = one.group_size == 0 ? 1 : ceil_div(one.in_features, one.group_size);
  const std::int64_t of_channel = ceil_div(one.in_features * one.bits, 8) +
                                  groups * (one.bits == 4 ? 5 : 4) + (one.has_bias ? 4 : 0);
  return one.out_features * of_channel +
         one.rows * (x_size * one.in_features + y_size * one.out_features);
}

}  // namespace qsim::golden
