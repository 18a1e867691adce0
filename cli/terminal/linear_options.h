// The options of `qsim golden linear` and `qsim golden quantize`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qsim {

struct LinearOptions {
  std::vector<std::string> modes = {"cpu_fp32", "cpu_int8"};
  std::int64_t in_features = 4096;   // --K
  std::int64_t out_features = 4096;  // --N
  std::int64_t rows = 1;             // --M
  std::string dtype = "fp16";
  std::string y_dtype;                    // "": that of x
  std::string activations = "float";      // or "int8"
  std::optional<float> activation_scale;  // of int8 activations; none: each row its own
  std::string bits = "8";
  std::string group = "0";
  std::string bias = "1";
  std::string print = "0";
  std::string sweep = "0";
  std::string check = "0";
  std::string vector = "auto";
  std::int64_t iterations = 21;
  std::int64_t warmup = 3;
  std::int64_t threads = 0;  // 0: one a processor
  bool bench = false;
  bool profile = false;
  std::vector<std::string> sizes;  // "KxN"; empty: those of --bench
  std::string x, w, scales, b;     // files; "": seeded random numbers
  std::int64_t device = 0;         // of gpu_int8
  // golden quantize
  std::string out_scales, out_zero_points;  // files; "": none
  bool symmetric = false;
};

void add_linear_options(CLI::App& app, LinearOptions& options);
// Throws Error for an option that was given and does nothing beside the others.
void check_linear_options(const LinearOptions& options, const CLI::App& app);
// Of `qsim golden quantize`, besides --out.
void add_quantize_options(CLI::App& app, LinearOptions& options);

}  // namespace qsim
