// x, weights and bias of `qsim golden linear`: from files, or seeded random numbers.
#pragma once

#include <string>
#include <vector>

#include "cli/session/linear/linear_options.h"
#include "cli/terminal/context.h"
#include "golden/kernels/linear/linear.h"

namespace qsim::cli {

struct LinearSize {
  std::int64_t in_features;
  std::int64_t out_features;
};

struct LinearSource {
  golden::FloatMatrix x;
  std::vector<float> float_weights;  // [N][K]; of int8 files value times scale
  golden::LinearWeights weights;
  std::vector<float> bias;  // empty: none
  double quantize_seconds = 0;
};

// The sizes of --bench and --sizes, or --K and --N. Throws Error (exit code 2) for a malformed one.
std::vector<LinearSize> linear_sizes(const LinearOptions& options);

// Throws Error naming the file that does not fit. Files give their own sizes.
LinearSource load_linear(const LinearOptions& options, const LinearSize& size);

// The weights of `golden quantize`: --w, float32 or float16, and what the quantizer makes of them.
LinearSource load_quantized(const WeightOptions& options);

golden::FloatType linear_y_type(const LinearOptions& options, golden::FloatType x_type);

void write_matrix(Context& context, const std::string& path, const golden::FloatMatrix& matrix);

}  // namespace qsim::cli
