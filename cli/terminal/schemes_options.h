// The options of `qsim schemes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qsim {

// Pictures that judge --modes, without --judges.
inline constexpr std::int64_t kModeJudges = 500;

struct SchemesOptions {
  std::string calibrate;          // pictures that choose the ranges
  std::vector<std::string> data;  // labelled pictures that judge
  std::int64_t calibration_pictures = 512;
  std::vector<std::string> only;       // words of the rows to judge; empty: all rows
  bool modes = false;                  // compare the schemes that golden alone runs
  std::optional<std::int64_t> judges;  // with `modes`: of the pictures of --data
};

// Besides --model, --csv, --resume and --seed.
void add_schemes_options(CLI::App& app, SchemesOptions& options);

}  // namespace qsim
