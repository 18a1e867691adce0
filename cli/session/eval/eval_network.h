// A network that `eval` judges with, and the pictures as it takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/session/eval/eval_options.h"
#include "cli/session/inputs/hosted_classifier.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/inputs/picture_set.h"
#include "cli/terminal/context.h"
#include "core/network/graph.h"

namespace qsim::cli {

struct EvalNetwork {
  std::string name;            // as the user gave it
  std::string hash;            // of its file and its external data
  std::optional<Model> model;  // absent: the file is a float network
  std::optional<Graph> real;   // the file's; of a quantized network that of --float
  std::string real_name;       // of --float; "" without
  std::string real_hash;       // of the float network's; "" without
  std::int64_t classes = 0;    // that it tells apart
  std::string sidecar;         // the file that says what becomes of pictures; "" for none
  std::vector<std::string> engines;
  PictureSet pictures;
  std::optional<HostedClassifier> hosted = std::nullopt;  // instead of a model or float network
  ArchConfig config = {};                                 // of the array
};

// The network of --model or the configuration, then that of --against. Throws Error where one
// cannot be read, has no classes, or another number of them than the first; for an engine that the
// first cannot have; and where there is nothing to count (pictures without labels, and one engine
// of one network).
std::vector<EvalNetwork> load_eval_networks(Context& context, const EvalOptions& options,
                                            const ArchConfig& config);

}  // namespace qsim::cli
