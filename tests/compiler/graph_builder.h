// Small random graphs for the compiler's tests: shapes are given, tensors drawn from a seed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/network/graph.h"

namespace qsim::testing {

// Appends layers one after the other; each reads the one before, unless from() says another.
class GraphBuilder {
 public:
  GraphBuilder(std::uint64_t seed, Value input) : random_(seed) {
    graph_.name = "test";
    graph_.input_value() = std::move(input);
  }

  GraphBuilder& conv(std::int64_t channels, const Window& window, int shift = 9,
                     std::int64_t groups = 1, bool wide = false) {
    const Value in = last();
    Conv2d conv;
    conv.window = window;
    conv.groups = groups;
    const Shape shape = {channels, window.kernel_h, window.kernel_w, in.shape.channels / groups};
    conv.weights = wide ? random_wide(shape) : random_int8(shape);
    conv.bias = random_int32(channels);
    conv.requantization.shifts = {static_cast<std::uint8_t>(shift)};
    Value out;
    out.zero_point = static_cast<std::int32_t>(random_.uniform(-40, 40));
    out.shape = {in.shape.batch,
                 window_count(in.shape.height, window.extent_h(), window.stride_h, window.pad_top,
                              window.pad_bottom),
                 window_count(in.shape.width, window.extent_w(), window.stride_w, window.pad_left,
                              window.pad_right),
                 channels};
    return add("conv", std::move(conv), out);
  }

  GraphBuilder& fully_connected(std::int64_t channels, int shift = 9, bool wide = false) {
    const Value in = last();
    FullyConnected fc;
    const Shape shape = {channels, in.shape.channels};
    fc.weights = wide ? random_wide(shape) : random_int8(shape);
    fc.bias = random_int32(channels);
    fc.requantization.shifts = {static_cast<std::uint8_t>(shift)};
    Value out;
    out.shape = {in.shape.batch, 1, 1, channels};
    return add("fc", std::move(fc), out);
  }

  GraphBuilder& max_pool(const Window& window, bool ceil_mode = false) {
    Value out = last();
    out.shape.height = window_count(out.shape.height, window.extent_h(), window.stride_h,
                                    window.pad_top, window.pad_bottom, ceil_mode);
    out.shape.width = window_count(out.shape.width, window.extent_w(), window.stride_w,
                                   window.pad_left, window.pad_right, ceil_mode);
    return add("pool", MaxPool{window}, out);
  }

  // `ratio` is the input's scale divided by the output's.
  GraphBuilder& average_pool(const Window& window, RequantizerRounding rounding, float ratio,
                             bool count_include_pad = true, bool ceil_mode = false) {
    Value& in = graph_.output_value();
    if (!in.scale) in.scale = Scale::power_of_two(-4);
    Value out = in;
    out.scale = Scale::of(in.scale->real() / ratio);
    out.zero_point = static_cast<std::int32_t>(random_.uniform(-40, 40));
    out.shape.height = window_count(in.shape.height, window.kernel_h, window.stride_h,
                                    window.pad_top, window.pad_bottom, ceil_mode);
    out.shape.width = window_count(in.shape.width, window.kernel_w, window.stride_w,
                                   window.pad_left, window.pad_right, ceil_mode);
    return add("average", AveragePool{window, count_include_pad, rounding}, out);
  }

  // Any function of a level.
  GraphBuilder& lookup_table() {
    LookupTable table{"random"};
    for (std::uint8_t& byte : table.bytes) byte = static_cast<std::uint8_t>(random_.next() >> 56);
    Value out = last();
    out.zero_point = static_cast<std::int32_t>(random_.uniform(-40, 40));
    return add("table", table, out);
  }

  // The sum of two tensors of one shape.
  GraphBuilder& sum(TensorId a, TensorId b) {
    const auto scale = [&] { return Scale::of(static_cast<float>(random_.uniform(1, 99)) / 640); };
    for (const TensorId operand : {a, b}) {
      if (!graph_.tensors[operand].scale) graph_.tensors[operand].scale = scale();
    }
    Value out = graph_.tensors[a];
    out.scale = scale();
    out.zero_point = static_cast<std::int32_t>(random_.uniform(-40, 40));
    const auto rounding = static_cast<RequantizerRounding>(random_.uniform(0, 3));
    append(graph_, "sum" + std::to_string(graph_.layers.size()), Add{rounding}, {a, b}, out);
    return *this;
  }

