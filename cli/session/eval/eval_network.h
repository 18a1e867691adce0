// A network that `eval` judges with, and the pictures as it takes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/session/inputs/model_source.h"
#include "cli/session/inputs/picture_set.h"
#include "cli/terminal/context.h"

namespace qsim {

struct EvalNetwork {
  std::string name;  // as the user gave it
  std::string hash;  // of its file
  Model model;
  std::int64_t classes = 0;
  PictureSet pictures;
};

// The network of --model or the configuration, then that of --against. Throws Error where one
// cannot be read, has no classes, or another number of them than the first; and where there is
// nothing to count (pictures without labels, and one engine of one network).
std::vector<EvalNetwork> load_eval_networks(Context& context, const ArchConfig& config);

// The engines of a network: those of --engines, or golden.
std::vector<std::string> engines_of(const EvalNetwork& network, const Options& options);

}  // namespace qsim
