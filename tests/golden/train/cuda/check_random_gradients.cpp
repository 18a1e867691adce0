// Random gradients on the GPU: within their bounds of float64, or the CPU's bits; each twice.
#include "golden/common/thread_team.h"
#include "golden/kernels/train/train.h"
#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/train/cuda/gradient_checks.h"
#include "tests/golden/train/cuda/gradient_commands.h"

namespace qsim::golden_test {
namespace {

class RandomCase {
 public:
  RandomCase(std::uint64_t seed, const std::string& plant, GradientReport& report)
      : random_(seed), seed_(seed), plant_(plant), report_(report) {}

  void check_conv() { check_conv_gradients(random_, seed_, plant_, report_); }

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
    const DeviceBuffer bits = on_device(planted(plant_, passes));
    const bool has_bias = random_.chance(0.8);
    std::vector<std::uint16_t> g[2];
    std::vector<float> bias[2];
    for (int turn = 0; turn < 2; ++turn) {
      const DeviceBuffer to = cuda::poisoned(expected.size() * 2);
      const DeviceBuffer bias_gradient = cuda::poisoned(channels * 4);
      run(train::GradientOperand{dy.on_device(), bits_or_null(bits, passes), to.as<std::uint16_t>(),
                                 has_bias ? bias_gradient.as<float>() : nullptr});
      g[turn] = download<std::uint16_t>(to, expected.size());
      if (has_bias) bias[turn] = download<float>(bias_gradient, channels);
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
    const DeviceBuffer levels = on_device(q), bits = on_device(planted(plant_, passes));
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
    const DeviceBuffer bits = on_device(planted(plant_, passes)), zero = on_device(zero_point);
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

  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
  }

  Random random_;
  std::uint64_t seed_;
  const std::string& plant_;
  GradientReport& report_;
  golden::ThreadTeam team_;
};

}  // namespace

bool check_random_gradients(const RandomGradients& options, ChosenCases& chosen) {
  GradientReport report;
  for (std::uint64_t seed = options.seed; seed < options.seed + options.cases; ++seed) {
    if (!chosen.begin(std::to_string(seed))) continue;
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
