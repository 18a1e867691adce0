// What every mode of `qsim quantize` reads: the float network and the calibration pictures.
#pragma once

#include "cli/session/inputs/picture_set.h"
#include "cli/session/quantize/quantize_options.h"
#include "cli/terminal/context.h"
#include "core/network/graph.h"
#include "golden/common/thread_team.h"
#include "quantize/correction.h"

namespace qsim::cli {

struct QuantizeInputs {
  Graph graph;                   // equalized where the options say so
  std::int64_t float_bytes = 0;  // of the model and its data files
  PictureSet pictures;           // as many as the options say
};

using Phases = std::vector<std::pair<std::string, double>>;

// Does a phase of the work and notes how long it took.
template <typename Work>
void phase(Phases& seconds, const char* name, Work work) {
  double taken = 0;
  timed(taken, work);
  seconds.emplace_back(name, taken);
}

// What the options correct after rounding.
quantize::Corrections corrections_of(const QuantizeOptions& options);
bool has_corrections(const QuantizeOptions& options);

// `pictures` and `team` must outlive it.
quantize::CalibrationPictures calibration_of(PictureSet& pictures, golden::ThreadTeam& team);

// Throws Error for what cannot be read, and for an output that is one of these files.
QuantizeInputs read_quantize_inputs(Context& context, const QuantizeOptions& options);

}  // namespace qsim::cli
