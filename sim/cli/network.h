// A model and its input, ready to compile: the end of the import phase.
#pragma once

#include <string>

#include "sim/cli/golden_backend.h"
#include "sim/cli/input_source.h"
#include "sim/cli/model_source.h"

namespace qsim {

struct Network {
  Model model;
  std::string input_name;  // "" for the model's own tensor
  std::filesystem::path input_path;
  Tensor input;  // NHWC in the graph's input dtype; zeros when no data is wanted
};

// Loads, and cuts to --layers, whose input `golden` computes. Throws Error.
Network import_network(const Options& options, const ArchConfig& config, GoldenSelection& golden);

}  // namespace qsim
