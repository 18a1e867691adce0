// The options of `qsim golden convert`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace qsim {

struct ConvertOptions {
  std::string from = "fp16";
  std::string to;             // "": E4M3, or the preset's
  std::string preset;         // "": none
  std::string group = "128";  // a number, "token", "tensor"
  std::string scales = "fp32";
  std::string scale_rounding = "floor";
  std::string scale_order = "row";
  bool zero_point = false;
  bool stochastic = false;
  bool bench = false;
  std::optional<double> clip;
  std::optional<double> clip_percentile;
  std::string input;  // "": seeded Gaussian numbers
  std::int64_t rows = 1024;
  std::int64_t cols = 4096;
  std::int64_t threads = 0;  // 0: one for each processor
  std::int64_t runs = 21;
  std::string vector = "auto";
  std::string out_scales, out_zero_points, out_back;  // files; "": none
  // Of quantized input.
  std::string in_scales, in_zero_points;  // files; "": none
  std::optional<float> in_global_scale;
  bool odd_cols = false;  // the last nibble of a row is no element
  bool product = false;   // INT4 to FP8: q times scale
};

// Besides --seed and --out.
void add_convert_options(CLI::App& app, ConvertOptions& options);

// Throws Error for an option that was given and does nothing beside the others.
void check_convert_options(const ConvertOptions& options, const CLI::App& app);

}  // namespace qsim
