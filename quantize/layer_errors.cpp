#include "quantize/layer_errors.h"

#include <algorithm>
#include <map>

#include "core/network/float_rules.h"
#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/real/real_executor.h"
#include "quantize/fake_network.h"
#include "quantize/fusion.h"
#include "quantize/layer_weights.h"

namespace qsim::quantize {
namespace {

// A tensor that is compared: float numbers, clamped, beside the levels of a tensor of the Graph.
struct Pair {
  TensorId real;
  float low;
  float high;
  TensorId levels;
  Quantization quantization;
};

std::vector<float> clamped(std::span<const float> numbers, const Pair& pair) {
  std::vector<float> result(numbers.begin(), numbers.end());
  for (float& x : result) x = clip(x, pair.low, pair.high);
  return result;
}

void add(std::span<const float> real, const Tensor& levels, const Quantization& quantization,
         TensorError& error) {
  if (levels.dtype == DType::kUint8) {
    add_levels(real, levels.as<std::uint8_t>(), quantization, error);
  } else {
    add_levels(real, levels.as<std::int8_t>(), quantization, error);
  }
}

class Comparison {
 public:
  Comparison(const Graph& graph, const TensorQuantizations& tensors,
             const QuantizedNetwork& network)
      : graph_(graph), single_(network.graph), real_(graph) {
    for (Value& tensor : single_.tensors) tensor.shape.batch = 1;
    integers_.emplace(single_);
    find_pairs(tensors);
  }

  NetworkError run(const CalibrationPictures& pictures, golden::ThreadTeam& team,
                   const std::function<void(std::int64_t)>& on_progress, std::int64_t most_bytes) {
    const std::int64_t batch =
        std::clamp<std::int64_t>(most_bytes / bytes_of_picture(), 1, kCalibrationBatch);
    for (std::int64_t first = 0; first < pictures.count; first += batch) {
      const std::int64_t count = std::min(batch, pictures.count - first);
      add_batch(pictures.read(first, count), team);
      if (on_progress) on_progress(first + count);
    }
    result_.output = result_.layers.empty() ? result_.input : output_error();
    return std::move(result_);
  }

 private:
  void find_pairs(const TensorQuantizations& tensors) {
    const Fusion fusion = fuse(graph_);
    const std::vector<LayerEnds> ends = ends_of(graph_, fusion, tensors);
    std::map<std::string, std::size_t, std::less<>> made;
    for (std::size_t i = 0; i < single_.layers.size(); ++i) made[single_.layers[i].name] = i;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    pairs_.push_back({graph_.input, -kInfinity, kInfinity, single_.input, *tensors[graph_.input]});
    for (std::size_t i = 0; i < fusion.layers.size(); ++i) {
      const FusedLayer& fused = fusion.layers[i];
      const Layer& layer = graph_.layers[fused.layer];
      const auto found = made.find(layer.name);
      if (found == made.end()) continue;  // the output does not depend on it
      pairs_.push_back({layer.output, fused.low, fused.high, single_.layers[found->second].output,
                        *ends[i].output});
      result_.layers.push_back({fused.layer, found->second, *ends[i].output, {}});
    }
  }

  std::int64_t bytes_of_picture() const {
    std::int64_t bytes = 1;
    for (const Value& tensor : graph_.tensors) {
      const ImageShape& shape = tensor.shape;
      bytes += 4 * shape.height * shape.width * shape.channels;
    }
    return bytes;
  }

  void add_batch(const Tensor& input, golden::ThreadTeam& team) {
    std::vector<Tensor> reals(graph_.tensors.size());
    real_.run(input, team, [&](TensorId id, const Tensor& tensor) { reals[id] = tensor; });
    const auto count = static_cast<std::size_t>(input.shape[0]);
    std::vector<std::vector<TensorError>> parts(count, std::vector<TensorError>(pairs_.size()));
    const Tensor levels = quantized_tensor(input, single_.input_value());
    team.run(count, [&](std::size_t n) { add_picture(n, levels, reals, parts[n]); });
    for (const std::vector<TensorError>& part : parts) {
      merge(part[0], result_.input);
      for (std::size_t i = 1; i < part.size(); ++i) merge(part[i], result_.layers[i - 1].error);
    }
  }

  void add_picture(std::size_t n, const Tensor& levels, const std::vector<Tensor>& reals,
                   std::vector<TensorError>& errors) const {
    std::vector<Tensor> tensors(single_.tensors.size());
    Tensor& input = tensors[single_.input];
    input = Tensor(levels.dtype, single_.input_value().shape.nhwc());
    const auto first = levels.bytes.begin() + static_cast<std::ptrdiff_t>(n * input.bytes.size());
    std::copy_n(first, input.bytes.size(), input.bytes.begin());
    std::vector<Tensor> ofmaps = integers_->run(input);
    for (std::size_t i = 0; i < ofmaps.size(); ++i) {
      tensors[single_.layers[i].output] = std::move(ofmaps[i]);
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const Tensor& made = tensors[pairs_[i].levels];
      const std::size_t each = made.bytes.size();
      const auto real = reals[pairs_[i].real].as<float>().subspan(n * each, each);
      add(clamped(real, pairs_[i]), made, pairs_[i].quantization, errors[i]);
    }
  }

  TensorError output_error() const {
    for (std::size_t i = 1; i < pairs_.size(); ++i) {
      if (pairs_[i].levels == single_.output) return result_.layers[i - 1].error;
    }
    return {};
  }

  const Graph& graph_;
  Graph single_;
  golden::RealExecutor real_;
  std::optional<golden::GraphExecutor> integers_;
  std::vector<Pair> pairs_;  // the input, then one a layer of the result
  NetworkError result_;
};

}  // namespace

NetworkError measure_errors(const Graph& graph, const TensorQuantizations& tensors,
                            const QuantizedNetwork& network, const CalibrationPictures& pictures,
                            golden::ThreadTeam& team,
                            const std::function<void(std::int64_t)>& on_progress,
                            std::int64_t most_bytes) {
  return Comparison(graph, tensors, network).run(pictures, team, on_progress, most_bytes);
}

}  // namespace qsim::quantize
