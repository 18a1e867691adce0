#include "cli/session/eval/eval_engine.h"

#include <algorithm>

namespace qsim::cli {

void StageSeconds::add(const StageSeconds& other) {
  reading += other.reading;
  computing += other.computing;
  judging += other.judging;
}

void take_levels(const Tensor& last, const OutputForm& form, const PredictionRows& to) {
  const Tensor levels = output_to_host(last, form, false);
  const std::size_t classes = levels.bytes.size() / static_cast<std::size_t>(levels.shape.front());
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t at = i * classes;
    to.predictions[i] =
        prediction_of(std::span(levels.bytes).subspan(at, classes), form.value.is_unsigned());
    for (std::size_t c = at; c < at + classes; ++c) {
      to.outputs[c] = static_cast<float>(real_value(levels, c, form.value));
    }
  }
}

void take_reals(const Tensor& last, const PredictionRows& to) {
  const std::span<const float> reals = last.as<float>().first(to.outputs.size());
  std::copy(reals.begin(), reals.end(), to.outputs.begin());
  const std::size_t classes = to.outputs.size() / to.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to.predictions[i] = prediction_of(reals.subspan(i * classes, classes));
  }
}

}  // namespace qsim::cli
