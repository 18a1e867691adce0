#include "tests/golden/cuda/network_builder.h"

#include <algorithm>
#include <cmath>

#include "tests/golden/random_graph.h"

namespace qsim::golden_test {
namespace {

// Random bytes have a deviation near 74, so psums one near 74 * 74 * sqrt(depth); the usual shift
// brings that to a few dozen.
std::int64_t usual_shift(std::int64_t depth) {
  const double deviation = 74.0 * 74.0 * std::sqrt(static_cast<double>(depth));
  return static_cast<std::int64_t>(std::log2(deviation / 40.0));
}

std::uint8_t random_shift(Random& random, std::int64_t depth, Numbers numbers) {
  if (numbers == Numbers::kAny && random.chance(0.05)) {
    return static_cast<std::uint8_t>(random.uniform(0, kMaxShift));
  }
  return static_cast<std::uint8_t>(
      std::clamp<std::int64_t>(usual_shift(depth) + random.uniform(-1, 1), 1, 20));
}

}  // namespace

Value random_quantization(Random& random, const ImageShape& shape) {
  Value value;
  value.shape = shape;
  value.dtype = random.chance(0.5) ? DType::kUint8 : DType::kInt8;
  const auto kind = random.uniform(0, 4);
  if (kind <= 1) {
    value.zero_point = 0;
  } else if (kind <= 3) {
    value.zero_point = value.is_unsigned() ? 128 : -128;
  } else {
    value.zero_point = static_cast<std::int32_t>(random.uniform(value.min(), value.max()));
  }
  value.scale = Scale::of(0.01F + 0.0001F * static_cast<float>(random.uniform(0, 400)));
  return value;
}

NetworkBuilder::NetworkBuilder(Random& random, const Value& input, Numbers numbers)
    : random_(random), numbers_(numbers) {
  graph_.name = "random";
  graph_.input_value() = input;
  current_ = graph_.input;
}

const Value& NetworkBuilder::current() const { return graph_.tensors[current_]; }

void NetworkBuilder::append(const char* kind, Operation operation, std::vector<TensorId> inputs,
                            const Value& output) {
  current_ = qsim::append(graph_, kind + std::to_string(graph_.layers.size()), std::move(operation),
                          std::move(inputs), output);
}

void NetworkBuilder::append(const char* kind, Operation operation, const Value& output) {
  append(kind, std::move(operation), {current_}, output);
}

// Scales near those of the usual shifts.
void NetworkBuilder::set_requantizers(Requantization& rq, std::int64_t count, std::int64_t depth) {
  const auto rounding = numbers_ == Numbers::kAny
                            ? static_cast<RequantizerRounding>(
                                  random_.uniform(0, kAcceleratorRequantizerRoundings - 1))
                            : RequantizerRounding::kFloat32;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto multiplier =
        static_cast<std::uint32_t>(random_.uniform(kLeastMultiplier, kMostMultiplier));
    const int shift = random_shift(random_, depth, numbers_) + kMultiplierBits;
    rq.requantizers.push_back({multiplier, shift, rounding});
  }
}

Value NetworkBuilder::quantization(const ImageShape& shape) {
  Value value = random_quantization(random_, shape);
  if (numbers_ == Numbers::kPlain || (numbers_ == Numbers::kUsual && random_.chance(0.6))) {
    value.zero_point = 0;
  }
  return value;
}

Requantization NetworkBuilder::requantization(const Value& output, std::int64_t depth) {
  Requantization rq;
  rq.lo = output.min();
  rq.hi = output.max();
  const bool per_tensor = numbers_ == Numbers::kPlain || random_.chance(0.5);
  const std::int64_t count = per_tensor ? 1 : output.shape.channels;
  const bool scaled =
      numbers_ == Numbers::kScaled || (numbers_ != Numbers::kPlain && random_.chance(0.5));
  if (scaled) set_requantizers(rq, count, depth);
  for (std::int64_t i = 0; i < count && !scaled; ++i) {
    rq.shifts.push_back(random_shift(random_, depth, numbers_));
  }
  if (numbers_ == Numbers::kPlain) return rq;
  if (random_.chance(0.3)) {
    rq.lo = static_cast<std::int32_t>(random_.uniform(output.min(), output.zero_point));
  }
  if (random_.chance(0.2)) rq.hi = static_cast<std::int32_t>(random_.uniform(rq.lo, rq.hi));
  if (numbers_ == Numbers::kAny && !scaled) {
    rq.rounding = static_cast<RoundingMode>(random_.uniform(0, kRoundingModes - 1));
  }
  return rq;
}

