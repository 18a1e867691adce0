// The options of `qsim schemes`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qsim {

struct SchemesOptions {
  std::string calibrate;          // pictures that choose the ranges
  std::vector<std::string> data;  // labelled pictures that judge
  std::int64_t calibration_pictures = 512;
};

// Besides --model, --csv, --resume and --seed.
void add_schemes_options(CLI::App& app, SchemesOptions& options);

}  // namespace qsim
