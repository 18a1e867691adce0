// A model and its input, ready to compile: the end of the import phase.
#pragma once

#include <string>

#include "cli/session/golden_backend.h"
#include "cli/session/input_source.h"
#include "cli/session/model_source.h"

namespace qsim {

// What provenance says of the files that were read (file_hash.h); "" for what is not a file.
struct FileHashes {
  std::string config;
  std::string model;
  std::string input;
};

struct Network {
  Model model;
  std::string input_name;  // "" for the model's own tensor
  std::filesystem::path input_path;
  Tensor input;  // NHWC in the graph's input dtype; zeros when no data is wanted
  // Where --json or --out wants them. Taken here, so that what happens to a file during a long run
  // neither ends it nor changes what it says of itself.
  FileHashes hashes;
};

// Loads, and cuts to --layers, whose input `golden` computes. Throws Error, also when a file was
// written to while it was read.
Network import_network(const Options& options, const ArchConfig& config, GoldenSelection& golden);

}  // namespace qsim
