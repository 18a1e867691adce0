#include "core/checked_math.h"
#include "golden/linear/cuda/batch_plan.h"
#include "golden/linear/cuda/cuda_int8_linear.h"

namespace qsim::golden {

std::string_view cuda_linear_kernel_name(CudaLinearKernel kernel) {
  constexpr std::string_view kNames[] = {"auto", "rows", "batch", "plain"};
  return kNames[static_cast<std::size_t>(kernel)];
}

std::string_view int8_linear_kernel_name(Int8LinearKernel kernel) {
  constexpr std::string_view kNames[] = {"auto", "int8_rows", "int8_matrix", "int8_plain"};
  return kNames[static_cast<std::size_t>(kernel)];
}

// One row is of linear_rows, if it has room for a row of x, and more are of linear_batch.
bool has_pipeline(const LinearTimingCase& one) {
  const auto group_size = static_cast<int>(one.group_size);
  const auto in_features = static_cast<int>(one.in_features);
  const auto rows_stages = [&](int stages) {
    return cuda::plan_rows(one.bits, group_size, in_features, stages, cuda::kSharedOfWhole).stages;
  };
  if (one.rows == 1 && rows_stages(0) >= 2) return rows_stages(one.stages) == one.stages;
  return cuda::plan_batch(one.bits, group_size, in_features, one.rows <= 8 ? 8 : 16, one.stages,
                          cuda::kSharedOfWhole)
             .stages == one.stages;
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
