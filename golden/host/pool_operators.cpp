#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/host/float_sums.h"
#include "golden/host/product_kernels.h"

namespace qsim::golden {
namespace {

void check_real_picture(const HostCall& call) {
  if (call.dtype(0) == DType::kFloat32) return;
  call.refuse("a picture of " + std::string(dtype_name(call.dtype(0))), "float32");
}

// The greatest numbers of each channel's windows, and where in the channel they are (-1: nowhere).
template <typename T>
void pool_greatest(const WindowGeometry& window, const T* channel, T* out, std::int64_t* where) {
  for_each_window(window, [&](std::int64_t o, const WindowPart& part) {
    T most = std::numeric_limits<T>::lowest();
    std::int64_t found = -1;
    for_each_input(window, part, [&](std::int64_t i) {
      if (found >= 0 && !(channel[i] > most)) return;
      most = channel[i];
      found = i;
    });
    out[o] = most;
    if (where != nullptr) where[o] = found;
  });
}

// The place of index `at` of a channel in an order in which the first axis is the innermost.
std::int64_t columns_first(const WindowGeometry& window, std::int64_t at) {
  const auto& [z, y, x] = window.axes;
  const std::int64_t ix = at % x.input;
  const std::int64_t iy = at / x.input % y.input;
  return (ix * y.input + iy) * z.input + at / (x.input * y.input);
}

// body(values of a channel, output's) for each channel of each picture, float32.
template <typename Body>
void pool_channels(HostCall& call, const WindowGeometry& window, Body body) {
  const Shape& shape = call.shape(0);
  Tensor* out = call.output(0, DType::kFloat32, window.output_shape(shape[0], shape[1]));
  if (out == nullptr || out->bytes.empty()) return;
  const float* from = call.input(0).as<float>().data();
  float* to = out->as<float>().data();
  for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    body(from + plane * window.inputs(), to + plane * window.outputs());
  }
}

// body(numbers of a channel) gives its one number.
template <typename Body>
void pool_whole_channels(HostCall& call, Body body) {
  check_real_picture(call);
  Shape shape = call.shape(0);
  if (shape.size() < 3) {
    call.malformed("a picture of shape " + shape_text(shape), "batch, channels and one more");
  }
  const std::int64_t size = element_count(Shape(shape.begin() + 2, shape.end()));
  if (size == 0) call.malformed("an empty picture " + shape_text(shape), "positions to pool");
  std::fill(shape.begin() + 2, shape.end(), 1);
  Tensor* out = call.output(0, DType::kFloat32, shape);
  if (out == nullptr) return;
  const auto from = call.input(0).as<float>();
  const auto count = static_cast<std::size_t>(size);
  std::size_t at = 0;
  for (float& value : out->as<float>()) value = body(from.subspan(count * at++, count));
}

// The sum of a window's inputs, in an order that depends on the kind of window
// (onnxruntime/core/mlas/lib/pooling.cpp).
using WindowSum = float (*)(const WindowGeometry& window, const WindowPart& part,
                            const float* channel);

float sum_in_order(const WindowGeometry& window, const WindowPart& part, const float* channel) {
  float sum = 0.0F;
  for_each_input(window, part, [&](std::int64_t i) { sum += channel[i]; });
  return sum;
}

float sum_of_all(const WindowGeometry& window, const WindowPart&, const float* channel) {
  return pooled_sum(channel, window.inputs());
}

// Each column first.
float sum_by_columns(const WindowGeometry& window, const WindowPart& part, const float* channel) {
  float sum = 0.0F;
  for (std::int64_t kx = part.begin[2]; kx < part.end[2]; ++kx) {
    WindowPart column = part;
    column.begin[2] = kx;
    column.end[2] = kx + 1;
    sum += sum_in_order(window, column, channel);
  }
  return sum;
}

WindowSum window_sum(const HostCall& call, const WindowGeometry& window) {
  bool is_whole = true;
  bool is_small = true;
  bool is_dilated = false;
  for (const WindowAxis& axis : window.axes) {
    is_whole = is_whole && axis.kernel == axis.input && axis.stride == 1 && axis.pad_begin == 0 &&
               axis.pad_end == 0;
    is_small = is_small && axis.kernel <= 32;
    is_dilated = is_dilated || axis.dilation != 1;
  }
  const WindowAxis& x = window.axes[2];
  constexpr std::int64_t kWidest = 2048 - 64;  // that a row's sums are kept for
  if (is_dilated || call.opset() >= 19) return sum_in_order;
  if (is_whole) return sum_of_all;
  const bool is_narrow = x.input <= kWidest && x.pad_begin <= kWidest - x.input &&
                         x.pad_end <= kWidest - x.input - x.pad_begin;
  return window.rank >= 2 && x.stride <= 2 && is_small && is_narrow ? sum_by_columns : sum_in_order;
}

std::int64_t norm_of(const HostCall& call) {
  const std::int64_t p = call.attribute("p", std::int64_t{2});
  if (p < 1) call.malformed("p " + std::to_string(p), "1 or more");
  return p;
}

float power_of(float x, std::int64_t p) {
  const float size = std::abs(x);
  if (p == 1) return size;
  return p == 2 ? size * size : std::pow(size, static_cast<float>(p));
}

float root_of(float sum, std::int64_t p) {
  if (p == 1) return sum;
  return std::pow(sum, 1.0F / static_cast<float>(p));
}

}  // namespace

