// Random gradients on the GPU: within their bounds of float64, or the CPU's bits; each twice.
#include <string>

#include "golden/common/thread_team.h"
#include "golden/device/stream.h"
#include "golden/train/cuda/train_cuda.h"
#include "golden/train/train.h"
#include "tests/golden/train/cuda/gradient_commands.h"
#include "tests/golden/train/cuda/gradient_report.h"
#include "tests/golden/train/cuda/random_conv.h"
#include "tests/golden/train/cuda/random_tensors.h"

namespace qsim::golden_test {
namespace {

using namespace qsim::golden;
using cuda::DeviceBuffer;
using train::RealTensor;
using train::RealType;

// Never empty, so that its address is one.
template <typename T>
DeviceBuffer on_device(std::vector<T> values) {
  if (values.empty()) values.resize(16);
  return cuda::upload(values);
}
const std::uint8_t* bits_or_null(const DeviceBuffer& buffer,
                                 const std::vector<std::uint8_t>& bits) {
  return bits.empty() ? nullptr : buffer.as();
}

template <typename Call>
void run(const Call& call) {
  const cuda::Stream stream;
  const DeviceBuffer workspace = cuda::poisoned(train::cuda::workspace_bytes(call) + 256);
  train::cuda::enqueue(call, workspace.as<void>(), stream.get());
  stream.synchronize("a gradient");
}

RealType random_type(Random& random) { return static_cast<RealType>(random.uniform(0, 2)); }

// The relative rounding of a type's numbers.
double rounding_of(RealType type) {
  if (type == RealType::kFloat32) return 0;
  return type == RealType::kFloat16 ? 0x1p-11 : 0x1p-8;
}

// The bound of a sum in float32 of exact products, in any order.
double bound_of(const ExactSum& exact) {
  return (static_cast<double>(exact.terms) + 2) * 0x1p-24 * exact.magnitude;
}

// The greatest share of its bound that an element's error takes. `found` has rounding_of(type).
template <typename Passes>
double share_of(const std::vector<ExactSum>& exact, const std::vector<float>& found, double scale,
                RealType type, const Passes& passes) {
  double greatest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const bool passing = passes_of(passes, static_cast<std::int64_t>(i));
    const double expected = passing ? exact[i].sum * scale : 0;
    double bound = passing ? bound_of(exact[i]) * scale : 0;
    bound += rounding_of(type) * (std::abs(expected) + bound);
    if (type == RealType::kFloat16) bound += 0x1p-25;
    const double error = std::abs(static_cast<double>(found[i]) - expected);
    if (error == 0) continue;
    const double share = bound == 0 ? 1e9 : error / bound;
    if (!(share <= greatest)) greatest = share;
  }
  return greatest;
}

std::vector<float> values_of(StridedTensor& tensor, std::vector<std::uint8_t> memory) {
  tensor.set_memory(std::move(memory));
  const RealTensor host = tensor.on_host();
  std::vector<float> values(static_cast<std::size_t>(host.elems()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto left = static_cast<std::int64_t>(i);
    std::int64_t at = 0;
    for (std::size_t axis = 4; axis-- > 0;) {
      at += left % host.shape[axis] * host.strides[axis];
      left /= host.shape[axis];
    }
    if (host.type == RealType::kFloat32) {
      values[i] = static_cast<const float*>(host.data)[at];
    } else {
      const auto code = static_cast<const std::uint16_t*>(host.data)[at];
      values[i] = host.type == RealType::kFloat16 ? float_from_half(code) : float_of_bfloat16(code);
    }
  }
  return values;
}

class RandomCase {
 public:
  RandomCase(std::uint64_t seed, const std::string& plant, GradientReport& report)
      : random_(seed), seed_(seed), plant_(plant), report_(report) {}

  void check_conv() {
    const RandomConv layer = random_conv(random_);
    const std::string text = "seed " + std::to_string(seed_) + ", " + layer.text();
    const DeviceBuffer q = on_device(layer.q), w = on_device(layer.w), g = on_device(layer.g);
    const DeviceBuffer w_scales = on_device(layer.w_scales);
    const bool planted_zero = plant_ == "zero_point";
    const DeviceBuffer zero =
        on_device(std::vector<std::int32_t>{layer.zero_point + (planted_zero ? 1 : 0)});
    const DeviceBuffer scale =
        on_device(std::vector<float>{layer.scale * (plant_ == "scale" ? 1.001F : 1.0F)});
    train::LevelConv conv = layer.conv;
    conv.q = q.as<std::int8_t>();
    conv.w = w.as<std::int8_t>();
    conv.zero_point = layer.zero_point == 0 && !planted_zero ? nullptr : zero.as<std::int32_t>();
    if (plant_ == "pads") ++conv.window.pad_left;
    check_input(layer, conv, w_scales, g, text);
    check_weight(layer, conv, scale, g, text);
  }

  void check_operand() {
    const RealType type = random_type(random_);
    const std::array<std::int64_t, 4> shape = {random_.uniform(1, 4), random_.uniform(1, 20),
                                               random_.uniform(1, 20), random_channels()};
    StridedTensor dy(random_, shape, type);
    fill(dy);
    const std::int64_t elems = dy.description().elems();
    const std::vector<std::uint8_t> passes = random_passes(random_, elems);
    std::vector<std::uint16_t> expected(static_cast<std::size_t>(elems));
    const auto channels = static_cast<std::size_t>(shape[3]);
    std::vector<float> sums(channels);
    train::compute(train::GradientOperand{dy.on_host(), passes.empty() ? nullptr : passes.data(),
                                          expected.data(), sums.data()},
                   team_);
    const DeviceBuffer bits = on_device(planted(passes));
    const bool has_bias = random_.chance(0.8);
    std::vector<std::uint16_t> g[2];
    std::vector<float> bias[2];
    for (int turn = 0; turn < 2; ++turn) {
      const DeviceBuffer to = cuda::poisoned(expected.size() * 2);
      const DeviceBuffer bias_gradient = cuda::poisoned(channels * 4);
      run(train::GradientOperand{dy.on_device(), bits_or_null(bits, passes), to.as<std::uint16_t>(),
                                 has_bias ? bias_gradient.as<float>() : nullptr});
      g[turn] = download<std::uint16_t>(to, expected.size());
      bias[turn] = download<float>(bias_gradient, channels);
    }
    const std::string text = "seed " + std::to_string(seed_) + ", " + text_of(dy.description());
    report_.add_exact("gradient_operand: g", g[0] == expected && g[1] == expected, text);
    if (!has_bias) return;
    std::vector<ExactSum> exact(channels);
    const std::vector<float> values = values_of(dy, dy.memory());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!passes_of(passes, static_cast<std::int64_t>(i))) continue;
      exact[i % channels].sum += values[i];
      exact[i % channels].magnitude += std::abs(values[i]);
      ++exact[i % channels].terms;
    }
    report_.add("gradient_operand: bias",
                share_of(exact, bias[0], 1, RealType::kFloat32, std::vector<std::uint8_t>{}), text);
    report_.add_exact("gradient_operand: bias again", same(bias[0], bias[1]), text);
  }

