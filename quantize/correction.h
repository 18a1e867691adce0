// What can be done for a layer after its scales are chosen: rounding its weights by its inputs, and
// correcting its bias. Layer by layer in the order of the network: each layer sees the inputs that
// the corrected layers before it give, and is brought to what the float network computes.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "core/network/graph.h"
#include "golden/common/thread_team.h"
#include "quantize/calibration.h"
#include "quantize/quantizer.h"
#include "quantize/weights/adaptive_rounding.h"
#include "quantize/weights/gptq.h"

namespace qsim::quantize {

enum class WeightRounding : std::uint8_t { kNearest, kLearned, kGptq };

// "nearest", "learned", "gptq"
std::string_view weight_rounding_name(WeightRounding rounding);

struct Corrections {
  WeightRounding rounding = WeightRounding::kNearest;
  bool bias = false;
  // Of the layer's output, whose inputs make the Gram matrix; drawn by `seed`. A linear layer has
  // one a picture.
  std::int64_t positions = 4096;
  std::uint64_t seed = 1;
  // Both networks' tensors of all pictures are in memory at once; fewer pictures where they do not
  // fit, at least one.
  std::int64_t most_bytes = std::int64_t{1} << 30;
  AdaptiveRounding learned = {};
  Gptq gptq = {};
};

// What a layer gained. The errors are mean squared differences of the layer's sums in the quantized
// network from those in the float one, over all pictures.
struct CorrectedLayer {
  std::size_t layer = 0;        // of Graph::layers
  double error_of_nearest = 0;  // of its weights to nearest; the layers before are corrected
  double error = 0;
  double seconds = 0;
};

struct CorrectedWeights {
  std::map<std::size_t, LayerWeights> weights;  // for quantize_network(): every layer with weights
  std::vector<CorrectedLayer> layers;
  std::int64_t pictures = 0;  // that fitted in memory
};

// `on_layer`, unless empty, is told of each layer with weights when it is done, and may throw. The
// same bits for any number of threads.
CorrectedWeights correct_layers(const Graph& graph, const TensorQuantizations& tensors,
                                const Scheme& scheme, const CalibrationPictures& pictures,
                                const Corrections& corrections, golden::ThreadTeam& team,
                                const std::function<void(const CorrectedLayer&)>& on_layer = {});

}  // namespace qsim::quantize
