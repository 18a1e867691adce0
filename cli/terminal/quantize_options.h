// The options of `qsim quantize`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qsim {

struct Options;

inline constexpr double kDefaultDrop = 0.5;

// Words as on the command line; docs/reference/quantize.md says what each means.
struct QuantizeOptions {
  std::vector<std::string> calibrate;  // pictures
  std::int64_t pictures = 512;         // of them, at most
  std::string mode = "static";
  std::string form = "qoperator";
  std::string scales;  // a file; "": from the statistics
  std::string layers;  // a file of overrides; "": none

  std::string scale_kind = "float";
  std::string activations = "u8";
  std::int64_t activation_bits = 8;
  std::string activation_levels = "uniform";
  std::string symmetry = "affine";
  std::string clipping = "mse";
  std::optional<double> moving_average;
  std::string percentile;  // "LO,HI"; "": the default
  std::string range;       // "LO,HI" of --clipping fixed
  std::string reduced_range = "weights";

  std::int64_t weight_bits = 8;
  std::string weight_symmetry = "symmetric";
  std::string weight_levels = "uniform";
  std::string weight_clipping = "min_max";
  std::string granularity = "channel";

  std::string weight_rounding = "nearest";
  bool bias_correction = false;
  bool equalize = false;
  std::string mixed_precision;  // a sensitivity; "": the same bits for all layers
  std::optional<double> drop;   // points of accuracy
  std::int64_t threads = 0;     // 0: one for each processor
};

// Besides --seed, --report and --out.
void add_quantize_command_options(CLI::App& app, Options& options);

// Throws Error for an option that was given and does nothing beside the others, and for one that is
// missing.
void check_quantize_command_options(const Options& options, const CLI::App& app);

}  // namespace qsim