  void check_pool() {
    train::MaxPoolGradient call;
    Window& w = call.window;
    w.kernel_h = random_.uniform(1, 3);
    w.kernel_w = random_.uniform(1, 3);
    w.stride_h = random_.uniform(1, 3);
    w.stride_w = random_.uniform(1, 3);
    w.pad_top = random_.uniform(0, w.kernel_h - 1);
    w.pad_left = random_.uniform(0, w.kernel_w - 1);
    if (random_.chance(0.4)) w = Window{2, 2, 2, 2};
    call.x_shape = {random_.uniform(1, 3), random_.uniform(3, 20), random_.uniform(3, 20),
                    random_channels()};
    call.y_shape = call.x_shape;
    call.y_shape.height = (call.x_shape.height + w.pad_top - w.kernel_h) / w.stride_h + 1;
    call.y_shape.width = (call.x_shape.width + w.pad_left - w.kernel_w) / w.stride_w + 1;
    const auto shape = [](const ImageShape& s) {
      return std::array<std::int64_t, 4>{s.batch, s.height, s.width, s.channels};
    };
    StridedTensor dy(random_, shape(call.y_shape), random_type(random_));
    fill(dy);
    const RealType dx_type = random_.chance(0.5) ? dy.description().type : random_type(random_);
    StridedTensor dx(random_, shape(call.x_shape), dx_type);
    StridedTensor expected = StridedTensor(dx.description());
    std::vector<std::int8_t> q = random_levels(random_, dx.description().elems());
    for (std::int8_t& level : q) level = static_cast<std::int8_t>(level % 3);  // many are equal
    const std::vector<std::uint8_t> passes = random_passes(random_, dx.description().elems());
    call.q = q.data();
    call.passes = passes.empty() ? nullptr : passes.data();
    call.dy = dy.on_host();
    call.dx = expected.on_host();
    train::compute(call, team_);
    const DeviceBuffer levels = on_device(q), bits = on_device(planted(passes));
    call.q = levels.as<std::int8_t>();
    call.passes = bits_or_null(bits, passes);
    call.dy = dy.on_device();
    call.dx = dx.on_device();
    run(call);
    report_.add_exact("max_pool_gradient", dx.downloaded() == expected.memory(),
                      "seed " + std::to_string(seed_) + ", " + text_of(dx.description()));
  }

