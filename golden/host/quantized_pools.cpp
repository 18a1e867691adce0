#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "golden/host/product_kernels.h"
#include "golden/host/quantization.h"

namespace qsim::golden {
namespace {

// A picture of levels and what its pool gives, whatever the order of its axes.
struct LevelPool {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t positions = 0;
  std::int64_t pooled = 0;  // positions of the output
  bool channels_last = false;
  LevelsScale x;
  LevelsScale y;
};

// Calls body(a channel's levels, its outputs) for each channel; outputs are levels, too.
template <typename Body>
void for_each_level_channel(const LevelPool& pool, const Tensor& picture, Tensor& out, Body body) {
  const std::vector<std::int32_t> levels = levels_of(picture);
  const std::int64_t step = pool.channels_last ? pool.channels : 1;
  std::vector<std::int32_t> channel(static_cast<std::size_t>(pool.positions));
  std::vector<std::int32_t> pooled(static_cast<std::size_t>(pool.pooled));
  for (std::int64_t n = 0; n < pool.batch; ++n) {
    for (std::int64_t c = 0; c < pool.channels; ++c) {
      const std::int64_t plane = n * pool.channels;
      const auto first = [&](std::int64_t size) {
        return pool.channels_last ? plane * size + c : (plane + c) * size;
      };
      for (std::size_t i = 0; i < channel.size(); ++i) {
        channel[i] = levels[static_cast<std::size_t>(first(pool.positions)) +
                            i * static_cast<std::size_t>(step)];
      }
      body(channel, pooled);
      for (std::size_t i = 0; i < pooled.size(); ++i) {
        out.bytes[static_cast<std::size_t>(first(pool.pooled)) +
                  i * static_cast<std::size_t>(step)] = static_cast<std::byte>(pooled[i]);
      }
    }
  }
}

// The mean of a whole channel: the exact sum, requantized once.
std::int32_t whole_mean(const LevelPool& pool, const std::vector<std::int32_t>& channel) {
  std::int64_t sum = 0;
  for (const std::int32_t level : channel) sum += level - pool.x.zero_point;
  const float divisor = pool.y.scale * static_cast<float>(pool.positions);
  const float product = static_cast<float>(sum) * (pool.x.scale / divisor);
  return saturated_level(static_cast<double>(product), pool.y.zero_point,
                         level_range(pool.y.dtype));
}

LevelPool level_pool(const HostCall& call) {
  check_levels(call, 0);
  const bool is_last = call.attribute("channels_last", std::int64_t{0}) != 0;
  const Shape& shape = call.shape(0);
  if (shape.size() < 3) {
    call.malformed("a picture of shape " + shape_text(shape), "batch, channels and one more");
  }
  return {.batch = shape[0],
          .channels = is_last ? shape.back() : shape[1],
          .channels_last = is_last,
          .x = {},
          .y = {}};
}

}  // namespace

void run_qlinear_average_pool(HostCall& call) {
  LevelPool pool = level_pool(call);
  const WindowGeometry window =
      pool_geometry(call, spatial_shape(call, call.shape(0), pool.channels_last));
  const bool padded = call.attribute("count_include_pad", std::int64_t{0}) != 0;
  Shape shape = window.output_shape(pool.batch, pool.channels);
  if (pool.channels_last) std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  const DType dtype = level_type(call, 4, call.dtype(0));
  Tensor* out = call.output(0, dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  pool.positions = window.inputs();
  pool.pooled = window.outputs();
  pool.x = quantization_of(call, 1, 2, call.dtype(0));
  pool.y = quantization_of(call, 3, 4, dtype);
  const bool is_whole = std::ranges::all_of(window.axes, [](const WindowAxis& axis) {
    return axis.kernel == axis.input && axis.pad_begin == 0 && axis.pad_end == 0;
  });
  const LevelRange range = level_range(dtype);
  const auto offset = static_cast<float>(call.attribute(kLevelsOffset, std::int64_t{0}));
  float kernels = 1.0F;
  for (const WindowAxis& axis : window.axes) kernels *= static_cast<float>(axis.kernel);
  std::vector<float> reals(static_cast<std::size_t>(pool.positions));
  for_each_level_channel(pool, call.input(0), *out, [&](const auto& channel, auto& pooled) {
    if (is_whole) {
      pooled[0] = whole_mean(pool, channel);
      return;
    }
    std::ranges::transform(channel, reals.begin(),
                           [&](std::int32_t level) { return dequantized_level(level, pool.x); });
    for_each_window(window, [&](std::int64_t o, const WindowPart& part) {
      float sum = 0.0F;
      for_each_input(window, part,
                     [&](std::int64_t i) { sum += reals[static_cast<std::size_t>(i)]; });
      const float count = padded ? kernels : window_count(window, part, false);
      const float mean = count > 0.0F ? sum / count : 0.0F;
      const float zero = static_cast<float>(pool.y.zero_point) + offset;
      const float level = mean / pool.y.scale + zero;
      pooled[static_cast<std::size_t>(o)] =
          saturated_level(static_cast<double>(level) - static_cast<double>(offset), 0, range);
    });
  });
}

void run_qlinear_global_average_pool(HostCall& call) {
  LevelPool pool = level_pool(call);
  Shape shape = call.shape(0);
  const std::ptrdiff_t first = pool.channels_last ? 1 : 2;
  pool.positions = element_count(Shape(shape.begin() + first, shape.end() - (2 - first)));
  if (pool.positions == 0) {
    call.malformed("an empty picture " + shape_text(shape), "positions to pool");
  }
  pool.pooled = 1;
  std::fill(shape.begin() + first, shape.end() - (2 - first), 1);
  const DType dtype = level_type(call, 4, call.dtype(0));
  Tensor* out = call.output(0, dtype, shape);
  if (out == nullptr) return;
  pool.x = quantization_of(call, 1, 2, call.dtype(0));
  pool.y = quantization_of(call, 3, 4, dtype);
  for_each_level_channel(pool, call.input(0), *out, [&](const auto& channel, auto& pooled) {
    pooled[0] = whole_mean(pool, channel);
  });
}

// By a table of exponentials of the 256 distances from the greatest level, as ONNX Runtime: they
// are as large as a float32 sum of them allows.
void run_qlinear_softmax(HostCall& call) {
  check_levels(call, 0);
  const Shape& shape = call.shape(0);
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{-1}), shape.size());
  const DType dtype = level_type(call, 4, call.dtype(0));
  Tensor* out = call.output(0, dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  constexpr std::int64_t kOpsetOfOneAxis = 13;  // before it all axes from `axis` on are one
  const bool has_one_axis = call.attribute("opset", kOpsetOfOneAxis) >= kOpsetOfOneAxis;
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto inner = static_cast<std::size_t>(
      has_one_axis ? element_count(Shape(at + 1, shape.end())) : std::int64_t{1});
  const auto length =
      static_cast<std::size_t>(has_one_axis ? *at : element_count(Shape(at, shape.end())));
  const LevelsScale x = quantization_of(call, 1, 2, call.dtype(0));
  const LevelsScale y = quantization_of(call, 3, 4, dtype);
  const auto scale = static_cast<double>(x.scale);
  const float most = std::numeric_limits<float>::max() / static_cast<float>(length);
  const double shift = std::max(0.0, static_cast<double>(std::log(most)) - 5.0) / scale;
  std::array<float, 256> exponentials{};
  for (std::size_t i = 0; i < exponentials.size(); ++i) {
    exponentials[i] =
        static_cast<float>(std::exp((static_cast<double>(i) - 255.0 + shift) * scale));
  }
  const std::vector<std::int32_t> levels = levels_of(call.input(0));
  const float steps = std::floor(1.0F / y.scale);
  const LevelRange range = level_range(dtype);
  for (std::size_t row = 0; row * length < levels.size(); ++row) {
    const std::size_t first = row / inner * inner * length + row % inner;
    std::int32_t greatest = levels[first];
    for (std::size_t i = 0; i < length; ++i) {
      greatest = std::max(greatest, levels[first + i * inner]);
    }
    const auto exponential = [&](std::size_t i) {
      return exponentials[static_cast<std::size_t>(255 + levels[first + i * inner] - greatest)];
    };
    float sum = 0.0F;
    for (std::size_t i = 0; i < length; ++i) sum += exponential(i);
    for (std::size_t i = 0; i < length; ++i) {
      const float part = exponential(i) * steps / sum;
      out->bytes[first + i * inner] =
          static_cast<std::byte>(saturated_level(static_cast<double>(part), y.zero_point, range));
    }
  }
}

}  // namespace qsim::golden
