// The second step: the tensor that a model runs on, from a picture, a `.npy`, a CIFAR-10 batch, or
// the model itself.
#pragma once

#include <filesystem>
#include <string>

#include "cli/session/model_source.h"

namespace qsim {

enum class InputKind : std::uint8_t { kOwn, kPicture, kNpy, kCifar };

struct InputFile {
  InputKind kind = InputKind::kOwn;
  std::string name;            // "" for the model's own tensor
  std::filesystem::path path;  // "" likewise
};

// --input, else the model's own tensor, else the config's default input. Throws Error when there is
// none of them for this model.
InputFile find_input_file(const Options& options, const ArchConfig& config, const Model& model);

// What preprocess() needs of a graph: its input, one picture at a time.
Graph one_picture(const Graph& graph);

// Throws Error unless the model says how a picture becomes its input. `file` holds pictures.
void require_preprocessing(const InputFile& file, const Model& model);

// Where inputs come from; `at(i)` is input number i of a series (records of a CIFAR-10 batch), and
// the same tensor for every i where there is no series.
class InputSource {
 public:
  // find_input_file's. Throws Error when it does not fit the model or the options.
  InputSource(const Options& options, const ArchConfig& config, const Model& model);

  const std::string& name() const { return file_.name; }  // with the first record's number
  const std::filesystem::path& path() const { return file_.path; }

  // NHWC in the graph's input dtype, the whole batch. Throws Error naming the file.
  Tensor at(const Model& model, std::int64_t number) const;

 private:
  void require_records(std::int64_t count) const;
  Tensor pictures(const Model& model, std::int64_t number) const;

  InputFile file_;
  std::int64_t first_ = 0;  // --index
};

}  // namespace qsim
