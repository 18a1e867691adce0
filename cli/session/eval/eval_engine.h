// What judges pictures: the interface of the engines of `eval`, and what several of them need.
// eval_engines.h has the list.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cli/host_tensors/host_layout.h"
#include "cli/session/eval/prediction.h"

namespace qsim::cli {

// Where the time goes of an engine that takes one batch after the other.
struct StageSeconds {
  double reading = 0;    // pictures, and what the sidecar says of them
  double computing = 0;  // the network, with copies to and from a GPU
  double judging = 0;    // the classes of the outputs

  void add(const StageSeconds& other);
};

// Predicts the classes of one network's pictures; both outlive it.
class EvalEngine {
 public:
  virtual ~EvalEngine() = default;
  // "cpu", "cuda"; "" for an engine that has no choice.
  virtual std::string backend() const { return ""; }
  // Whether Prediction::bytes is of bytes.
  virtual bool is_integer() const = 0;
  // The pictures that keep it busy, at least.
  virtual std::int64_t pictures_at_once() const = 0;
  // Predictions of the network's pictures from `first` on, as many as `to` has rows. Throws Error
  // for a picture that cannot be read.
  virtual void predict(std::int64_t first, const PredictionRows& to) = 0;
  // The seconds of all calls of predict(), by stage; absent for an engine whose threads are in
  // different stages at a time.
  virtual std::optional<StageSeconds> stages() const { return std::nullopt; }
};

// For an integer engine: the rows of the pictures whose last tensor is `last`, [N] and any shape of
// a picture; `to` may have fewer rows than N.
void take_levels(const Tensor& last, const OutputForm& form, const PredictionRows& to);
// For a float engine: the same of float32.
void take_reals(const Tensor& last, const PredictionRows& to);

}  // namespace qsim::cli
