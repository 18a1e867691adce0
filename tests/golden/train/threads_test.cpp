// Every call gives the same bits for any number of threads, and in any float environment of its
// caller.
#include <cfenv>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

// A layer with more pixels than a part of a sum has, and all that its calls write.
struct Layer {
  ConvCase c;
  Reals x{QSIM_FLOAT32, {}};
  Reals w{QSIM_BFLOAT16, {}};
  Reals dy{QSIM_FLOAT16, {}};
  Array<float> scale{QSIM_FLOAT32, {1}, {0.01F}};
  Array<float> w_scales{QSIM_FLOAT32, {40}};
  Array<float> factors{QSIM_FLOAT32, {40, 3}};
  Bits y_passes{0};

  Layer() {
    Random random(11);
    c.q = {QSIM_INT8, {3, 33, 31, 12}};
    c.w = {QSIM_INT8, {40, 3, 3, 12}};
    c.window = {1, 1, 1, 1, 1, 1, 1, 1};
    c.y = {3, 33, 31, 40};
    for (auto* levels : {&c.q.values, &c.w.values}) {
      for (auto& level : *levels) level = static_cast<std::int8_t>(random.uniform(-128, 127));
    }
    x = Reals::random(random, QSIM_FLOAT32, c.q.shape, channels_first(c.q.shape));
    w = Reals::random(random, QSIM_BFLOAT16, c.w.shape);
    dy = Reals::random(random, QSIM_FLOAT16, c.y, channels_first(c.y));
    for (std::int64_t i = 0; i < 40; ++i) x.set_float(i, 1e-41F * static_cast<float>(i));
    w_scales.values = random_scales(random, 40);
    factors.values = random_scales(random, 120);
    y_passes = Bits::random(random, c.y_elems());
  }
};

