// What a model file does not say about itself, in a YAML file beside it (model.onnx, model.yaml):
// how a picture becomes its input, and what its outputs are called.
//
//   preprocess: {resize: [32, 32], mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}
//   labels: [airplane, automobile]
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace qsim::formats {

struct Sidecar {
  std::string file;  // for errors
  std::int64_t resize_height = 0;
  std::int64_t resize_width = 0;
  std::array<float, 3> mean{};  // of R, G, B in 0..1
  std::array<float, 3> std{};
  std::vector<std::string> labels;  // may be empty
};

// Where it is, whether or not it is there.
std::filesystem::path sidecar_path(const std::filesystem::path& model_path);

// Throws Error with file:line:column for a malformed file; no value when there is no file.
std::optional<Sidecar> load_sidecar_of(const std::filesystem::path& model_path);

}  // namespace qsim::formats