  void check_step() {
    train::StepGradient call;
    call.channels = random_.chance(0.4) ? 1 : random_.uniform(2, 40);
    call.elems = call.channels * random_.uniform(0, random_.chance(0.2) ? 20000 : 300);
    const auto count = static_cast<std::size_t>(call.elems);
    const auto channels = static_cast<std::size_t>(call.channels);
    std::vector<float> dq(count), dx(count), steps(channels);
    for (float& value : dq) value = random_real(random_);
    const std::vector<std::int8_t> q = random_levels(random_, call.elems);
    const std::vector<std::int8_t> residual = random_levels(random_, call.elems);
    std::vector<std::uint8_t> passes = random_passes(random_, call.elems);
    if (passes.empty()) passes.assign(count / 8 + 1, 0xFF);
    const std::vector<std::int32_t> zero_point = {
        static_cast<std::int32_t>(random_.uniform(-128, 127))};
    train::StepGradient host = call;
    host.dq = dq.data();
    host.q = q.data();
    host.residual = residual.data();
    host.passes = passes.data();
    host.zero_point = zero_point.data();
    host.dx = dx.data();
    host.step_gradient = steps.data();
    train::compute(host, team_);
    const DeviceBuffer from = on_device(dq), levels = on_device(q), rest = on_device(residual);
    const DeviceBuffer bits = on_device(planted(passes)), zero = on_device(zero_point);
    const DeviceBuffer to = cuda::poisoned(count * 4 + 16);
    const DeviceBuffer sums[2] = {cuda::poisoned(channels * 4), cuda::poisoned(channels * 4)};
    call.dq = from.as<float>();
    call.q = levels.as<std::int8_t>();
    call.residual = rest.as<std::int8_t>();
    call.passes = bits.as();
    call.zero_point = zero.as<std::int32_t>();
    call.dx = to.as<float>();
    for (const DeviceBuffer& sum : sums) {
      call.step_gradient = sum.as<float>();
      run(call);
    }
    const std::string text = "seed " + std::to_string(seed_) + ", " + std::to_string(call.elems) +
                             " elements of " + std::to_string(call.channels) + " channels";
    report_.add_exact("step_gradient: dx", same(download<float>(to, count), dx), text);
    std::vector<ExactSum> exact(channels);
    for (std::size_t i = 0; i < count; ++i) {
      const double factor = passes_of(passes, static_cast<std::int64_t>(i)) ? -residual[i] / 127.0
                                                                            : q[i] - zero_point[0];
      ExactSum& sum = exact[i / (count / channels)];
      sum.sum += dq[i] * factor;
      sum.magnitude += std::abs(dq[i] * factor);
      sum.terms += 2;  // the factor is rounded too
    }
    const std::vector<float> found = download<float>(sums[0], channels);
    report_.add("step_gradient: steps",
                share_of(exact, found, 1, RealType::kFloat32, std::vector<std::uint8_t>{}), text);
    report_.add_exact("step_gradient: again", same(found, download<float>(sums[1], channels)),
                      text);
  }