void run_max_pool(HostCall& call) {
  const Shape& shape = call.shape(0);
  const WindowGeometry window = pool_geometry(call, spatial_shape(call, shape));
  const bool by_columns = call.attribute("storage_order", std::int64_t{0}) != 0;
  const Shape pooled = window.output_shape(shape[0], shape[1]);
  const DType dtype = call.dtype(0);
  Tensor* out = call.output(0, dtype, pooled);
  Tensor* indices = call.output(1, DType::kInt64, pooled);
  if (!call.computes() || element_count(pooled) == 0) return;
  with_type(dtype, [&]<typename T>() {
    std::vector<T> unused(out == nullptr ? static_cast<std::size_t>(element_count(pooled)) : 0);
    const T* from = elements<T>(call.input(0)).data();
    T* to = out == nullptr ? unused.data() : elements<T>(*out).data();
    std::int64_t* where = indices == nullptr ? nullptr : indices->as<std::int64_t>().data();
    for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
      pool_greatest(window, from + plane * window.inputs(), to + plane * window.outputs(), where);
      if (where == nullptr) continue;
      for (std::int64_t i = 0; i < window.outputs(); ++i, ++where) {
        if (*where < 0) continue;
        if (by_columns) *where = columns_first(window, *where);
        *where += plane * window.inputs();
      }
    }
  });
}

void run_nhwc_max_pool(HostCall& call) {
  const Shape& shape = call.shape(0);
  const DType dtype = call.dtype(0);
  if (dtype != DType::kInt8 && dtype != DType::kUint8) {
    call.refuse("a picture of " + std::string(dtype_name(dtype)), "int8 and uint8");
  }
  const WindowGeometry window = pool_geometry(call, spatial_shape(call, shape, true));
  const std::int64_t channels = shape.back();
  Shape pooled = window.output_shape(shape[0], channels);
  std::rotate(pooled.begin() + 1, pooled.begin() + 2, pooled.end());
  Tensor* out = call.output(0, dtype, pooled);
  if (out == nullptr || out->bytes.empty()) return;
  with_type(dtype, [&]<typename T>() {
    const T* from = elements<T>(call.input(0)).data();
    T* to = elements<T>(*out).data();
    std::vector<T> greatest(static_cast<std::size_t>(channels * window.outputs()));
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      const std::vector<T> planes = transposed(from, window.inputs(), channels);
      for (std::int64_t c = 0; c < channels; ++c) {
        pool_greatest(window, planes.data() + c * window.inputs(),
                      greatest.data() + c * window.outputs(), nullptr);
      }
      std::ranges::copy(transposed(greatest.data(), channels, window.outputs()), to);
      from += window.inputs() * channels;
      to += window.outputs() * channels;
    }
  });
}

void run_average_pool(HostCall& call) {
  check_real_picture(call);
  const WindowGeometry window = pool_geometry(call, spatial_shape(call, call.shape(0)));
  const bool padded = call.attribute("count_include_pad", std::int64_t{0}) != 0;
  const auto sum_of = window_sum(call, window);
  pool_channels(call, window, [&](const float* channel, float* out) {
    for_each_window(window, [&](std::int64_t o, const WindowPart& part) {
      const float count = window_count(window, part, padded);
      out[o] = count > 0.0F ? sum_of(window, part, channel) / count : 0.0F;
    });
  });
}

void run_lp_pool(HostCall& call) {
  check_real_picture(call);
  const WindowGeometry window = pool_geometry(call, spatial_shape(call, call.shape(0)));
  const std::int64_t p = norm_of(call);
  pool_channels(call, window, [&](const float* channel, float* out) {
    for_each_window(window, [&](std::int64_t o, const WindowPart& part) {
      float sum = 0.0F;
      for_each_input(window, part, [&](std::int64_t i) { sum += power_of(channel[i], p); });
      out[o] = root_of(sum, p);
    });
  });
}

void run_global_average_pool(HostCall& call) {
  pool_whole_channels(call, [](std::span<const float> channel) {
    return pooled_sum(channel.data(), static_cast<std::int64_t>(channel.size())) /
           static_cast<float>(channel.size());
  });
}

void run_global_max_pool(HostCall& call) {
  pool_whole_channels(call, [](std::span<const float> channel) {
    return *std::max_element(channel.begin(), channel.end());
  });
}

void run_global_lp_pool(HostCall& call) {
  const std::int64_t p = norm_of(call);
  pool_whole_channels(call, [&](std::span<const float> channel) {
    float sum = 0.0F;
    for (const float value : channel) sum += power_of(value, p);
    return root_of(sum, p);
  });
}

}  // namespace qsim::golden
