// What every mode of `qsim quantize` reads: the float network and the calibration pictures.
#pragma once

#include "cli/session/inputs/picture_set.h"
#include "cli/session/quantize/quantize_options.h"
#include "cli/terminal/context.h"
#include "core/real_graph.h"

namespace qsim {

struct QuantizeInputs {
  RealGraph graph;               // equalized where the options say so
  std::int64_t float_bytes = 0;  // of the model and its data files
  PictureSet pictures;           // as many as the options say
};

// Throws Error for what cannot be read, and for an output that is one of these files.
QuantizeInputs read_quantize_inputs(Context& context, const QuantizeOptions& options);

}  // namespace qsim
