// The tensor that a model runs on: from a picture, a `.npy`, a CIFAR-10 batch, or the model itself.
#pragma once

#include <filesystem>
#include <string>

#include "cli/host_tensors/host_layout.h"
#include "cli/session/inputs/model_source.h"

namespace qsim::cli {

enum class InputKind : std::uint8_t { kOwn, kPicture, kNpy, kCifar };

struct InputFile {
  InputKind kind = InputKind::kOwn;
  std::string name;            // "" for the model's own tensor
  std::filesystem::path path;  // "" likewise
};

// The file of an input in a folder of them: a_x.npy of 'a/x'.
std::string npy_name(std::string input);

// --input, of which a folder has a .npy by the name of an ONNX model's input; else the model's own
// tensor, else the config's default input. Throws Error when this
// model has none of the three.
InputFile find_input_file(const NetworkRequest& request, const std::string& input,
                          const ArchConfig& config, const Model& model);

// Throws Error unless the model says how a picture becomes its input. `file` holds pictures.
void require_preprocessing(const InputFile& file, const Model& model);

// Where inputs come from: a series of pictures (records of a CIFAR-10 batch), which the network
// takes as many at a time as its batch says, or one tensor for the whole batch.
class InputSource {
 public:
  // find_input_file's. Throws Error when it does not fit the model or the options, or has fewer
  // than --images pictures.
  InputSource(const NetworkRequest& request, const InputOptions& options, const ArchConfig& config,
              const Model& model, std::optional<std::int64_t> images = std::nullopt);

  const std::string& name() const { return file_.name; }  // with the first record's number
  const std::filesystem::path& path() const { return file_.path; }
  std::int64_t first() const { return first_; }        // number of picture 0 in its file
  std::int64_t pictures() const { return pictures_; }  // --images; without it one batch

  // One batch from picture `picture` of the series on, NHWC in the graph's input dtype; the same
  // for every `picture` where there is no series. The batch is that of
  // model.graph now. Throws Error naming the file.
  Tensor at(const Model& model, std::int64_t picture) const;

 private:
  void require_records() const;
  Tensor pictures_from(const Model& model, std::int64_t picture) const;

  InputFile file_;
  std::int64_t first_ = 0;  // --index
  std::int64_t pictures_ = 1;
};

// The one input of `run` and `export-vectors`.
struct ModelInput {
  std::string name;            // "" for the model's own tensor
  std::filesystem::path path;  // "" likewise
  Tensor tensor;               // NHWC in the graph's input dtype; zeros when no data is wanted
};

ModelInput read_input(const NetworkRequest& request, const InputOptions& options,
                      const ArchConfig& config, const Model& model, bool no_data);

}  // namespace qsim::cli
