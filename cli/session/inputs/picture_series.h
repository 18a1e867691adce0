// The pictures that `golden run` classifies: records of a CIFAR-10 batch, pictures of a .npy, one
// image, or the model's own tensor, as bytes of the network's input.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cli/session/inputs/input_source.h"
#include "cli/session/inputs/model_source.h"

namespace qsim::cli {

// --input, --index and --images of `golden run`.
struct SeriesChoice {
  std::string input;  // "": the config's, or the workload's or trace's own
  std::optional<std::int64_t> index;
  std::optional<std::int64_t> images;  // absent: all
};

class PictureSeries {
 public:
  // --input (or its default) from --index on, --images of them or all. Throws Error when it does
  // not fit the model or has fewer. `model` must outlive the series.
  PictureSeries(const NetworkRequest& request, const SeriesChoice& choice, const ArchConfig& config,
                const Model& model);

  // The name that the user or the config gave; "workload" or "layer trace" for the model's own
  // tensor.
  std::string name() const;
  std::int64_t first() const { return first_; }  // number of picture 0 in its file
  std::int64_t count() const { return count_; }
  bool labelled() const { return file_.kind == InputKind::kCifar; }

  // Picture `i` of the series as NHWC bytes of the graph's input dtype, filling `to`. The picture's
  // class, where the file says it.
  std::optional<int> read(std::int64_t i, std::span<std::byte> to) const;

 private:
  std::int64_t available();

  InputFile file_;
  const Model& model_;
  InputForm one_;
  Tensor all_;  // of a .npy or the model itself
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
};

// The model of `golden run`: a workload that is its own input gets as many pictures as are wanted.
Model load_model_for_series(NetworkRequest request, const SeriesChoice& choice,
                            const ArchConfig& config);

}  // namespace qsim::cli