 private:
  void check_input(const RandomConv& layer, const train::LevelConv& conv,
                   const DeviceBuffer& w_scales, const DeviceBuffer& g, const std::string& text) {
    const ImageShape& x = layer.conv.x_shape;
    const RealType type = random_type(random_);
    StridedTensor first(random_, {x.batch, x.height, x.width, x.channels}, type);
    StridedTensor second(first.description());
    const std::vector<std::uint8_t> passes = random_passes(random_, first.description().elems());
    const DeviceBuffer bits = on_device(planted(passes));
    for (StridedTensor* dx : {&first, &second}) {
      run(train::ConvInputGradient{conv, w_scales.as<float>(), g.as<std::uint16_t>(),
                                   bits_or_null(bits, passes), dx->on_device()});
    }
    const std::vector<std::uint8_t> found = first.downloaded();
    const std::string what = text + ", dx " + text_of(first.description());
    report_.add_exact("input_gradient: again", found == second.downloaded(), what);
    report_.add_exact("input_gradient: gaps", first.has_same_gaps(found), what);
    report_.add("input_gradient",
                share_of(layer.input_gradient(), values_of(first, found), 1, type, passes), what);
  }

  void check_weight(const RandomConv& layer, const train::LevelConv& conv,
                    const DeviceBuffer& scale, const DeviceBuffer& g, const std::string& text) {
    const Window& w = layer.conv.window;
    StridedTensor first(
        random_, {layer.conv.y_shape.channels, w.kernel_h, w.kernel_w, layer.conv.in_channels()},
        RealType::kFloat32);
    StridedTensor second(first.description());
    const std::vector<std::uint8_t> passes = random_passes(random_, first.description().elems());
    const DeviceBuffer bits = on_device(planted(passes));
    for (StridedTensor* dw : {&first, &second}) {
      run(train::ConvWeightGradient{conv, scale.as<float>(), g.as<std::uint16_t>(),
                                    bits_or_null(bits, passes), dw->on_device()});
    }
    const std::vector<std::uint8_t> found = first.downloaded();
    const std::string what = text + ", dw " + text_of(first.description());
    report_.add_exact("weight_gradient: again", found == second.downloaded(), what);
    report_.add_exact("weight_gradient: gaps", first.has_same_gaps(found), what);
    report_.add("weight_gradient",
                share_of(layer.weight_gradient(), values_of(first, found), layer.scale,
                         RealType::kFloat32, passes),
                what);
  }

  void fill(StridedTensor& tensor) {
    std::vector<std::uint8_t> memory = tensor.memory();
    const std::size_t bytes = tensor.elem_bytes();
    for (std::size_t at = 0; at + bytes <= memory.size(); at += bytes) {
      const float value = random_real(random_);
      const std::uint16_t code = tensor.description().type == RealType::kFloat16
                                     ? static_cast<std::uint16_t>(random_.uniform(0x2000, 0x4BFF) |
                                                                  random_.uniform(0, 1) << 15)
                                     : bfloat16_of(value);
      std::memcpy(memory.data() + at,
                  bytes == 4 ? static_cast<const void*>(&value) : static_cast<const void*>(&code),
                  bytes);
    }
    tensor.set_memory(memory);
  }

  std::int64_t random_channels() {
    return random_.chance(0.5) ? random_.uniform(1, 70) : 8 * random_.uniform(1, 20);
  }

  std::vector<std::uint8_t> planted(std::vector<std::uint8_t> passes) const {
    if (plant_ == "passes" && !passes.empty()) passes[passes.size() / 2] ^= 0x01;
    return passes;
  }

  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
  }

  static std::string text_of(const RealTensor& x) {
    static const char* const kNames[] = {"float32", "float16", "bfloat16"};
    std::string text = kNames[static_cast<int>(x.type)];
    for (std::size_t i = 0; i < 4; ++i) {
      text +=
          (i == 0 ? " [" : " ") + std::to_string(x.shape[i]) + ":" + std::to_string(x.strides[i]);
    }
    return text + "]";
  }

  Random random_;
  std::uint64_t seed_;
  const std::string& plant_;
  GradientReport& report_;
  ThreadTeam team_;
};

}  // namespace

bool check_random_gradients(const RandomGradients& options) {
  GradientReport report;
  for (std::uint64_t seed = options.seed; seed < options.seed + options.cases; ++seed) {
    RandomCase random(seed, options.plant, report);
    random.check_conv();
    random.check_operand();
    random.check_pool();
    random.check_step();
  }
  std::cout << "seeds " << options.seed << " to " << options.seed + options.cases - 1 << "\n";
  return report.print();
}

}  // namespace qsim::golden_test
