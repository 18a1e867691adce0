// Threads that call the C interface at once, and calls that use several threads.
#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "golden/kernels/linear/reference_linear.h"
#include "tests/golden/c_interface/arrays.h"
#include "tests/golden/linear/random_linear.h"

namespace qsim::golden_test {
namespace {

constexpr int kThreads = 8;
constexpr int kCalls = 40;

// One layer of 1 to 4 rows, 33 output channels and 100 input features.
struct Layer {
  golden::LinearCase drawn;
  Array<std::uint16_t> x{QSIM_FLOAT16, {}, {}};
  Array<std::int8_t> values{QSIM_INT8, {33, 100}};
  Array<float> scales{QSIM_FLOAT32, {33}};
  std::vector<std::byte> expected;

  explicit Layer(std::uint64_t seed) {
    Random random(seed);
    drawn.weights = golden::random_weights(random, 33, 100, 0, 8);
    drawn.x = golden::random_floats(random, golden::FloatType::kFloat16, random.uniform(1, 4), 100,
                                    golden::Values::kNear);
    x = {QSIM_FLOAT16, {drawn.x.rows, 100}};
    std::memcpy(x.values.data(), drawn.x.bytes.data(), drawn.x.bytes.size());
    values.values = drawn.weights.values;
    scales.values = drawn.weights.scales;
    expected =
        golden::reference_linear(drawn.x, drawn.weights, {}, golden::FloatType::kFloat32).bytes;
  }

  bool matches(const qsim_run* run) const {
    const Array<float> y(QSIM_FLOAT32, {drawn.x.rows, 33});
    const qsim_linear_weights weights{values.tensor(), scales.tensor(), nullptr, 0};
    return qsim_linear_w8(x.tensor(), &weights, nullptr, y.tensor(), run) == QSIM_OK &&
           std::memcmp(y.values.data(), expected.data(), expected.size()) == 0;
  }
};

TEST(CInterfaceThreads, ThreadsThatCallAtOnceHaveTheirOwnResultsAndMessages) {
  std::atomic<int> faults = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &faults] {
      for (int call = 0; call < kCalls; ++call) {
        const Layer layer(static_cast<std::uint64_t>(1000 * t + call));
        if (!layer.matches(nullptr)) ++faults;
        // Each thread has an error of its own.
        const qsim_linear_weights wrong{layer.values.tensor(), layer.scales.tensor(), nullptr,
                                        t + 1};
        const Array<float> y(QSIM_FLOAT32, {layer.drawn.x.rows, 33});
        if (qsim_linear_w8(layer.x.tensor(), &wrong, nullptr, y.tensor(), nullptr) !=
            QSIM_BAD_INPUT)
          ++faults;
        std::this_thread::yield();
        const std::string message = "linear_w8: group_size is " + std::to_string(t + 1) +
                                    "; allowed: 32, 64, 128, and 0 for one group";
        if (qsim_last_error() != message) ++faults;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
}

TEST(CInterfaceThreads, OnePreparedLayerServesSeveralThreads) {
  const Layer layer(7);
  const qsim_linear_weights weights{layer.values.tensor(), layer.scales.tensor(), nullptr, 0};
  qsim_linear* prepared = nullptr;
  ASSERT_EQ(qsim_linear_create(&weights, nullptr, nullptr, &prepared), QSIM_OK);
  std::atomic<int> faults = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const Array<std::uint16_t> x = layer.x;
      for (int call = 0; call < kCalls; ++call) {
        const Array<float> y(QSIM_FLOAT32, {layer.drawn.x.rows, 33});
        if (qsim_linear_run(prepared, x.tensor(), y.tensor(), nullptr) != QSIM_OK ||
            std::memcmp(y.values.data(), layer.expected.data(), layer.expected.size()) != 0) {
          ++faults;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  qsim_linear_destroy(prepared);
  EXPECT_EQ(faults, 0);
}

TEST(CInterfaceThreads, TheNumberOfThreadsChangesNoBit) {
  for (const int count : {0, 1, 3}) {
    qsim_threads* threads = nullptr;
    ASSERT_EQ(qsim_threads_create(count, &threads), QSIM_OK);
    qsim_run run = QSIM_RUN_INIT;
    run.threads = threads;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_TRUE(Layer(seed).matches(&run)) << seed;
    qsim_threads_destroy(threads);
  }
  qsim_threads* none = nullptr;
  EXPECT_EQ(qsim_threads_create(-1, &none), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "threads_create: count is -1; allowed: 0 to 1024");
}

// Float weights of 7 rows, and what the quantizers make of them.
struct Quantizers {
  Array<float> w{QSIM_FLOAT32, {7, 100}};
  Array<std::int8_t> values{QSIM_INT8, {7, 100}};
  Array<std::uint8_t> nibbles{QSIM_UINT4, {7, 100}, std::vector<std::uint8_t>(7 * 50)};
  Array<float> scales{QSIM_FLOAT32, {7, 4}};
  Array<float> scales4{QSIM_FLOAT32, {7, 4}};
  Array<std::uint8_t> points{QSIM_UINT8, {7, 4}};

  qsim_status run(const qsim_run* how) {
    const qsim_status status =
        qsim_quantize_per_channel(w.tensor(), 32, values.tensor(), scales.tensor(), how);
    if (status != QSIM_OK) return status;
    return qsim_quantize_to_int4(w.tensor(), 32, nibbles.tensor(), scales4.tensor(),
                                 points.tensor(), how);
  }
};

TEST(CInterfaceThreads, QuantizersDivideTheirRows) {
  Quantizers one;
  Random random(3);
  for (float& weight : one.w.values) weight = static_cast<float>(random.uniform(-999, 999));
  Quantizers several = one;
  qsim_threads* threads = nullptr;
  ASSERT_EQ(qsim_threads_create(3, &threads), QSIM_OK);
  qsim_run run = QSIM_RUN_INIT;
  run.threads = threads;
  ASSERT_EQ(one.run(nullptr), QSIM_OK) << qsim_last_error();
  ASSERT_EQ(several.run(&run), QSIM_OK) << qsim_last_error();
  EXPECT_EQ(several.values.values, one.values.values);
  EXPECT_EQ(several.nibbles.values, one.nibbles.values);
  EXPECT_EQ(several.scales.values, one.scales.values);
  EXPECT_EQ(several.scales4.values, one.scales4.values);
  EXPECT_EQ(several.points.values, one.points.values);
  EXPECT_NE(one.values.values, std::vector<std::int8_t>(700));
  several.w.values[6 * 100 + 5] = INFINITY;
  EXPECT_EQ(several.run(&run), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(),
               "linear: weight[6, 5] is infinite or not a number; only finite weights can be "
               "quantized");
  qsim_threads_destroy(threads);
}

}  // namespace
}  // namespace qsim::golden_test
