#include <algorithm>
#include <vector>

#include "core/base/checked_math.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/linear/cuda/device_weights.h"

namespace qsim::golden::cuda {
namespace {

constexpr std::int64_t kRowAlignment = 16;

std::int64_t aligned_row_bytes(std::int64_t in_features, int bits) {
  return ceil_div(in_features * bits, 8 * kRowAlignment) * kRowAlignment;
}

// Rows of aligned_row_bytes(), the rest of each row zero.
std::vector<std::uint8_t> packed_rows(const LinearWeights& weights, bool is_signed) {
  const auto rows = static_cast<std::size_t>(weights.out_features);
  const auto columns = static_cast<std::size_t>(weights.in_features);
  const auto row_bytes =
      static_cast<std::size_t>(aligned_row_bytes(weights.in_features, weights.bits));
  std::vector<std::uint8_t> packed(rows * row_bytes);
  for (std::size_t n = 0; n < rows; ++n) {
    for (std::size_t k = 0; k < columns; ++k) {
      const auto value =
          static_cast<std::uint8_t>(weights.values[n * columns + k] ^ (is_signed ? 8 : 0));
      std::uint8_t& byte = packed[n * row_bytes + (weights.bits == 8 ? k : k / 2)];
      byte = static_cast<std::uint8_t>(byte | value << (weights.bits == 8 ? 0 : k % 2 * 4));
    }
  }
  return packed;
}

std::vector<std::uint8_t> stored_zero_points(const LinearWeights& weights, bool is_signed) {
  std::vector<std::uint8_t> stored = weights.zero_points;
  if (std::all_of(stored.begin(), stored.end(), [](std::uint8_t one) { return one == 8; })) {
    return {};
  }
  for (std::uint8_t& one : stored) one = static_cast<std::uint8_t>(one - (is_signed ? 8 : 0));
  return stored;
}

// A hash of the index: its bits look random.
__device__ std::uint32_t random_word(std::int64_t index, std::uint32_t seed) {
  auto z = static_cast<std::uint64_t>(index) + (std::uint64_t{seed} << 40) + 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<std::uint32_t>(z >> 32);
}

// Bytes of any value; of 8 bits -128 becomes -127.
__global__ void fill_weights(std::uint32_t* words, std::int64_t count, bool eight_bits,
                             std::uint32_t seed) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    std::uint32_t word = random_word(i, seed);
    if (eight_bits) {
      const std::uint32_t least = __vcmpeq4(word, 0x80808080u);
      word = (word & ~least) | (0x81818181u & least);
    }
    words[i] = word;
  }
}

__global__ void fill_zero_points(std::uint8_t* bytes, std::int64_t count, std::uint32_t seed) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    bytes[i] = static_cast<std::uint8_t>(random_word(i, seed) & 15);
  }
}

__global__ void fill_floats(FloatType type, void* values, std::int64_t count, int exponent,
                            int exponents, std::uint32_t seed) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::uint32_t word = random_word(i, seed);
    const auto field = static_cast<std::uint32_t>(exponent + 127) + (word >> 24) % exponents;
    // Scales have one exponent, and their sign is +.
    const std::uint32_t sign = exponents == 1 ? 0 : word << 31;
    const std::uint32_t bits = sign | field << 23 | (word & 0x7FFFFF);
    if (type == FloatType::kFloat32) {
      static_cast<std::uint32_t*>(values)[i] = bits;
    } else {
      static_cast<std::uint16_t*>(values)[i] = static_cast<std::uint16_t>(
          type == FloatType::kFloat16 ? encode<kFp16>(bits) : encode<kBf16>(bits));
    }
  }
}

constexpr int kThreads = 256;

void fill_floats_of(FloatType type, const DeviceBuffer& buffer, std::int64_t count, int exponent,
                    int exponents, std::uint32_t seed) {
  launch_kernel("launching fill_floats", fill_floats, grid_stride_blocks(count, kThreads), kThreads,
                0, nullptr, type, buffer.as<void>(), count, exponent, exponents, seed);
}

}  // namespace

OwnedWeights::OwnedWeights(const LinearWeights& weights, std::span<const float> bias,
                           bool is_signed)
    : values_(upload(packed_rows(weights, is_signed))),
      scales_(upload(weights.scales)),
      zero_points_(upload(stored_zero_points(weights, is_signed))),
      bias_(upload_bytes(bias.data(), bias.size_bytes())) {
  sizes_.out_features = weights.out_features;
  sizes_.in_features = weights.in_features;
  sizes_.group_size = weights.group_size;
  sizes_.bits = weights.bits;
  sizes_.is_signed = is_signed;
}

OwnedWeights::OwnedWeights(const LinearTimingCase& one) {
  sizes_.out_features = one.out_features;
  sizes_.in_features = one.in_features;
  sizes_.group_size = one.group_size;
  sizes_.bits = one.bits;
  const std::int64_t groups = one.group_size == 0 ? 1 : ceil_div(one.in_features, one.group_size);
  const auto count = static_cast<std::size_t>(one.out_features * groups);
  values_ = DeviceBuffer(
      static_cast<std::size_t>(one.out_features * aligned_row_bytes(one.in_features, one.bits)));
  scales_ = DeviceBuffer(count * sizeof(float));
  if (one.bits == 4) zero_points_ = DeviceBuffer(count);
  if (one.has_bias) {
    bias_ = DeviceBuffer(static_cast<std::size_t>(one.out_features) * sizeof(float));
  }
}

DeviceWeights OwnedWeights::view() const {
  DeviceWeights view = sizes_;
  view.values = values_.as<void>();
  view.row_bytes = view.readable_bytes = aligned_row_bytes(view.in_features, view.bits);
  view.scales = scales_.as<float>();
  view.zero_points = zero_points_.as<std::uint8_t>();
  view.bias = bias_.as<float>();
  return view;
}

OwnedWeights random_device_weights(const LinearTimingCase& one, std::uint32_t seed) {
  OwnedWeights weights(one);
  const auto words = static_cast<std::int64_t>(weights.values_.bytes() / 4);
  launch_kernel("launching fill_weights", fill_weights, grid_stride_blocks(words, kThreads),
                kThreads, 0, nullptr, weights.values_.as<std::uint32_t>(), words, one.bits == 8,
                seed);
  const auto scales = static_cast<std::int64_t>(weights.scales_.bytes() / sizeof(float));
  fill_floats_of(FloatType::kFloat32, weights.scales_, scales, -14, 1, seed);
  if (one.bits == 4) {
    launch_kernel("launching fill_zero_points", fill_zero_points,
                  grid_stride_blocks(scales, kThreads), kThreads, 0, nullptr,
                  weights.zero_points_.as<std::uint8_t>(), scales, seed);
  }
  if (one.has_bias) {
    fill_floats_of(FloatType::kFloat32, weights.bias_, one.out_features, -4, 5, seed);
  }
  return weights;
}

DeviceBuffer random_device_floats(FloatType type, std::int64_t count, std::uint32_t seed) {
  DeviceBuffer buffer(static_cast<std::size_t>(count) * float_type_bytes(type));
  fill_floats_of(type, buffer, count, -4, 5, seed);
  return buffer;
}

}  // namespace qsim::golden::cuda
