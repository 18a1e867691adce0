#include "tests/fuzz/network_from_bytes.h"

#include <algorithm>
#include <bit>

#include "core/base/random.h"

namespace qsim::fuzz {
namespace {

constexpr std::int64_t kMostMacs = 50'000;
constexpr std::int64_t kMostElems = 6'000;  // of an activation

// Seeded bytes: of the whole range, small ones, the two ends alone, or all the same.
void fill(std::span<std::byte> bytes, ByteSource& source) {
  const std::int64_t mode = source.pick(0, 4);
  Random random(static_cast<std::uint64_t>(source.pick(0, 255)));
  for (std::byte& byte : bytes) {
    const auto draw = static_cast<std::uint8_t>(random.next() >> 40);
    const auto small = static_cast<std::uint8_t>(draw % 7 - 3);
    const std::uint8_t end = (draw & 1) != 0 ? 0x80 : 0x7F;
    const std::uint8_t values[] = {draw, draw, small, end, 0x80};
    byte = static_cast<std::byte>(values[mode]);
  }
}

class GraphMaker {
 public:
  explicit GraphMaker(ByteSource& bytes) : bytes_(bytes) {}

  Graph make();

 private:
  const Value& last() const { return graph_.output_value(); }
  bool is_vector() const { return last().shape.height == 1 && last().shape.width == 1; }
  void add(Operation operation, const Value& output);
  void add_conv2d();
  void add_fully_connected();
  void add_max_pool();
  void add_flatten();

  Value value(const ImageShape& shape);
  Window window(std::int64_t max_kernel, bool pad_below_kernel);
  Requantization requantization(const Value& output, std::int64_t depth);
  Tensor bias(std::int64_t channels, std::int64_t depth);
  Tensor weights(Shape shape);
  // As many as are asked for and the work that is left allows.
  std::int64_t out_channels(std::int64_t macs_per_channel);

  ByteSource& bytes_;
  Graph graph_;
  std::int64_t macs_left_ = kMostMacs;
};

Value GraphMaker::value(const ImageShape& shape) {
  Value value;
  value.shape = shape;
  value.dtype = bytes_.flag() ? DType::kUint8 : DType::kInt8;
  const std::int64_t kind = bytes_.pick(0, 3);
  value.zero_point = kind == 0   ? 0
                     : kind == 1 ? value.min()
                     : kind == 2 ? value.max()
                                 : static_cast<std::int32_t>(bytes_.pick(value.min(), value.max()));
  return value;
}

// One axis: a kernel that the padded picture holds.
void fit(std::int64_t size, std::int64_t& kernel, std::int64_t pad_begin, std::int64_t pad_end) {
  kernel = std::min(kernel, size + pad_begin + pad_end);
}

Window GraphMaker::window(std::int64_t max_kernel, bool pad_below_kernel) {
  Window w;
  w.kernel_h = bytes_.pick(1, max_kernel);
  w.kernel_w = bytes_.pick(1, max_kernel);
  w.stride_h = bytes_.pick(1, 5);
  w.stride_w = bytes_.pick(1, 5);
  const std::int64_t over = pad_below_kernel ? -1 : 2;
  for (std::int64_t* pad : {&w.pad_top, &w.pad_bottom}) *pad = bytes_.pick(0, w.kernel_h + over);
  for (std::int64_t* pad : {&w.pad_left, &w.pad_right}) *pad = bytes_.pick(0, w.kernel_w + over);
  fit(last().shape.height, w.kernel_h, w.pad_top, w.pad_bottom);
  fit(last().shape.width, w.kernel_w, w.pad_left, w.pad_right);
  if (!pad_below_kernel) return w;
  for (std::int64_t* pad : {&w.pad_top, &w.pad_bottom}) *pad = std::min(*pad, w.kernel_h - 1);
  for (std::int64_t* pad : {&w.pad_left, &w.pad_right}) *pad = std::min(*pad, w.kernel_w - 1);
  fit(last().shape.height, w.kernel_h, w.pad_top, w.pad_bottom);
  fit(last().shape.width, w.kernel_w, w.pad_left, w.pad_right);
  return w;
}

Requantization GraphMaker::requantization(const Value& output, std::int64_t depth) {
  Requantization rq;
  // Two in five of the modes are the golden's alone.
  rq.rounding =
      static_cast<RoundingMode>(bytes_.pick(0, bytes_.rarely(8) ? kRoundingModes - 1 : 2));
  // Psums of random bytes spread over 12 + log2(depth) / 2 bits.
  const int usual = 6 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(depth))) / 2;
  const bool anywhere = bytes_.rarely(6);
  const std::int64_t count = bytes_.flag() ? output.shape.channels : 1;
  const std::int64_t base = bytes_.pick(anywhere ? 0 : usual - 1, anywhere ? kMaxShift : usual + 2);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t shift = base + i % 3 - (count > 1 ? 1 : 0);
    rq.shifts.push_back(static_cast<std::uint8_t>(std::clamp<std::int64_t>(shift, 0, kMaxShift)));
  }
  const std::int64_t kind = bytes_.pick(0, 3);
  rq.lo = kind == 1 ? output.zero_point : output.min();
  rq.hi = output.max();
  if (kind == 2) {
    rq.lo = static_cast<std::int32_t>(bytes_.pick(output.min(), output.max()));
    rq.hi = static_cast<std::int32_t>(bytes_.pick(rq.lo, output.max()));
  }
  return rq;
}

