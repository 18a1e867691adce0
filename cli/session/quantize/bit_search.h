// The search of `qsim quantize --mixed-precision`: how many bits the weights of each layer need for
// an accuracy.
#pragma once

#include <functional>
#include <string>

#include "cli/session/inputs/picture_set.h"
#include "cli/session/quantize/quantize_options.h"
#include "core/network/quantized_network.h"
#include "golden/common/thread_team.h"
#include "quantize/quantizer.h"
#include "report/quantization/quantization_report.h"

namespace qsim::cli {

struct BitSearch {
  std::function<QuantizedNetwork(const quantize::Scheme&)> quantize;  // as it is written
  std::function<void(const std::string&)> progress;                   // a line for each step
};

struct FoundBits {
  quantize::Scheme scheme;  // with the bits of each layer
  report::MixedPrecisionReport report;
};

// Throws Error where pictures have no labels, and where the scheme has bits of its own for a layer.
void require_search_is_possible(const QuantizeOptions& options, const quantize::Scheme& scheme,
                                const PictureSet& pictures);

// Judges each trial by golden on the pictures. Throws Error where not even 8 bits in all layers are
// within the drop of the options.
FoundBits find_bits(const Graph& graph, const quantize::Scheme& scheme,
                    const QuantizeOptions& options, const PictureSet& pictures,
                    const BitSearch& search, golden::ThreadTeam& team);

}  // namespace qsim::cli
