#include "cli/host_tensors/host_tail.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "formats/traces/npy.h"

namespace qsim::cli {
namespace {

std::int32_t level_at(const Tensor& levels, std::size_t index) {
  return levels.dtype == DType::kUint8 ? std::int32_t{levels.as<std::uint8_t>()[index]}
                                       : std::int32_t{levels.as<std::int8_t>()[index]};
}

float scale_of(const Value& value) { return value.scale ? value.scale->real() : 1.0F; }

void softmax_row(std::span<float> row) {
  const float largest = *std::max_element(row.begin(), row.end());
  float sum = 0.0F;
  for (float& x : row) {
    x = std::exp(x - largest);
    sum += x;
  }
  for (float& x : row) x /= sum;
}

Tensor softmax(Tensor reals) {
  const auto channels = static_cast<std::size_t>(reals.shape[1]);
  const std::span<float> all = reals.as<float>();
  for (std::size_t at = 0; at < all.size(); at += channels) {
    softmax_row(all.subspan(at, channels));
  }
  return reals;
}

// Powers of e by how far a level is below the largest of its row: entry 255 is the largest's. They
// are as large as the sum of `channels` of them allows.
std::array<float, 256> exponentials(double scale, std::int64_t channels) {
  const float most = std::numeric_limits<float>::max() / static_cast<float>(channels);
  const double shift = std::max(0.0, static_cast<double>(std::log(most)) - 5.0) / scale;
  std::array<float, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<float>(std::exp((static_cast<double>(i) - 255.0 + shift) * scale));
  }
  return table;
}

Tensor quantized_softmax(const Tensor& levels, const Value& value, const Value& output) {
  Tensor result(output.dtype, levels.shape);
  const auto channels = static_cast<std::size_t>(levels.shape[1]);
  const auto table = exponentials(static_cast<double>(scale_of(value)), levels.shape[1]);
  const float unit = std::floor(1.0F / scale_of(output));
  for (std::size_t row = 0; row < result.bytes.size(); row += channels) {
    std::int32_t largest = level_at(levels, row);
    for (std::size_t c = 1; c < channels; ++c) {
      largest = std::max(largest, level_at(levels, row + c));
    }
    const auto term = [&](std::size_t c) {
      return table[static_cast<std::size_t>(level_at(levels, row + c) + 255 - largest)];
    };
    float sum = 0.0F;
    for (std::size_t c = 0; c < channels; ++c) sum += term(c);
    for (std::size_t c = 0; c < channels; ++c) {
      const float product = term(c) * unit;
      const auto level = static_cast<std::int32_t>(std::nearbyint(product / sum));
      result.bytes[row + c] =
          static_cast<std::byte>(std::min(level + output.zero_point, output.max()) & 0xFF);
    }
  }
  return result;
}

template <typename Number>
Tensor arg_max(std::span<const Number> numbers, const Shape& shape, bool keeps_axis) {
  Tensor result(DType::kInt32, keeps_axis ? Shape{shape[0], 1} : Shape{shape[0]});
  const auto channels = static_cast<std::size_t>(shape[1]);
  for (std::size_t row = 0; row < numbers.size() / channels; ++row) {
    const auto picture = numbers.subspan(row * channels, channels);
    const auto largest = std::max_element(picture.begin(), picture.end());
    result.as<std::int32_t>()[row] = static_cast<std::int32_t>(largest - picture.begin());
  }
  return result;
}

Tensor arg_max(const Tensor& tensor, bool keeps_axis) {
  switch (tensor.dtype) {
    case DType::kUint8:
      return arg_max(tensor.as<std::uint8_t>(), tensor.shape, keeps_axis);
    case DType::kInt8:
      return arg_max(tensor.as<std::int8_t>(), tensor.shape, keeps_axis);
    default:
      return arg_max(tensor.as<float>(), tensor.shape, keeps_axis);
  }
}

}  // namespace

Tensor tail_of_reals(Tensor reals, const HostTail& tail) {
  QSIM_CHECK(reals.shape.size() == 2, "a tail of vectors");
  if (tail.softmax) reals = softmax(std::move(reals));
  return tail.arg_max ? arg_max(reals, tail.arg_max_keeps_axis) : reals;
}

std::string output_npy(const Tensor& output, const HostTail& tail) {
  if (!tail.arg_max) return formats::npy_bytes(output);
  std::string file = formats::npy_array_header(formats::kNpyInt64.descr, output.shape);
  for (const std::int64_t index : output.as<std::int32_t>()) {
    file.append(reinterpret_cast<const char*>(&index), sizeof index);
  }
  return file;
}

Tensor dequantized(const Tensor& levels, const Value& value) {
  Tensor result(DType::kFloat32, levels.shape);
  const std::span<float> reals = result.as<float>();
  for (std::size_t i = 0; i < reals.size(); ++i) {
    reals[i] = static_cast<float>(level_at(levels, i) - value.zero_point) * scale_of(value);
  }
  return result;
}

Tensor tail_of(const Tensor& levels, const Value& value, const HostInterface& host) {
  const HostTail& tail = host.tail;
  QSIM_CHECK(levels.shape.size() == 2 && !tail.is_empty(), "a tail of vectors");
  Tensor numbers = levels;
  if (tail.softmax_levels) {
    numbers = quantized_softmax(levels, value, *tail.softmax_levels);
    if (host.float_output) numbers = dequantized(numbers, *tail.softmax_levels);
  } else if (tail.softmax) {
    numbers = softmax(dequantized(levels, value));
  } else if (host.float_output) {
    numbers = dequantized(levels, value);
  }
  return tail.arg_max ? arg_max(numbers, tail.arg_max_keeps_axis) : numbers;
}

}  // namespace qsim::cli
