// The second step: the tensor that a model runs on, from a picture, a `.npy`, a CIFAR-10 batch, or
// the model itself.
#pragma once

#include <filesystem>
#include <string>

#include "sim/cli/model_source.h"

namespace qsim {

// Where inputs come from; `at(i)` is input number i of a series (records of a CIFAR-10 batch), and
// the same tensor for every i where there is no series.
class InputSource {
 public:
  // --input, else the model's own tensor, else the config's default input. Throws Error when none
  // of them fits the model.
  InputSource(const Options& options, const ArchConfig& config, const Model& model);

  const std::string& name() const { return name_; }            // "" for the model's own tensor
  const std::filesystem::path& path() const { return path_; }  // "" likewise

  // NHWC in the graph's input dtype, the whole batch. Throws Error naming the file.
  Tensor at(const Model& model, std::int64_t number) const;

 private:
  enum class Kind : std::uint8_t { kOwn, kPicture, kNpy, kCifar };

  void require_records(std::int64_t count) const;
  Tensor pictures(const Model& model, std::int64_t number) const;

  Kind kind_ = Kind::kOwn;
  std::string name_;
  std::filesystem::path path_;
  std::int64_t first_ = 0;  // --index
};

}  // namespace qsim
