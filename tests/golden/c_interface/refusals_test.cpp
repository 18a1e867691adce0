// What the C interface refuses: each with its status and its message, and nothing is written.
#include <functional>

#include <gtest/gtest.h>

#include "tests/golden/c_interface/arrays.h"

namespace qsim::golden_test {
namespace {

// A linear layer of 2 rows, 3 output channels and 40 input features that is allowed.
struct LinearCall {
  Array<float> x{QSIM_FLOAT32, {2, 40}};
  Array<std::int8_t> values{QSIM_INT8, {3, 40}};
  Array<float> scales{QSIM_FLOAT32, {3}, {1, 1, 1}};
  Array<float> bias{QSIM_FLOAT32, {3}};
  Array<float> y{QSIM_FLOAT32, {2, 3}, std::vector<float>(6, 7.0F)};
  qsim_tensor tx = *x.tensor(), tv = *values.tensor(), ts = *scales.tensor(), tb = *bias.tensor(),
              ty = *y.tensor();
  qsim_linear_weights weights{&tv, &ts, nullptr, 0};
  qsim_run run = QSIM_RUN_INIT;

  qsim_status call() { return qsim_linear_w8(&tx, &weights, &tb, &ty, &run); }
};

void expect_refused(const std::function<void(LinearCall&)>& change, const std::string& message,
                    qsim_status status = QSIM_BAD_INPUT) {
  SCOPED_TRACE(message);
  LinearCall call;
  change(call);
  EXPECT_EQ(call.call(), status);
  EXPECT_EQ(qsim_last_error(), message);
  EXPECT_EQ(call.y.values, std::vector<float>(6, 7.0F)) << "something was written";
}

TEST(CInterfaceRefusals, ALayerThatIsAllowedRuns) {
  LinearCall call;
  EXPECT_EQ(call.call(), QSIM_OK);
  EXPECT_STREQ(qsim_last_error(), "");
  EXPECT_EQ(call.y.values, std::vector<float>(6, 0.0F));
}

TEST(CInterfaceRefusals, ATensorIsDescribedWrong) {
  expect_refused([](auto& c) { c.weights.scales = nullptr; },
                 "linear_w8: scales is missing: its pointer is NULL");
  expect_refused([](auto& c) { c.tx.dtype = QSIM_INT8; },
                 "linear_w8: x has elements of int8; allowed: float32, float16, bfloat16");
  expect_refused(
      [](auto& c) { c.tx.dtype = 99; },
      "linear_w8: x has elements of an unknown type; allowed: float32, float16, bfloat16");
  expect_refused([](auto& c) { c.tx.rank = 1; }, "linear_w8: x has 1 dimensions; allowed: 2");
  expect_refused([](auto& c) { c.tx.shape = nullptr; }, "linear_w8: x has no shape");
  expect_refused([](auto& c) { c.tx.data = nullptr; }, "linear_w8: x has no data");
  expect_refused([](auto& c) { c.tx.data = static_cast<char*>(c.tx.data) + 1; },
                 "linear_w8: x is not aligned to 4 bytes");
  expect_refused([](auto& c) { c.x.shape[0] = -2; },
                 "linear_w8: x has the shape [-2, 40]; no size may be negative");
  expect_refused([](auto& c) { c.x.shape[0] = std::int64_t{1} << 62; },
                 "linear_w8: x: size overflow: 4611686018427387904 x 40 does not fit 64 bits");
  expect_refused([](auto& c) { c.tx.device = 5; },
                 "linear_w8: x is on device type 5; allowed: 0 (CPU) and 1 (CUDA)");
}

TEST(CInterfaceRefusals, AnOutputWhoseElementsShareMemory) {
  for (const Shape& strides : {Shape{0, 1}, Shape{2, 1}, Shape{1, 0}, Shape{2, 2}}) {
    expect_refused([&](auto& c) { c.ty.strides = strides.data(); },
                   "linear_w8: y has strides by which elements share memory; an output takes none");
  }
  LinearCall apart;
  const Shape strides = {1, 2};
  apart.ty.strides = strides.data();
  EXPECT_EQ(apart.call(), QSIM_OK) << qsim_last_error();
}

TEST(CInterfaceRefusals, TensorsDoNotGoTogether) {
  expect_refused([](auto& c) { c.y.shape[1] = 4; },
                 "linear_w8: y has the shape [2, 4]; expected [2, 3]");
  expect_refused([](auto& c) { c.x.shape[1] = 39; },
                 "linear_w8: x has the shape [2, 39]; expected [2, 40]");
  expect_refused([](auto& c) { c.weights.group_size = 32; },
                 "linear_w8: scales has the shape [3]; expected [3, 2]");
  expect_refused([](auto& c) { c.weights.group_size = 7; },
                 "linear_w8: group_size is 7; allowed: 32, 64, 128, and 0 for one group");
  expect_refused([](auto& c) { c.weights.zero_points = &c.ts; },
                 "linear_w8: zero_points are given with values of int8, which have none");
  expect_refused([](auto& c) { c.tv.device = QSIM_CUDA; },
                 "linear_w8: values is on cuda:0, and linear_w8: x on the CPU; all tensors of a "
                 "call are on one device");
  expect_refused([](auto& c) { c.run.struct_bytes = 8; },
                 "linear_w8: the run's struct_bytes is 8; expected sizeof(qsim_run), which is " +
                     std::to_string(sizeof(qsim_run)));
}

TEST(CInterfaceRefusals, APromiseOfConstantWeightsIsGivenOrNot) {
  for (const std::int32_t value : {2, -1, 1 << 24}) {
    expect_refused(
        [&](auto& c) { c.run.constant_weights = value; },
        "linear_w8: constant_weights is " + std::to_string(value) + "; allowed: 0 and 1");
  }
  LinearCall promised;
  promised.run.constant_weights = 1;
  EXPECT_EQ(promised.call(), QSIM_OK) << qsim_last_error();
}

TEST(CInterfaceRefusals, AQueryAboutWeightsToBinarizeChecksThemAndComputesNothing) {
  Array<float> w(QSIM_FLOAT32, {2, 3, 3, 64}, std::vector<float>(1152, NAN));
  Array<std::uint64_t> words(QSIM_BITS64, {2, 1, 3, 3, 1}, std::vector<std::uint64_t>(18, 7));
  Array<float> alpha(QSIM_FLOAT32, {1, 2}, {7.0F, 7.0F});
  std::size_t bytes = 77;
  qsim_run run = QSIM_RUN_INIT;
  const auto binarize = [&] {
    return qsim_binarize_weights(w.tensor(), nullptr, 0, words.tensor(), alpha.tensor(), &run);
  };
  EXPECT_EQ(binarize(), QSIM_BAD_INPUT) << "the numbers are not finite";
  run.workspace_query = &bytes;
  EXPECT_EQ(binarize(), QSIM_OK) << qsim_last_error();
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(words.values, std::vector<std::uint64_t>(18, 7));
  EXPECT_EQ(alpha.values, std::vector<float>(2, 7.0F));
  alpha.shape = {2, 1};
  EXPECT_EQ(binarize(), QSIM_BAD_INPUT) << "the shape is checked";
}

TEST(CInterfaceRefusals, ValuesAreCheckedOnRequest) {
  LinearCall call;
  call.scales.values[1] = -1;
  EXPECT_EQ(call.call(), QSIM_OK);
  call.run.check_values = 1;
  EXPECT_EQ(call.call(), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "linear: scale[1, 0] is not a positive finite number");
}

TEST(CInterfaceRefusals, HalfBytesHaveNoGapsAndZeroPointsARange) {
  LinearCall call;
  call.tv.dtype = QSIM_INT4;
  const Shape strides = {80, 2};
  call.tv.strides = strides.data();
  EXPECT_EQ(call.call(), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(),
               "linear_w8: values has strides with gaps; two elements in a byte take none");
  call.tv.strides = nullptr;
  Array<std::int8_t> points(QSIM_INT8, {3}, {0, 8, 0});
  call.weights.zero_points = points.tensor();
  EXPECT_EQ(call.call(), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "linear_w8: a zero_point is 8; allowed: -8 to 7");
}

// The same layer on device 1.
void move_to_gpu(LinearCall& call) {
  for (qsim_tensor* tensor : {&call.tx, &call.tv, &call.ts, &call.tb, &call.ty}) {
    tensor->device = QSIM_CUDA;
    tensor->device_index = 99;
  }
}

TEST(CInterfaceRefusals, ADeviceThatIsNotThereIsADeviceError) {
  LinearCall call;
  move_to_gpu(call);
  EXPECT_EQ(call.call(), QSIM_DEVICE_ERROR);
  EXPECT_TRUE(std::string(qsim_last_error()).starts_with("CUDA: ")) << qsim_last_error();
  std::size_t bytes = 77;
  call.run.workspace_query = &bytes;
  EXPECT_EQ(call.call(), QSIM_OK) << qsim_last_error();
  EXPECT_EQ(bytes, 0u);
}

TEST(CInterfaceRefusals, WhatHasNoKernelOnAGpuIsUnsupported) {
  LinearCall call;
  move_to_gpu(call);
  qsim_linear* prepared = nullptr;
  EXPECT_EQ(qsim_linear_create(&call.weights, &call.tb, nullptr, &prepared), QSIM_UNSUPPORTED);
  EXPECT_STREQ(
      qsim_last_error(),
      "linear_create has no kernel for cuda:99 in this library; give it tensors on the CPU");
  const Shape strides = {80, 2};
  call.tx.strides = strides.data();
  EXPECT_EQ(call.call(), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(),
               "linear_w8: x has strides with gaps; on a GPU no tensor has them");
}

TEST(CInterfaceRefusals, WhatHasAKernelOnAGpuIsCheckedBeforeADeviceIsUsed) {
  Array<std::int8_t> x(QSIM_INT8, {1, 4, 4, 3});
  Array<std::int8_t> w(QSIM_INT8, {2, 3, 3, 3});
  Array<std::int8_t> y(QSIM_INT8, {1, 2, 2, 2});
  Array<float> scales(QSIM_FLOAT32, {1}, {1.0F});
  qsim_requantization how{scales.tensor(), QSIM_ROUND_FLOAT32, 0, 0, -128, 127};
  const qsim_tensor* tensors[] = {x.tensor(), w.tensor(), y.tensor()};
  for (const qsim_tensor* tensor : {how.scales, tensors[0], tensors[1], tensors[2]}) {
    const_cast<qsim_tensor*>(tensor)->device = QSIM_CUDA;
    const_cast<qsim_tensor*>(tensor)->device_index = 99;
  }
  const auto conv = [&](std::int64_t groups) {
    return qsim_conv2d_int8(tensors[0], tensors[1], nullptr, nullptr, groups, &how, tensors[2],
                            nullptr);
  };
  EXPECT_EQ(conv(1), QSIM_DEVICE_ERROR) << qsim_last_error();
  EXPECT_TRUE(std::string(qsim_last_error()).starts_with("CUDA: ")) << qsim_last_error();
  EXPECT_EQ(conv(2), QSIM_BAD_INPUT) << qsim_last_error();
  Array<float> floats(QSIM_FLOAT32, {2, 32});
  Array<std::int8_t> values(QSIM_INT8, {2, 32});
  const qsim_tensor* parts[] = {floats.tensor(), values.tensor(), scales.tensor()};
  for (const qsim_tensor* tensor : parts) const_cast<qsim_tensor*>(tensor)->device = QSIM_CUDA;
  EXPECT_EQ(qsim_quantize_per_channel(parts[0], 0, parts[1], parts[2], nullptr), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "quantize_per_channel: scales has the shape [1]; expected [2]");
}

TEST(CInterfaceRefusals, AQuantizationIsDescribedWrong) {
  Array<std::uint16_t> x(QSIM_FLOAT16, {2, 32});
  Array<std::uint8_t> values(QSIM_FP8_E4M3, {2, 32});
  Array<float> scales(QSIM_FLOAT32, {2, 2});
  const qsim_quantized q{values.tensor(), scales.tensor(), nullptr, nullptr};
  const auto expect = [&](const std::function<void(qsim_quantization&)>& change,
                          const std::string& message) {
    qsim_quantization how;
    ASSERT_EQ(qsim_quantization_default(&how), QSIM_OK);
    how.group = 16;
    change(how);
    EXPECT_EQ(qsim_quantize(x.tensor(), &how, &q, nullptr),
              message.empty() ? QSIM_OK : QSIM_BAD_INPUT);
    EXPECT_EQ(qsim_last_error(), message);
  };
  expect([](auto&) {}, "");
  expect(
      [](auto& how) { how.struct_bytes = 3; },
      "quantize: quantization: struct_bytes is 3; expected sizeof(qsim_quantization), which is " +
          std::to_string(sizeof(qsim_quantization)));
  expect([](auto& how) { how.format = QSIM_FLOAT16; },
         "quantize: format is float16; allowed: int8, fp8_e4m3, fp8_e5m2, int4, fp4_e2m1");
  expect([](auto& how) { how.scale_format = QSIM_INT8; },
         "quantize: scale_format is int8; allowed: float32, ue8m0, fp8_e4m3");
  expect([](auto& how) { how.scale_rounding = 3; },
         "quantize: scale_rounding is 3; allowed: 0 to 2");
  expect([](auto& how) { how.zero_point = 2; }, "quantize: zero_point is 2; allowed: 0 and 1");
  expect([](auto& how) { how.group = 17; },
         "convert: groups of 17; allowed: multiples of 16 from 16 to 512, token and tensor");
  expect([](auto& how) { how.group = 32; },
         "quantize: scales has the shape [2, 2]; expected [2, 1]");
  const Shape gaps = {4, 2};
  scales.described.strides = gaps.data();
  expect([](auto&) {}, "quantize: scales has strides with gaps; this tensor takes none");
}

TEST(CInterfaceRefusals, AConvolutionIsDescribedWrong) {
  Array<std::uint64_t> bits(QSIM_BITS64, {1, 4, 4, 9, 1});
  Array<std::uint64_t> words(QSIM_BITS64, {2, 1, 3, 3, 1});
  Array<float> alpha(QSIM_FLOAT32, {1, 2});
  Array<float> beta(QSIM_FLOAT32, {9});
  Array<float> y(QSIM_FLOAT32, {1, 2, 2, 2});
  qsim_binary_weights weights{64, words.tensor(), alpha.tensor(), beta.tensor(), nullptr};
  EXPECT_EQ(qsim_binary_conv2d(bits.tensor(), &weights, nullptr, y.tensor(), nullptr),
            QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "binary_conv2d: the bits' number of bases is 9; allowed: 1 to 8");
  weights.channels = 0;
  EXPECT_EQ(qsim_binary_conv2d(bits.tensor(), &weights, nullptr, y.tensor(), nullptr),
            QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "binary_conv2d: channels is 0; allowed: 1 and more");
  Array<std::int8_t> x(QSIM_INT8, {1, 4, 4, 3});
  Array<std::int8_t> w(QSIM_INT8, {2, 3, 3, 3});
  Array<std::int8_t> z(QSIM_INT8, {1, 2, 2, 2});
  Array<float> scales(QSIM_FLOAT32, {1}, {1.0F});
  qsim_requantization how{scales.tensor(), QSIM_ROUND_FLOAT32, 0, 0, -128, 127};
  const auto conv = [&](std::int64_t groups) {
    return qsim_conv2d_int8(x.tensor(), w.tensor(), nullptr, nullptr, groups, &how, z.tensor(),
                            nullptr);
  };
  EXPECT_EQ(conv(1), QSIM_OK) << qsim_last_error();
  qsim_window window = QSIM_WINDOW_INIT;
  window.dilation_h = std::int64_t{1} << 62;
  EXPECT_EQ(
      qsim_conv2d_int8(x.tensor(), w.tensor(), nullptr, &window, 1, &how, z.tensor(), nullptr),
      QSIM_BAD_INPUT);
  EXPECT_STREQ(
      qsim_last_error(),
      "conv2d_int8: a number of the window is 4611686018427387904; allowed: -2147483648 to "
      "2147483647");
  EXPECT_EQ(conv(2), QSIM_BAD_INPUT);
  EXPECT_STREQ(
      qsim_last_error(),
      "layer 'conv2d_int8': 2 groups do not divide 3 input channels and 2 output channels");
  how.rounding = 9;
  EXPECT_EQ(conv(1), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "conv2d_int8: rounding is 9; allowed: 0 to 3");
  how.rounding = 0;
  how.x_zero_point = 128;
  EXPECT_EQ(conv(1), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "conv2d_int8: x_zero_point is 128; allowed: -128 to 127");
  how.x_zero_point = 0;
  scales.values[0] = 0;
  EXPECT_EQ(conv(1), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(),
               "conv2d_int8: scales has 0.000000; a scale is a positive finite number");
}

TEST(CInterfaceRefusals, AWorkspaceIsAskedForAndNeeded) {
  if (qsim_has_cuda() == 0) GTEST_SKIP() << "built without nvcc";
  Array<std::uint16_t> x(QSIM_FLOAT16, {2, 4096});
  Array<std::uint8_t> values(QSIM_FP4_E2M1, {2, 4096}, std::vector<std::uint8_t>(4096));
  Array<std::uint8_t> scales(QSIM_FP8_E4M3, {2, 256});
  Array<float> global(QSIM_FLOAT32, {1});
  qsim_quantization how;
  ASSERT_EQ(qsim_quantization_preset("nvfp4", &how), QSIM_OK);
  const qsim_quantized q{values.tensor(), scales.tensor(), nullptr, global.tensor()};
  const qsim_tensor* from = x.tensor();
  for (const qsim_tensor* part : {from, q.values, q.scales, q.global_scale}) {
    const_cast<qsim_tensor*>(part)->device = QSIM_CUDA;
  }
  std::size_t bytes = 0;
  qsim_run run = QSIM_RUN_INIT;
  run.workspace_query = &bytes;
  ASSERT_EQ(qsim_quantize(from, &how, &q, &run), QSIM_OK) << qsim_last_error();
  EXPECT_GT(bytes, 0u);
  run.workspace_query = nullptr;
  EXPECT_EQ(qsim_quantize(from, &how, &q, &run), QSIM_BAD_INPUT);
  EXPECT_EQ(qsim_last_error(), "quantize: the workspace has 0 bytes; expected " +
                                   std::to_string(bytes) + ", aligned to 256");
}

TEST(CInterfaceRefusals, ABinaryLayerIsForAGpu) {
  Array<std::uint64_t> words(QSIM_BITS64, {2, 1, 3, 3, 1});
  Array<float> alpha(QSIM_FLOAT32, {1, 2});
  Array<float> beta(QSIM_FLOAT32, {1});
  const qsim_binary_weights weights{64, words.tensor(), alpha.tensor(), beta.tensor(), nullptr};
  qsim_binary_layer* layer = nullptr;
  EXPECT_EQ(qsim_binary_layer_create(&weights, nullptr, 1, 4, 4, 99, &layer), QSIM_DEVICE_ERROR);
  EXPECT_TRUE(std::string(qsim_last_error()).starts_with("CUDA: ")) << qsim_last_error();
  EXPECT_EQ(qsim_binary_layer_packed(nullptr, nullptr), nullptr);
  qsim_binary_layer_destroy(nullptr);
  Array<std::uint64_t> bits(QSIM_BITS64, {1, 4, 4, 1, 1});
  EXPECT_EQ(qsim_binary_layer_run(nullptr, words.tensor(), bits.tensor(), alpha.tensor(), nullptr),
            QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "binary_layer_run: layer is missing: its pointer is NULL");
}

TEST(CInterfaceRefusals, EveryStatusHasAName) {
  EXPECT_STREQ(qsim_status_name(QSIM_OK), "ok");
  EXPECT_STREQ(qsim_status_name(QSIM_DEVICE_ERROR), "device_error");
  EXPECT_STREQ(qsim_status_name(static_cast<qsim_status>(7)), "unknown");
  EXPECT_EQ(qsim_abi_version(), QSIM_GOLDEN_ABI_VERSION);
}

}  // namespace
}  // namespace qsim::golden_test