Tensor NetworkBuilder::bias(std::int64_t channels, std::int64_t depth) {
  Tensor tensor(DType::kInt32, {channels});
  const bool any =
      numbers_ == Numbers::kAny && random_.chance(0.15);  // sums that no longer fit 32 bits
  const auto usual = static_cast<std::int64_t>(5000.0 * std::sqrt(static_cast<double>(depth)));
  for (std::int32_t& value : tensor.as<std::int32_t>()) {
    value = static_cast<std::int32_t>(any ? random_.uniform(INT32_MIN, INT32_MAX)
                                          : random_.uniform(-usual, usual));
  }
  return tensor;
}

NetworkBuilder& NetworkBuilder::conv2d(std::int64_t out_channels, const Window& window,
                                       std::int64_t groups) {
  const ImageShape in = shape();
  const std::int64_t depth = window.kernel_h * window.kernel_w * in.channels / groups;
  const Value output = quantization({in.batch,
                                     window_count(in.height, window.extent_h(), window.stride_h,
                                                  window.pad_top, window.pad_bottom),
                                     window_count(in.width, window.extent_w(), window.stride_w,
                                                  window.pad_left, window.pad_right),
                                     out_channels});
  Conv2d conv{window,
              random_tensor(random_, DType::kInt8,
                            {out_channels, window.kernel_h, window.kernel_w, in.channels / groups}),
              bias(out_channels, depth), requantization(output, depth), groups};
  append("conv", std::move(conv), output);
  return *this;
}

NetworkBuilder& NetworkBuilder::fully_connected(std::int64_t out_channels) {
  const std::int64_t depth = shape().channels;
  const Value output = quantization({shape().batch, 1, 1, out_channels});
  FullyConnected fc{random_tensor(random_, DType::kInt8, {out_channels, depth}),
                    bias(out_channels, depth), requantization(output, depth)};
  append("fc", std::move(fc), output);
  return *this;
}

NetworkBuilder& NetworkBuilder::max_pool(const Window& window, bool ceil_mode) {
  Value output = current();
  ImageShape& s = output.shape;
  s.height = window_count(s.height, window.kernel_h, window.stride_h, window.pad_top,
                          window.pad_bottom, ceil_mode);
  s.width = window_count(s.width, window.kernel_w, window.stride_w, window.pad_left,
                         window.pad_right, ceil_mode);
  append("pool", MaxPool{window}, output);
  return *this;
}

NetworkBuilder& NetworkBuilder::relu() {
  append("relu", Relu{}, Value(current()));
  return *this;
}

NetworkBuilder& NetworkBuilder::flatten(Flatten::Order order) {
  Value output = current();
  const ImageShape& s = current().shape;
  output.shape = {s.batch, 1, 1, s.height * s.width * s.channels};
  append("flatten", Flatten{order}, output);
  return *this;
}

NetworkBuilder& NetworkBuilder::add(TensorId other, bool other_is_first) {
  const Value output = quantization(shape());
  Add sum;
  sum.lo = output.min();
  sum.hi = output.max();
  std::vector<TensorId> inputs{current_, other};
  if (other_is_first) std::swap(inputs[0], inputs[1]);
  append("add", sum, std::move(inputs), output);
  return *this;
}

NetworkBuilder& NetworkBuilder::global_average_pool() {
  const ImageShape in = shape();
  AveragePool pool{{in.height, in.width}};
  const Value output = quantization({in.batch, 1, 1, in.channels});
  pool.lo = output.min();
  pool.hi = output.max();
  append("mean", pool, output);
  return *this;
}

NetworkBuilder& NetworkBuilder::lookup_table() {
  LookupTable table{"random", {}};
  for (std::uint8_t& byte : table.bytes) byte = static_cast<std::uint8_t>(random_.next() >> 40);
  append("table", table, quantization(shape()));
  return *this;
}

NetworkBuilder& NetworkBuilder::read(TensorId tensor) {
  current_ = tensor;
  return *this;
}

Graph NetworkBuilder::build() const {
  validate(graph_);
  return graph_;
}

Window square(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {kernel, kernel, stride, stride, pad, pad, pad, pad};
}

}  // namespace qsim::golden_test
