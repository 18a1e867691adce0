// Max pooling of levels and its gradient, against plain loops.
#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

constexpr std::uint64_t kSeeds = 150;

struct PoolCase {
  Array<std::int8_t> q{QSIM_INT8, {}};
  qsim_window window = QSIM_WINDOW_INIT;
  std::int64_t kernel_h = 1, kernel_w = 1;
  Shape y;

  explicit PoolCase(Random& random) {
    kernel_h = random.uniform(1, 3);
    kernel_w = random.uniform(1, 3);
    window = {random.uniform(1, 3),
              random.uniform(1, 3),
              random.uniform(0, kernel_h - 1),
              random.uniform(0, kernel_w - 1),
              random.uniform(0, kernel_h - 1),
              random.uniform(0, kernel_w - 1),
              1,
              1};
    if (random.chance(0.3)) window = {1, 2, 0, 0, 0, 0, 2, 2};
    const Shape x = {random.uniform(1, 3), random.uniform(5, 9), random.uniform(5, 9),
                     random.uniform(1, 20)};
    q = {QSIM_INT8, x};
    const std::int64_t most = random.chance(0.5) ? 127 : 1;  // many are equal
    for (auto& v : q.values) v = static_cast<std::int8_t>(random.uniform(-most - 1, most));
    const auto count = [](std::int64_t size, std::int64_t span, std::int64_t stride) {
      return (size - span) / stride + 1;
    };
    y = {x[0],
         count(x[1] + window.pad_top + window.pad_bottom, (kernel_h - 1) * window.dilation_h + 1,
               window.stride_h),
         count(x[2] + window.pad_left + window.pad_right, (kernel_w - 1) * window.dilation_w + 1,
               window.stride_w),
         x[3]};
  }

  // The element of q that output i takes.
  std::size_t winner(std::int64_t i) const {
    const std::int64_t c = i % y[3], ow = i / y[3] % y[2], oh = i / y[3] / y[2] % y[1];
    const std::int64_t b = i / y[3] / y[2] / y[1];
    std::int64_t best = -1;
    for (std::int64_t ky = 0; ky < kernel_h; ++ky) {
      for (std::int64_t kx = 0; kx < kernel_w; ++kx) {
        const std::int64_t ih = oh * window.stride_h - window.pad_top + ky * window.dilation_h;
        const std::int64_t iw = ow * window.stride_w - window.pad_left + kx * window.dilation_w;
        if (ih < 0 || ih >= q.shape[1] || iw < 0 || iw >= q.shape[2]) continue;
        const std::int64_t at = ((b * q.shape[1] + ih) * q.shape[2] + iw) * q.shape[3] + c;
        if (best < 0 ||
            q.values[static_cast<std::size_t>(at)] > q.values[static_cast<std::size_t>(best)]) {
          best = at;
        }
      }
    }
    return static_cast<std::size_t>(best);
  }
};

TEST(TrainMaxPool, TakesTheGreatestLevelUnderEachWindow) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    const PoolCase pool(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + shape_text(pool.q.shape));
    const Array<std::int8_t> y(QSIM_INT8, pool.y);
    ASSERT_EQ(qsim_max_pool_levels(pool.q.tensor(), pool.kernel_h, pool.kernel_w, &pool.window,
                                   y.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      ASSERT_EQ(y.values[i], pool.q.values[pool.winner(static_cast<std::int64_t>(i))]);
    }
  }
}

TEST(TrainMaxPool, GivesEachGradientToTheFirstOfTheGreatest) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    const PoolCase pool(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + shape_text(pool.q.shape));
    const std::int32_t dtype = random_real_type(random);
    const Reals dy = Reals::random(random, random_real_type(random), pool.y,
                                   random.chance(0.5) ? channels_first(pool.y) : Shape{});
    const Reals dx(dtype, pool.q.shape,
                   random.chance(0.5) ? channels_first(pool.q.shape) : Shape{});
    const Bits passes = Bits::random(random, dx.elems());
    const bool clips = random.chance(0.5);
    ASSERT_EQ(qsim_max_pool_gradient(pool.q.tensor(), pool.kernel_h, pool.kernel_w, &pool.window,
                                     dy.tensor(), clips ? passes.tensor() : nullptr, dx.tensor(),
                                     nullptr),
              QSIM_OK)
        << qsim_last_error();
    std::vector<float> expected(pool.q.values.size());
    for (std::int64_t i = 0; i < dy.elems(); ++i) {
      expected[pool.winner(i)] += static_cast<float>(dy.at(i));
    }
    for (std::int64_t i = 0; i < dx.elems(); ++i) {
      const auto sum = static_cast<double>(expected[static_cast<std::size_t>(i)]);
      ASSERT_EQ(dx.at(i), clips && !passes.get(i) ? 0 : rounded_to(dtype, sum)) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace qsim::golden_test
