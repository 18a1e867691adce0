// FP16 numbers to OCP MXFP4 and back in C++, and what an error looks like.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include <qsim/golden.h>

namespace {

void must(qsim_status status) {
  if (status != QSIM_OK) throw std::runtime_error(qsim_last_error());
}

// A tensor without gaps; `shape` must outlive it.
qsim_tensor tensor(void* data, qsim_dtype dtype, const std::vector<std::int64_t>& shape) {
  return {data, dtype, QSIM_CPU, 0, static_cast<std::int32_t>(shape.size()), shape.data(), nullptr};
}

}  // namespace

int main() try {
  constexpr std::uint16_t kOne = 0x3C00;  // FP16: 1, then 1 + 2^-4, ...
  const std::vector<std::int64_t> shape = {2, 32};
  const std::vector<std::int64_t> scale_shape = {2, 1};
  std::vector<std::uint16_t> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(kOne + 64 * i);

  qsim_quantization how;
  must(qsim_quantization_preset("mxfp4", &how));
  std::vector<std::uint8_t> codes(32);
  std::vector<std::uint8_t> scales(2);
  std::vector<std::uint16_t> y(64);
  const qsim_tensor tx = tensor(x.data(), QSIM_FLOAT16, shape);
  const qsim_tensor values = tensor(codes.data(), QSIM_FP4_E2M1, shape);
  const qsim_tensor powers = tensor(scales.data(), QSIM_UE8M0, scale_shape);
  const qsim_tensor ty = tensor(y.data(), QSIM_FLOAT16, shape);
  const qsim_quantized q = {&values, &powers, nullptr, nullptr};
  must(qsim_quantize(&tx, &how, &q, nullptr));
  must(qsim_dequantize(&q, &how, &ty, nullptr));
  std::printf("scales 2^%d and 2^%d; element 40 is 0x%04X, and 0x%04X after MXFP4\n",
              scales[0] - 127, scales[1] - 127, x[40], y[40]);

  how.group = 7;
  if (qsim_quantize(&tx, &how, &q, nullptr) != QSIM_BAD_INPUT) return 1;
  std::printf("refused: %s\n", qsim_last_error());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
