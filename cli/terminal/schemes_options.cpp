#include "cli/terminal/schemes_options.h"

#include <CLI/CLI.hpp>

#include "cli/terminal/list_option.h"
#include "cli/terminal/number_option.h"
#include "core/limits.h"

namespace qsim {

void add_schemes_options(CLI::App& app, SchemesOptions& options) {
  app.add_option("--calibrate", options.calibrate,
                 "pictures that choose the ranges: a folder, a CIFAR-10 batch, or a .npy")
      ->type_name("DIR|FILE")
      ->required();
  app.add_option("--data", options.data,
                 "labelled pictures that judge: CIFAR-10 batches, or a folder of class folders")
      ->type_name("DIR|FILE")
      ->required();
  const auto set = [&options](std::uint64_t value) {
    options.calibration_pictures = static_cast<std::int64_t>(value);
  };
  add_number(app, "--pictures", {1, static_cast<std::uint64_t>(kMaxImages)}, set,
             "pictures of --calibrate, drawn with --seed")
      ->default_str(std::to_string(options.calibration_pictures));
  add_list(app, "--only", options.only,
           "the rows with these words, such as mse,channel: of a column, one of those given")
      ->type_name("LIST");
  app.add_flag("--modes", options.modes,
               "the schemes that golden alone runs: weight-only, dynamic, fake quantization, and "
               "small floats");
  const auto set_judges = [&options](std::uint64_t value) {
    options.judges = static_cast<std::int64_t>(value);
  };
  add_number(app, "--judges", {1, static_cast<std::uint64_t>(kMaxImages)}, set_judges,
             "with --modes: pictures of --data, drawn with --seed, at most")
      ->default_str(std::to_string(kModeJudges));
}

}  // namespace qsim
