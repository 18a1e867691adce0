#include "quantize/equalization.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "quantize/layer_weights.h"

namespace qsim::quantize {
namespace {

constexpr double kNearOne = 1e-3;

// Whether f(s x) = s f(x) for every s > 0.
bool is_scale_invariant(const Operation& operation) {
  if (const auto* activation = std::get_if<Activation>(&operation)) {
    using Kind = Activation::Kind;
    const auto is_free = [](float bound) { return bound == 0 || std::isinf(bound); };
    if (activation->kind == Kind::kClip) return is_free(activation->lo) && is_free(activation->hi);
    return activation->kind == Kind::kRelu || activation->kind == Kind::kLeakyRelu;
  }
  return std::holds_alternative<PRelu>(operation) || std::holds_alternative<MaxPool>(operation) ||
         std::holds_alternative<AveragePool>(operation) ||
         std::holds_alternative<Flatten>(operation);
}

// The one layer that reads `tensor`; nothing where none or several do, or the user.
std::optional<std::size_t> only_reader(const Graph& graph, TensorId tensor) {
  std::optional<std::size_t> found;
  if (tensor == graph.output) return std::nullopt;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    for (const TensorId input : graph.layers[i].inputs) {
      if (input != tensor) continue;
      if (found) return std::nullopt;
      found = i;
    }
  }
  return found;
}

// By element of the flattened picture: its channel.
std::vector<std::int64_t> flattened_channels(const ImageShape& shape, Flatten::Order order) {
  const std::int64_t pixels = shape.height * shape.width;
  std::vector<std::int64_t> channels(static_cast<std::size_t>(pixels * shape.channels));
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    channels[i] = order == Flatten::Order::kChw ? index / pixels : index % shape.channels;
  }
  return channels;
}

struct Pair {
  EqualizedPair layers;
  std::vector<std::int64_t> channel_of_input;  // of the second layer's inputs: the first's channel
};

class PairSearch {
 public:
  PairSearch(const Graph& graph, std::vector<std::string>& left_out)
      : graph_(graph), left_out_(left_out) {}

  std::optional<Pair> from(std::size_t first) {
    const Layer& layer = graph_.layers[first];
    TensorId tensor = layer.output;
    std::vector<std::int64_t> channels(
        static_cast<std::size_t>(graph_.tensors[tensor].shape.channels));
    for (std::size_t c = 0; c < channels.size(); ++c) channels[c] = static_cast<std::int64_t>(c);
    while (const auto reader = only_reader(graph_, tensor)) {
      const Layer& next = graph_.layers[*reader];
      if (weights_of(next.operation)) return Pair{{first, *reader}, std::move(channels)};
      if (!is_scale_invariant(next.operation)) {
        note(layer, next);
        return std::nullopt;
      }
      if (const auto* flatten = std::get_if<Flatten>(&next.operation)) {
        std::vector<std::int64_t> flattened =
            flattened_channels(graph_.tensors[tensor].shape, flatten->order);
        for (std::int64_t& c : flattened) c = channels[static_cast<std::size_t>(c)];
        channels = std::move(flattened);
      }
      tensor = next.output;
    }
    return std::nullopt;
  }

 private:
  void note(const Layer& layer, const Layer& next) {
    if (!std::holds_alternative<Activation>(next.operation)) return;
    left_out_.push_back(layer.name + ": " + std::string(operation_name(next.operation)) + " '" +
                        next.name + "' depends on the size of its input");
  }

  const Graph& graph_;
  std::vector<std::string>& left_out_;
};

// Weights of a layer by what they read: calls visit(channel of the first layer, weight).
template <typename Visit>
void for_weights_by_input(const Pair& pair, Operation& second, const Visit& visit) {
  Tensor& tensor = *weights_of(second)->weights;
  const auto weights = tensor.as<float>();
  const auto* conv = std::get_if<Conv2d>(&second);
  const std::int64_t depth = tensor.shape.back();  // input channels of a group
  const std::int64_t each = tensor.elems() / tensor.shape[0];
  const std::int64_t of_group = tensor.shape[0] / (conv != nullptr ? conv->groups : 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const std::int64_t input = index / each / of_group * depth + index % depth;
    visit(static_cast<std::size_t>(pair.channel_of_input[static_cast<std::size_t>(input)]),
          weights[i]);
  }
}

// Calls visit(channel, weight).
template <typename Visit>
void for_weights_by_output(Operation& first, const Visit& visit) {
  Tensor& tensor = *weights_of(first)->weights;
  const auto weights = tensor.as<float>();
  const std::size_t each = weights.size() / static_cast<std::size_t>(tensor.shape[0]);
  for (std::size_t i = 0; i < weights.size(); ++i) visit(i / each, weights[i]);
}

double factor_of(double first_range, double second_range, const Equalization& options) {
  if (!(first_range > 0) || !(second_range > 0)) return 1;
  const double ratio = first_range / second_range;
  if (!options.powers_of_two) return std::sqrt(ratio);
  // n with 2^(2n - 1) <= ratio < 2^(2n + 1)
  const int n = static_cast<int>(std::floor((std::ilogb(ratio) + 1) / 2.0));
  return std::ldexp(1.0, n);
}

// Returns the largest of the factors and their reciprocals.
double equalize_pair(const Pair& pair, const Equalization& options, Graph& graph) {
  Operation& first = graph.layers[pair.layers.first].operation;
  Operation& second = graph.layers[pair.layers.second].operation;
  const auto bias = weights_of(first)->bias->as<float>();
  const std::size_t channels = bias.size();
  std::vector<double> first_range(channels);
  std::vector<double> second_range(channels);
  for_weights_by_output(first, [&](std::size_t c, const float& weight) {
    first_range[c] = std::max(first_range[c], std::abs(static_cast<double>(weight)));
  });
  for_weights_by_input(pair, second, [&](std::size_t c, const float& weight) {
    second_range[c] = std::max(second_range[c], std::abs(static_cast<double>(weight)));
  });
  std::vector<double> factors(channels);
  double farthest = 1;
  for (std::size_t c = 0; c < channels; ++c) {
    factors[c] = factor_of(first_range[c], second_range[c], options);
    farthest = std::max({farthest, factors[c], 1 / factors[c]});
  }
  for_weights_by_output(first, [&](std::size_t c, float& weight) {
    weight = static_cast<float>(weight / factors[c]);
  });
  for_weights_by_input(pair, second, [&](std::size_t c, float& weight) {
    weight = static_cast<float>(weight * factors[c]);
  });
  for (std::size_t c = 0; c < channels; ++c) bias[c] = static_cast<float>(bias[c] / factors[c]);
  return farthest;
}

}  // namespace

EqualizedGraph equalize(const Graph& graph, const Equalization& options) {
  EqualizedGraph result{graph, {}, {}, 0};
  std::vector<Pair> pairs;
  PairSearch search(graph, result.left_out);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (!weights_of(graph.layers[i].operation)) continue;
    if (auto pair = search.from(i)) {
      result.pairs.push_back(pair->layers);
      pairs.push_back(std::move(*pair));
    }
  }
  double farthest = std::numeric_limits<double>::infinity();
  while (!pairs.empty() && farthest > 1 + kNearOne && result.rounds < options.most_rounds) {
    farthest = 1;
    for (const Pair& pair : pairs) {
      farthest = std::max(farthest, equalize_pair(pair, options, result.graph));
    }
    ++result.rounds;
  }
  return result;
}

}  // namespace qsim::quantize