Tensor GraphMaker::bias(std::int64_t channels, std::int64_t depth) {
  Tensor bias(DType::kInt32, {channels});
  const std::int64_t kind = bytes_.pick(0, 7);
  // Kind 7 no longer fits 32-bit sums; kind 6 just fits them.
  const std::int64_t limit = kind == 0   ? 0
                             : kind == 6 ? INT32_MAX - 128 * 255 * depth
                             : kind == 7 ? INT32_MAX
                                         : std::int64_t{100} << (2 * kind);
  Random random(static_cast<std::uint64_t>(bytes_.pick(0, 255)));
  for (std::int32_t& b : bias.as<std::int32_t>()) {
    b = static_cast<std::int32_t>(random.uniform(-limit, limit));
  }
  return bias;
}

Tensor GraphMaker::weights(Shape shape) {
  Tensor tensor(DType::kInt8, std::move(shape));
  fill(tensor.bytes, bytes_);
  return tensor;
}

std::int64_t GraphMaker::out_channels(std::int64_t macs_per_channel) {
  const std::int64_t wanted = bytes_.pick(1, 40);
  const std::int64_t most = std::max<std::int64_t>(1, macs_left_ / macs_per_channel);
  const std::int64_t channels = std::min(wanted, most);
  macs_left_ -= channels * macs_per_channel;
  return channels;
}

void GraphMaker::add(Operation operation, const Value& output) {
  const std::string name =
      std::string(operation_name(operation)) + std::to_string(graph_.layers.size());
  append(graph_, name, std::move(operation), output);
}

void GraphMaker::add_conv2d() {
  const ImageShape in = last().shape;
  const Window w = window(5, false);
  ImageShape out{in.batch, window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom),
                 window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right), 1};
  const std::int64_t depth = w.kernel_h * w.kernel_w * in.channels;
  out.channels = out_channels(out.batch * out.height * out.width * depth);
  const Value output = value(out);
  Conv2d conv;
  conv.window = w;
  conv.weights = weights({out.channels, w.kernel_h, w.kernel_w, in.channels});
  conv.bias = bias(out.channels, depth);
  conv.requantization = requantization(output, depth);
  add(std::move(conv), output);
}

void GraphMaker::add_fully_connected() {
  if (!is_vector()) add_flatten();
  const ImageShape in = last().shape;
  const ImageShape out{in.batch, 1, 1, out_channels(in.batch * in.channels)};
  const Value output = value(out);
  FullyConnected fc;
  fc.weights = weights({out.channels, in.channels});
  fc.bias = bias(out.channels, in.channels);
  fc.requantization = requantization(output, in.channels);
  add(std::move(fc), output);
}

void GraphMaker::add_max_pool() {
  const Window w = window(5, true);
  const bool ceil_mode = bytes_.flag();
  Value output = last();
  const ImageShape in = output.shape;
  output.shape.height =
      window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, ceil_mode);
  output.shape.width =
      window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right, ceil_mode);
  add(MaxPool{w}, output);
}

void GraphMaker::add_flatten() {
  Value output = last();
  const ImageShape& in = last().shape;
  output.shape = {in.batch, 1, 1, in.height * in.width * in.channels};
  add(Flatten{bytes_.flag() ? Flatten::Order::kHwc : Flatten::Order::kChw}, output);
}

Graph GraphMaker::make() {
  graph_.name = "fuzz";
  ImageShape in{bytes_.rarely(4) ? bytes_.pick(1, 5) : 1, bytes_.pick(1, 16), bytes_.pick(1, 16),
                bytes_.pick(1, 36)};
  in.batch = std::max<std::int64_t>(
      1, std::min(in.batch, kMostElems / (in.height * in.width * in.channels)));
  graph_.input_value() = value(in);
  const std::int64_t count = bytes_.pick(1, 6);
  for (std::int64_t i = 0; i < count; ++i) {
    switch (bytes_.pick(0, 7)) {
      case 0:
      case 1:
      case 2:
        add_conv2d();
        break;
      case 3:
      case 4:
        add_max_pool();
        break;
      case 5:
        add(Relu{}, last());
        break;
      case 6:
        add_fully_connected();
        break;
      default:
        add_flatten();
        break;
    }
  }
  return std::move(graph_);
}

}  // namespace

std::optional<ArchConfig> arch_from(ByteSource& bytes) {
  const auto power = [&](std::int64_t low, std::int64_t count) {
    return low << bytes.pick(0, count - 1);
  };
  ArchConfig arch;
  arch.name = "fuzz";
  arch.array_rows = power(4, 3);
  arch.array_cols = power(4, 3);
  arch.act_scratchpad_kib = power(1, 4);
  arch.weight_scratchpad_kib = power(1, 5);
  arch.accumulator_kib = power(1, 4);
  arch.output_scratchpad_kib = power(1, 3);
  arch.act_slots = power(2, 3);
  arch.weight_slots = power(2, 3);
  arch.bus_bytes = power(4, 4);
  arch.dram_latency_cycles = bytes.pick(1, 256);
  arch.burst_beats = bytes.pick(1, 256);
  arch.outstanding_bursts = bytes.pick(1, 32);
  try {
    validate(arch);
  } catch (const Error&) {
    return std::nullopt;
  }
  return arch;
}

Graph graph_from(ByteSource& bytes) { return GraphMaker(bytes).make(); }

Tensor input_from(ByteSource& bytes, const Value& value) {
  Tensor tensor(value.dtype, value.shape.nhwc());
  fill(tensor.bytes, bytes);
  return tensor;
}

}  // namespace qsim::fuzz
