#include <algorithm>
#include <functional>

#include "golden/host/product_kernels.h"
#include "golden/host/quantization.h"

namespace qsim::golden {
namespace {

// What LSTM, GRU and RNN have in common.
struct RecurrentLayer {
  std::int64_t directions = 1;
  bool begins_reversed = false;
  bool batch_first = false;  // attribute layout
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  std::int64_t gates = 0;
  std::optional<float> bound;                // attribute clip
  std::vector<NamedActivation> activations;  // of the first direction, then of the second

  std::int64_t wide() const { return gates * hidden; }
  Shape state_shape() const {
    return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
  std::int64_t state_at(std::int64_t direction, std::int64_t b) const {
    return (batch_first ? b * directions + direction : direction * batch + b) * hidden;
  }
  std::int64_t row(std::int64_t step, std::int64_t b) const {
    return batch_first ? b * steps + step : step * batch + b;
  }
  float bounded(float x) const { return bound ? std::clamp(x, -*bound, *bound) : x; }
};

// Weights of levels, [inner][columns], less their zero_points; a scale a column.
struct LevelsMatrix {
  std::vector<std::int32_t> levels;
  std::vector<float> scales;

  // The products of `rows` rows, quantized together as DynamicQuantizeLinear would.
  std::vector<float> product(std::span<const float> a, std::int64_t rows) const {
    const auto columns = static_cast<std::int64_t>(scales.size());
    const std::int64_t inner = columns == 0 ? 0 : std::ssize(levels) / columns;
    const LevelsScale from = dynamic_quantization(a);
    std::vector<std::int32_t> rows_of_levels(a.size());
    std::ranges::transform(a, rows_of_levels.begin(), [&](float value) {
      return quantized_level(value, from) - from.zero_point;
    });
    std::vector<std::int32_t> sums(static_cast<std::size_t>(rows * columns), 0);
    add_product(rows_of_levels.data(), levels.data(), sums.data(), rows, inner, columns);
    std::vector<float> reals(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      reals[i] = static_cast<float>(sums[i]) * (from.scale * scales[i % scales.size()]);
    }
    return reals;
  }
};

// One direction of one layer during a run. Sums have a row of all gates for each of the batch.
struct RecurrentCell {
  const RecurrentLayer& layer;
  const NamedActivation* activations;
  std::vector<float> input_bias;     // a number for each gate and hidden unit
  std::vector<float> state_bias;     // the same
  std::vector<float> state_weights;  // [hidden][gates * hidden]
  LevelsMatrix state_levels;         // in their place where the node has levels
  std::vector<float> peepholes;      // an LSTM's, of gates i, o and f
  std::vector<float> input_sums;     // of this step, with no bias
  std::vector<float> h;              // [batch][hidden]
  std::vector<float> c;              // an LSTM's
};

void check_tensor(const HostCall& call, std::size_t index, const Shape& shape) {
  if (!call.has(index)) return;
  if (call.dtype(index) != DType::kFloat32) {
    call.refuse(
        "input " + std::to_string(index) + " of " + std::string(dtype_name(call.dtype(index))),
        "float32");
  }
  if (call.shape(index) != shape) {
    call.malformed("input " + std::to_string(index) + " of shape " + shape_text(call.shape(index)),
                   shape_text(shape));
  }
}

void check_level_weights(const HostCall& call, std::size_t index, const Shape& shape) {
  check_levels(call, index);
  if (call.shape(index) == shape) return;
  call.malformed("input " + std::to_string(index) + " of shape " + shape_text(call.shape(index)),
                 shape_text(shape));
}

void read_direction(const HostCall& call, RecurrentLayer& layer) {
  const std::string direction = call.attribute("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    call.malformed("direction '" + direction + "'", "forward, reverse or bidirectional");
  }
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.begins_reversed = direction == "reverse";
}

// The activations of each direction: those listed, or `defaults`. Numbers belong to the activations
// that have some, in order.
void read_activations(const HostCall& call, const std::vector<std::string>& defaults,
                      RecurrentLayer& layer) {
  std::vector<std::string> names;
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    names.insert(names.end(), defaults.begin(), defaults.end());
  }
  const auto listed = call.text_list("activations");
  if (listed && listed->size() != names.size()) {
    call.malformed(std::to_string(listed->size()) + " activations", std::to_string(names.size()));
  }
  const auto alphas = call.real_list("activation_alpha").value_or(std::vector<float>{});
  const auto betas = call.real_list("activation_beta").value_or(std::vector<float>{});
  std::size_t alpha_at = 0;
  std::size_t beta_at = 0;
  const auto next = [](const std::vector<float>& numbers, std::size_t& at) {
    return at < numbers.size() ? std::optional(numbers[at++]) : std::nullopt;
  };
  for (const std::string& name : listed.value_or(names)) {
    const int numbers = activation_numbers(name);
    const auto alpha = numbers > 0 ? next(alphas, alpha_at) : std::nullopt;
    const auto beta = numbers > 1 ? next(betas, beta_at) : std::nullopt;
    layer.activations.push_back(named_activation(call, name, alpha, beta));
  }
}

// The weights as float32 [directions][gates * hidden][...], or as levels the other way round.
enum class Weights : std::uint8_t { kReal, kLevels };

RecurrentLayer read_layer(const HostCall& call, std::int64_t gates,
                          const std::vector<std::string>& defaults,
                          Weights weights = Weights::kReal) {
  RecurrentLayer layer;
  read_direction(call, layer);
  layer.batch_first = call.attribute("layout", std::int64_t{0}) != 0;
  const Shape& shape = call.shape(0);
  if (shape.size() != 3 || call.shape(2).size() != 3) {
    call.malformed("shapes " + shape_text(shape) + " and " + shape_text(call.shape(2)),
                   "steps, batch and inputs, and weights of three axes");
  }
  layer.steps = shape[layer.batch_first ? 1 : 0];
  layer.batch = shape[layer.batch_first ? 0 : 1];
  layer.inputs = shape[2];
  layer.gates = gates;
  layer.hidden = call.attribute("hidden_size", call.shape(2)[weights == Weights::kReal ? 2 : 1]);
  if (call.has_attribute("clip")) {
    layer.bound = call.attribute("clip", 0.0F);
    if (!(*layer.bound >= 0.0F)) call.malformed("clip below 0", "0 or more");
  }
  const std::int64_t wide = checked_mul(gates, layer.hidden);
  check_tensor(call, 0, shape);
  if (weights == Weights::kReal) {
    check_tensor(call, 1, {layer.directions, wide, layer.inputs});
    check_tensor(call, 2, {layer.directions, wide, layer.hidden});
  } else {
    check_level_weights(call, 1, {layer.directions, layer.inputs, wide});
    check_level_weights(call, 2, {layer.directions, layer.hidden, wide});
  }
  check_tensor(call, 3, {layer.directions, checked_mul(2, wide)});
  check_tensor(call, 5, layer.state_shape());
  static_cast<void>(call.input(1));
  read_activations(call, defaults, layer);
  return layer;
}

void check_lengths(const HostCall& call, const RecurrentLayer& layer) {
  if (!call.has(4)) return;
  const std::vector<std::int64_t> lengths = call.integers(4);
  if (static_cast<std::int64_t>(lengths.size()) == layer.batch &&
      std::ranges::all_of(lengths, [&](auto length) { return length == layer.steps; })) {
    return;
  }
  call.refuse("sequence_lens other than " + std::to_string(layer.steps), "sequences of one length");
}

// The part of an input that belongs to a direction.
std::vector<float> part_of(const HostCall& call, std::size_t index, std::int64_t direction) {
  const auto values = elements<float>(call.input(index));
  const std::size_t size = values.size() / static_cast<std::size_t>(call.shape(index)[0]);
  const auto part = values.subspan(size * static_cast<std::size_t>(direction), size);
  return {part.begin(), part.end()};
}

std::vector<float> initial_state(const HostCall& call, std::size_t index,
                                 const RecurrentLayer& layer, std::int64_t direction) {
  std::vector<float> state(static_cast<std::size_t>(layer.batch * layer.hidden), 0.0F);
  if (!call.has(index)) return state;
  const auto values = elements<float>(call.input(index));
  for (std::int64_t b = 0; b < layer.batch; ++b) {
    std::copy_n(values.begin() + layer.state_at(direction, b), layer.hidden,
                state.begin() + b * layer.hidden);
  }
  return state;
}

// A direction's weights of levels, whose scale and zero_point are two inputs: one a direction, or
// one a column of it.
LevelsMatrix levels_of_direction(const HostCall& call, std::size_t index, std::size_t scale,
                                 std::int64_t direction) {
  const Shape& shape = call.shape(index);
  const auto columns = static_cast<std::size_t>(shape[2]);
  const auto size = static_cast<std::size_t>(shape[1]) * columns;
  const auto numbers = [&](std::size_t input) {
    std::vector<double> all = call.reals(input);
    const std::size_t each = all.size() / static_cast<std::size_t>(shape[0]);
    if (all.size() != each * static_cast<std::size_t>(shape[0]) || (each != 1 && each != columns)) {
      call.malformed(
          "input " + std::to_string(input) + " of " + std::to_string(all.size()) + " numbers",
          "one a direction, or one a column");
    }
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(each) * direction;
    std::vector<double> own(first, first + static_cast<std::ptrdiff_t>(each));
    own.resize(columns, own[0]);
    return own;
  };
  const std::vector<double> zero_points = numbers(scale + 1);
  LevelsMatrix matrix;
  for (const double number : numbers(scale)) matrix.scales.push_back(static_cast<float>(number));
  const std::vector<std::int32_t> levels = levels_of(call.input(index));
  matrix.levels.assign(levels.begin() + static_cast<std::ptrdiff_t>(size) * direction,
                       levels.begin() + static_cast<std::ptrdiff_t>(size) * (direction + 1));
  for (std::size_t i = 0; i < size; ++i) {
    matrix.levels[i] -= static_cast<std::int32_t>(zero_points[i % columns]);
  }
  return matrix;
}

RecurrentCell cell_of(const HostCall& call, const RecurrentLayer& layer, std::int64_t direction,
                      Weights weights) {
  const auto wide = static_cast<std::size_t>(layer.wide());
  RecurrentCell cell{.layer = layer,
                     .activations = layer.activations.data() +
                                    static_cast<std::size_t>(direction) * layer.activations.size() /
                                        static_cast<std::size_t>(layer.directions),
                     .input_bias = std::vector<float>(wide, 0.0F),
                     .state_bias = std::vector<float>(wide, 0.0F),
                     .state_weights = {},
                     .state_levels = {},
                     .peepholes = {},
                     .input_sums = {},
                     .h = initial_state(call, 5, layer, direction),
                     .c = {}};
  if (weights == Weights::kReal) {
    cell.state_weights = transposed(part_of(call, 2, direction).data(), layer.wide(), layer.hidden);
  } else {
    cell.state_levels = levels_of_direction(call, 2, 10, direction);
  }
  if (call.has(3)) {
    const std::vector<float> biases = part_of(call, 3, direction);
    std::copy_n(biases.begin(), wide, cell.input_bias.begin());
    std::copy_n(biases.begin() + layer.wide(), wide, cell.state_bias.begin());
  }
  return cell;
}

// The sums of h times the weights of `count` gates from `first` on: [batch][count * hidden].
std::vector<float> state_sums(const RecurrentCell& cell, const std::vector<float>& h,
                              std::int64_t first, std::int64_t count) {
  const RecurrentLayer& layer = cell.layer;
  if (!cell.state_levels.scales.empty()) return cell.state_levels.product(h, layer.batch);
  const std::int64_t columns = count * layer.hidden;
  std::vector<float> sums(static_cast<std::size_t>(layer.batch * columns), 0.0F);
  add_block(h.data(), cell.state_weights.data() + first * layer.hidden, layer.wide(), sums.data(),
            columns, layer.batch, layer.hidden, columns);
  return sums;
}

// The sums of all steps' inputs: [steps * batch][gates * hidden].
std::vector<float> input_sums(const HostCall& call, const RecurrentLayer& layer,
                              std::int64_t direction, Weights kind) {
  const std::int64_t rows = checked_mul(layer.steps, layer.batch);
  const auto inputs = elements<float>(call.input(0));
  if (kind == Weights::kLevels) {
    return levels_of_direction(call, 1, 8, direction).product(inputs, rows);
  }
  const std::vector<float> weights =
      transposed(part_of(call, 1, direction).data(), layer.wide(), layer.inputs);
  std::vector<float> sums(static_cast<std::size_t>(checked_mul(rows, layer.wide())), 0.0F);
  add_product(inputs.data(), weights.data(), sums.data(), rows, layer.inputs, layer.wide());
  return sums;
}

// Runs all directions and gives the outputs. prepare(cell, direction) completes a cell; step(cell)
// makes its states those after a step.
template <typename Prepare, typename Step>
void run_layer(HostCall& call, const RecurrentLayer& layer, Prepare prepare, Step step,
               Weights kind = Weights::kReal) {
  const Shape all = layer.batch_first
                        ? Shape{layer.batch, layer.steps, layer.directions, layer.hidden}
                        : Shape{layer.steps, layer.directions, layer.batch, layer.hidden};
  Tensor* y = call.output(0, DType::kFloat32, all);
  Tensor* last_h = call.output(1, DType::kFloat32, layer.state_shape());
  Tensor* last_c = call.output(2, DType::kFloat32, layer.state_shape());
  if (!call.computes()) return;
  check_lengths(call, layer);
  const auto keep = [&](const std::vector<float>& state, std::int64_t b, Tensor* to,
                        std::int64_t at) {
    if (to == nullptr) return;
    std::copy_n(state.begin() + b * layer.hidden, layer.hidden, to->as<float>().begin() + at);
  };
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    RecurrentCell cell = cell_of(call, layer, d, kind);
    prepare(cell, d);
    const std::vector<float> sums = input_sums(call, layer, d, kind);
    cell.input_sums.resize(static_cast<std::size_t>(layer.batch * layer.wide()));
    const bool is_reversed = layer.begins_reversed || d == 1;
    for (std::int64_t i = 0; i < layer.steps; ++i) {
      const std::int64_t at = is_reversed ? layer.steps - 1 - i : i;
      for (std::int64_t b = 0; b < layer.batch; ++b) {
        std::copy_n(sums.begin() + layer.row(at, b) * layer.wide(), layer.wide(),
                    cell.input_sums.begin() + b * layer.wide());
      }
      step(cell);
      for (std::int64_t b = 0; b < layer.batch; ++b) {
        const std::int64_t place = layer.batch_first
                                       ? (b * layer.steps + at) * layer.directions + d
                                       : (at * layer.directions + d) * layer.batch + b;
        keep(cell.h, b, y, place * layer.hidden);
      }
    }
    for (std::int64_t b = 0; b < layer.batch; ++b) {
      keep(cell.h, b, last_h, layer.state_at(d, b));
      if (!cell.c.empty()) keep(cell.c, b, last_c, layer.state_at(d, b));
    }
  }
}

// Calls body(index of the state, number(gate)) for each of batch and hidden, where number(gate) is
// the gate's sum of inputs and states and both biases.
template <typename Body>
void for_each_unit(const RecurrentCell& cell, const std::vector<float>& sums, std::int64_t gates,
                   Body body) {
  const RecurrentLayer& layer = cell.layer;
  for (std::int64_t b = 0; b < layer.batch; ++b) {
    for (std::int64_t j = 0; j < layer.hidden; ++j) {
      const auto number = [&, b, j](std::int64_t gate) {
        const auto unit = static_cast<std::size_t>(gate * layer.hidden + j);
        const float input = cell.input_sums[static_cast<std::size_t>(b * layer.wide()) + unit];
        const float state = sums[static_cast<std::size_t>(b * gates * layer.hidden) + unit];
        return input + state + (cell.input_bias[unit] + cell.state_bias[unit]);
      };
      body(static_cast<std::size_t>(b * layer.hidden + j), number);
    }
  }
}

void step_rnn(RecurrentCell& cell) {
  const std::vector<float> sums = state_sums(cell, cell.h, 0, 1);
  for_each_unit(cell, sums, 1, [&](std::size_t at, const auto& number) {
    cell.h[at] = cell.activations[0](cell.layer.bounded(number(0)));
  });
}

void step_lstm(RecurrentCell& cell, bool couples_input_and_forget) {
  const auto hidden = static_cast<std::size_t>(cell.layer.hidden);
  const std::vector<float> sums = state_sums(cell, cell.h, 0, 4);
  const NamedActivation& f = cell.activations[0];
  const NamedActivation& g = cell.activations[1];
  const NamedActivation& h = cell.activations[2];
  const auto gate = [&](std::size_t at, const auto& number, std::int64_t i, float c) {
    const float peephole =
        cell.peepholes.empty()
            ? 0.0F
            : cell.peepholes[static_cast<std::size_t>(i) * hidden + at % hidden] * c;
    return f(cell.layer.bounded(number(i) + peephole));
  };
  for_each_unit(cell, sums, 4, [&](std::size_t at, const auto& number) {
    const float before = cell.c[at];
    const float in = gate(at, number, 0, before);
    const float forget = couples_input_and_forget ? 1.0F - in : gate(at, number, 2, before);
    const float candidate = g(cell.layer.bounded(number(3)));
    const float kept = forget * before;
    const float added = in * candidate;
    cell.c[at] = kept + added;
    cell.h[at] = gate(at, number, 1, cell.c[at]) * h(cell.c[at]);
  });
}

void step_gru(RecurrentCell& cell, bool resets_products) {
  const RecurrentLayer& layer = cell.layer;
  const auto hidden = static_cast<std::size_t>(layer.hidden);
  const std::vector<float> sums = state_sums(cell, cell.h, 0, 3);
  std::vector<float> update(cell.h.size());
  std::vector<float> reset(cell.h.size());
  for_each_unit(cell, sums, 3, [&](std::size_t at, const auto& number) {
    update[at] = cell.activations[0](layer.bounded(number(0)));
    reset[at] = cell.activations[0](layer.bounded(number(1)));
  });
  std::vector<float> reset_sums;  // of the candidate: what the states add
  if (!resets_products) {
    std::vector<float> reset_h = cell.h;
    std::ranges::transform(reset_h, reset, reset_h.begin(), std::multiplies<>());
    reset_sums = state_sums(cell, reset_h, 2, 1);
  }
  for (std::size_t at = 0; at < cell.h.size(); ++at) {
    const std::size_t wide = at / hidden * 3 * hidden + 2 * hidden + at % hidden;
    const std::size_t unit = 2 * hidden + at % hidden;
    const float state = resets_products ? reset[at] * (sums[wide] + cell.state_bias[unit])
                                        : reset_sums[at] + cell.state_bias[unit];
    const float number = cell.input_sums[wide] + cell.input_bias[unit] + state;
    const float candidate = cell.activations[1](layer.bounded(number));
    const float added = (1.0F - update[at]) * candidate;
    const float kept = update[at] * cell.h[at];
    cell.h[at] = added + kept;
  }
}

void add_nothing(RecurrentCell&, std::int64_t) {}

}  // namespace