  // Joins tensors with the same rows, columns and quantization.
  GraphBuilder& concat(std::vector<TensorId> inputs) {
    Value out = graph_.tensors[inputs.front()];
    out.shape.channels = 0;
    for (const TensorId input : inputs) out.shape.channels += graph_.tensors[input].shape.channels;
    append(graph_, "concat" + std::to_string(graph_.layers.size()), Concat{}, std::move(inputs),
           out);
    return *this;
  }

  GraphBuilder& relu() { return add("relu", Relu{}, last()); }

  GraphBuilder& flatten(Flatten::Order order = Flatten::Order::kChw) {
    Value out = last();
    out.shape = {out.shape.batch, 1, 1, out.shape.height * out.shape.width * out.shape.channels};
    return add("flatten", Flatten{order}, out);
  }

  // The next layer reads this tensor, and not the last one.
  GraphBuilder& from(TensorId tensor) {
    graph_.output = tensor;
    return *this;
  }
  TensorId last_tensor() const { return graph_.output; }

  Graph build() const { return graph_; }
  Layer& last_layer() { return graph_.layers.back(); }
  Value& last_output() { return graph_.output_value(); }

  // Values over the whole range of the graph input's dtype.
  Tensor random_input() {
    Tensor tensor(graph_.input_value().dtype, graph_.input_value().shape.nhwc());
    for (std::byte& b : tensor.bytes) b = static_cast<std::byte>(random_.next() >> 56);
    return tensor;
  }

 private:
  const Value& last() const { return graph_.output_value(); }
  GraphBuilder& add(const std::string& name, Operation operation, const Value& output) {
    append(graph_, name + std::to_string(graph_.layers.size()), std::move(operation), output);
    return *this;
  }
  Tensor random_int8(Shape shape) {
    Tensor tensor(DType::kInt8, std::move(shape));
    for (std::byte& b : tensor.bytes) b = static_cast<std::byte>(random_.next() >> 56);
    return tensor;
  }
  // Weights of nine bits; half of the tensors have numbers beyond the sum of two int8 numbers.
  Tensor random_wide(Shape shape) {
    Tensor tensor(DType::kInt16, std::move(shape));
    const std::int64_t most = random_.chance(0.5) ? 254 : kMostWideWeight;
    for (std::int16_t& w : tensor.as<std::int16_t>()) {
      w = static_cast<std::int16_t>(random_.uniform(-kMostWideWeight, most));
    }
    return tensor;
  }
  Tensor random_int32(std::int64_t channels) {
    Tensor tensor(DType::kInt32, {channels});
    for (std::int32_t& v : tensor.as<std::int32_t>()) {
      v = static_cast<std::int32_t>(random_.uniform(-20000, 20000));
    }
    return tensor;
  }

  Random random_;
  Graph graph_;
};

inline Value picture(std::int64_t batch, std::int64_t height, std::int64_t width,
                     std::int64_t channels, std::int32_t zero_point = 0,
                     DType dtype = DType::kInt8) {
  Value value;
  value.shape = {batch, height, width, channels};
  value.zero_point = zero_point;
  value.dtype = dtype;
  return value;
}

inline Window window(std::int64_t kernel, std::int64_t stride = 1, std::int64_t pad = 0) {
  return {kernel, kernel, stride, stride, pad, pad, pad, pad};
}

// An array with memories so small that modest layers need many tiles and chunks.
inline ArchConfig small_arch(std::int64_t rows, std::int64_t cols) {
  ArchConfig arch;
  arch.name = "small";
  arch.array_rows = rows;
  arch.array_cols = cols;
  arch.act_scratchpad_kib = rows >= 16 ? 4 : 1;
  arch.weight_scratchpad_kib = rows * cols >= 256 ? 8 : 1;
  arch.accumulator_kib = cols >= 16 ? 4 : 1;
  arch.output_scratchpad_kib = 1;
  arch.bus_bytes = 8;
  return arch;
}

}  // namespace qsim::testing
