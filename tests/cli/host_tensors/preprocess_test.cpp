// Preprocessing of pictures and quantization of real inputs.
#include "cli/host_tensors/preprocess.h"

#include <cmath>
#include <limits>

#include "tests/files/files_test_support.h"

namespace qsim {

using namespace cli;
using namespace formats;
namespace {

Value input_value(DType dtype, int zero_point, int exponent) {
  return {{1, 2, 3, 3}, dtype, zero_point, Scale::power_of_two(-exponent)};
}

Tensor quantize(const std::vector<float>& values, DType dtype, int zero_point, int exponent) {
  const auto count = static_cast<std::int64_t>(values.size());
  return quantize_input(make_tensor<float>({1, 1, 1, count}, values),
                        {{1, 1, 1, count}, dtype, zero_point, Scale::power_of_two(-exponent)});
}

TEST(Preprocess, APictureBecomesTheQuantizedTensor) {
  const Sidecar sidecar{"net.yaml", 2, 3, {0.5f, 0.25f, 0.0f}, {0.5f, 0.25f, 1.0f}, {}};
  InputForm form{"net", input_value(DType::kUint8, 128, 6), HostInterface::Layout::kNhwc};
  Image image{2, 3, {}};
  for (int i = 0; i < 18; ++i) image.rgb.push_back(static_cast<std::uint8_t>(i * 14));
  const Tensor tensor = preprocess(image, sidecar, form);
  for (std::size_t i = 0; i < 18; ++i) {
    const float x = static_cast<float>(image.rgb[i]) / 255.0f;
    const float v = (x - sidecar.mean[i % 3]) / sidecar.std[i % 3];
    const double q = std::clamp(std::nearbyint(v * 64.0) + 128, 0.0, 255.0);
    EXPECT_EQ(tensor.as<std::uint8_t>()[i], static_cast<int>(q)) << i;
  }
  form.value.shape.height = 4;
  EXPECT_EQ(error_of([&] { preprocess(image, sidecar, form); }),
            "net.yaml: resize makes pictures of [1, 2, 3, 3]; graph 'net' takes [1, 4, 3, 3]");
}

TEST(QuantizeInput, RoundsTiesToEvenAndSaturates) {
  const Tensor tensor =
      quantize({0.25f, 0.75f, 1.25f, -0.25f, -0.75f, 100.0f, -100.0f, 1e30f}, DType::kInt8, 3, 1);
  const auto q = tensor.as<std::int8_t>();
  EXPECT_EQ((std::vector<int>(q.begin(), q.end())),
            (std::vector<int>{3, 5, 5, 3, 1, 127, -128, 127}));
  const Tensor unsigned_tensor = quantize({-1.0f, 300.0f, 2.5f, 3.5f}, DType::kUint8, 0, 0);
  const auto u = unsigned_tensor.as<std::uint8_t>();
  EXPECT_EQ((std::vector<int>(u.begin(), u.end())), (std::vector<int>{0, 255, 2, 4}));
}

TEST(QuantizeInput, NegativeExponentsDivide) {
  const Tensor tensor = quantize({20.0f, 24.0f, 28.0f}, DType::kInt8, 0, -3);
  const auto q = tensor.as<std::int8_t>();
  EXPECT_EQ((std::vector<int>(q.begin(), q.end())), (std::vector<int>{2, 3, 4}));
}

TEST(QuantizeInput, WrongTensorsAreRefused) {
  const Value value = input_value(DType::kInt8, 0, 3);
  expect_contains(error_of([&] {
                    quantize_input(Tensor(DType::kInt8, {1, 2, 3, 3}), value);
                  }),
                  "expected float32 [1, 2, 3, 3]");
  expect_contains(error_of([&] { quantize_input(Tensor(DType::kFloat32, {18}), value); }),
                  "expected float32");
  expect_contains(
      error_of([&] { quantize({std::numeric_limits<float>::quiet_NaN()}, DType::kInt8, 0, 0); }),
      "element 0 is not a finite number");
  Value no_scale = value;
  no_scale.scale.reset();
  expect_contains(error_of([&] {
                    quantize_input(Tensor(DType::kFloat32, {1, 2, 3, 3}), no_scale);
                  }),
                  "no scale");
}

}  // namespace
}  // namespace qsim