void run_rnn(HostCall& call) {
  const RecurrentLayer layer = read_layer(call, 1, {"Tanh"});
  run_layer(call, layer, add_nothing, step_rnn);
}

void run_gru(HostCall& call) {
  const RecurrentLayer layer = read_layer(call, 3, {"Sigmoid", "Tanh"});
  const bool resets_products = call.attribute("linear_before_reset", std::int64_t{0}) != 0;
  run_layer(call, layer, add_nothing,
            [&](RecurrentCell& cell) { step_gru(cell, resets_products); });
}

namespace {

void run_lstm_of(HostCall& call, Weights weights) {
  const RecurrentLayer layer = read_layer(call, 4, {"Sigmoid", "Tanh", "Tanh"}, weights);
  check_tensor(call, 6, layer.state_shape());
  check_tensor(call, 7, {layer.directions, checked_mul(3, layer.hidden)});
  const bool couples = call.attribute("input_forget", std::int64_t{0}) != 0;
  run_layer(
      call, layer,
      [&](RecurrentCell& cell, std::int64_t direction) {
        cell.c = initial_state(call, 6, layer, direction);
        if (call.has(7)) cell.peepholes = part_of(call, 7, direction);
      },
      [&](RecurrentCell& cell) { step_lstm(cell, couples); }, weights);
}

}  // namespace

void run_lstm(HostCall& call) { run_lstm_of(call, Weights::kReal); }

// Inputs 8 to 11 are the scales and zero_points of both weights.
void run_dynamic_lstm(HostCall& call) { run_lstm_of(call, Weights::kLevels); }

}  // namespace qsim::golden
