// The options of `qsim golden run`; its steps where parts of the network are not integers.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/picture_series.h"
#include "cli/terminal/context.h"
#include "cli/terminal/shared_options.h"
#include "core/base/error.h"
#include "formats/files/held_file.h"

namespace qsim::cli {

struct GoldenRunOptions : ConfigOption, GoldenOptions, HostOptions, SeriesChoice {
  std::string out;  // a folder; "" for none
};

// So many pictures, or fewer, are printed with their classes.
inline constexpr std::int64_t kShownPictures = 20;

// The file that --model or the configuration names, where it is a hybrid network; else null.
std::shared_ptr<const formats::HeldFile> hybrid_file(const GoldenRunOptions& options);

ExitCode golden_run_hybrid(Context& context, const GoldenRunOptions& options,
                           const std::shared_ptr<const formats::HeldFile>& held);

}  // namespace qsim::cli