// The bytes of all outputs, one call after the other.
class Outputs {
 public:
  Outputs(const Layer& layer, int threads) : layer_(layer) {
    if (threads > 0) {
      EXPECT_EQ(qsim_threads_create(threads, &run_.threads), QSIM_OK);
    }
    levels_of_inputs();
    forward();
    statistics();
    gradients();
    pools();
    qsim_threads_destroy(run_.threads);
  }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  template <typename T>
  void keep(const Array<T>& array) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(array.values.data());
    bytes_.insert(bytes_.end(), from, from + array.values.size() * sizeof(T));
  }
  void keep(const Reals& reals) {
    for (std::int64_t i = 0; i < reals.elems(); ++i) {
      const double value = reals.at(i);
      const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
      bytes_.insert(bytes_.end(), from, from + sizeof value);
    }
  }
  template <typename... Arrays>
  void checked(qsim_status status, const Arrays&... outputs) {
    EXPECT_EQ(status, QSIM_OK) << qsim_last_error();
    (keep(outputs), ...);
  }

  void levels_of_inputs() {
    const Layer& l = layer_;
    qsim_levels levels = QSIM_LEVELS_INIT;
    levels.scale_kind = QSIM_SCALE_AFFINE;
    const Array<float> state(QSIM_FLOAT32, {3}, {-1, 1, 1}), scale(QSIM_FLOAT32, {1});
    const Array<std::int32_t> zero(QSIM_INT32, {1});
    checked(qsim_observe(l.x.tensor(), QSIM_OBSERVE_AVERAGE, 0.3F, &levels, state.tensor(),
                         scale.tensor(), zero.tensor(), &run_),
            state, scale, zero);
    const Array<std::int8_t> q(QSIM_INT8, l.c.q.shape), residual(QSIM_INT8, l.c.q.shape);
    const Bits passes(l.x.elems());
    checked(qsim_quantize_levels(l.x.tensor(), &levels, scale.tensor(), zero.tensor(), q.tensor(),
                                 passes.tensor(), residual.tensor(), &run_),
            q, passes, residual);
    levels.scale_kind = QSIM_SCALE_MAX;
    const Array<float> scales(QSIM_FLOAT32, {40});
    const Array<std::int8_t> w(QSIM_INT8, l.c.w.shape);
    checked(qsim_quantize_weights(l.w.tensor(), &levels, scales.tensor(), w.tensor(), nullptr,
                                  nullptr, &run_),
            scales, w);
    Random random(5);
    const Reals dq = Reals::random(random, QSIM_FLOAT32, l.c.q.shape),
                dx(QSIM_FLOAT32, l.c.q.shape);
    const Array<float> step(QSIM_FLOAT32, {1});
    checked(qsim_step_gradient(dq.tensor(), q.tensor(), zero.tensor(), passes.tensor(),
                               residual.tensor(), 0, dx.tensor(), step.tensor(), &run_),
            dx, step);
  }

  void forward() {
    const Layer& l = layer_;
    const qsim_level_conv conv = l.c.conv();
    const Reals y(QSIM_FLOAT16, l.c.y, channels_first(l.c.y));
    const Bits passes(l.c.y_elems());
    checked(qsim_conv2d_real(&conv, l.scale.tensor(), l.w_scales.tensor(), l.w_scales.tensor(), 1,
                             y.tensor(), passes.tensor(), &run_),
            y, passes);
    const Array<std::int8_t> q(QSIM_INT8, l.c.y);
    const Array<float> range(QSIM_FLOAT32, {2});
    checked(qsim_conv2d_levels(&conv, l.w_scales.tensor(), nullptr, nullptr, -128, 127, 1,
                               q.tensor(), passes.tensor(), range.tensor(), &run_),
            q, passes, range);
  }

  void statistics() {
    const Layer& l = layer_;
    const qsim_level_conv conv = l.c.conv();
    const Array<std::int64_t> sums(QSIM_INT64, {40, 3});
    checked(qsim_conv2d_statistics(&conv, sums.tensor(), &run_), sums);
    const Array<float> bias(QSIM_FLOAT32, {40});
    checked(qsim_gradient_operand(l.dy.tensor(), l.y_passes.tensor(), g_.tensor(), bias.tensor(),
                                  &run_),
            g_, bias);
    const Array<float> of_g(QSIM_FLOAT32, {40, 2});
    checked(qsim_conv2d_gradient_sums(&conv, g_.tensor(), of_g.tensor(), &run_), of_g);
    checked(qsim_conv2d_normalize_gradient(&conv, l.factors.tensor(), g_.tensor(), &run_), g_);
  }

  void gradients() {
    const Layer& l = layer_;
    const qsim_level_conv conv = l.c.conv();
    const Reals dx(QSIM_BFLOAT16, l.c.q.shape), dw(QSIM_FLOAT32, l.c.w.shape);
    checked(qsim_conv2d_input_gradient(&conv, l.w_scales.tensor(), g_.tensor(), nullptr,
                                       dx.tensor(), &run_),
            dx);
    checked(qsim_conv2d_weight_gradient(&conv, l.scale.tensor(), g_.tensor(), nullptr, dw.tensor(),
                                        &run_),
            dw);
  }

  void pools() {
    const Layer& l = layer_;
    const qsim_window window = {2, 1, 1, 0, 1, 0, 1, 1};
    const Array<std::int8_t> y(QSIM_INT8, {3, 17, 30, 12});
    checked(qsim_max_pool_levels(l.c.q.tensor(), 3, 2, &window, y.tensor(), &run_), y);
    Random random(3);
    const Reals dy = Reals::random(random, QSIM_FLOAT32, y.shape), dx(QSIM_FLOAT32, l.c.q.shape);
    checked(qsim_max_pool_gradient(l.c.q.tensor(), 3, 2, &window, dy.tensor(), nullptr, dx.tensor(),
                                   &run_),
            dx);
  }

  const Layer& layer_;
  qsim_run run_ = QSIM_RUN_INIT;
  Array<std::uint16_t> g_{QSIM_BFLOAT16, {3, 33, 31, 40}};
  std::vector<std::uint8_t> bytes_;
};

TEST(TrainThreads, AnyNumberOfThreadsGivesTheSameBits) {
  const Layer layer;
  const Outputs alone(layer, 0);
  EXPECT_GT(alone.bytes().size(), 1000000u);
  for (const int threads : {1, 2, 3, 7}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    EXPECT_TRUE(Outputs(layer, threads).bytes() == alone.bytes());
  }
}

TEST(TrainThreads, TheCallersRoundingDoesNotMatter) {
  const Layer layer;
  const Outputs nearest(layer, 2);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    SCOPED_TRACE("mode " + std::to_string(mode));
    ASSERT_EQ(std::fesetround(mode), 0);
    const Outputs other(layer, 2);
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(other.bytes() == nearest.bytes());
  }
}

}  // namespace
}  // namespace qsim::golden_test
