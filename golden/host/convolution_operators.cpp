#include <algorithm>

#include "golden/host/product_kernels.h"

namespace qsim::golden {

namespace {

std::int64_t group_of(const HostCall& call, std::int64_t channels) {
  const std::int64_t group = call.attribute("group", std::int64_t{1});
  if (group < 1 || channels % group != 0) {
    call.malformed(
        "group " + std::to_string(group) + " of " + std::to_string(channels) + " channels",
        "groups of one size");
  }
  return group;
}

Shape kernel_of(const HostCall& call, const Shape& weights, const Shape& picture) {
  if (weights.size() != picture.size()) {
    call.malformed("weights " + shape_text(weights) + " beside a picture " + shape_text(picture),
                   "as many axes");
  }
  return {weights.begin() + 2, weights.end()};
}

void check_real_inputs(const HostCall& call) {
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (!call.has(i) || call.dtype(i) == DType::kFloat32) continue;
    call.refuse("input " + std::to_string(i) + " of " + std::string(dtype_name(call.dtype(i))),
                "float32");
  }
}

void check_bias(const HostCall& call, std::int64_t channels) {
  if (!call.has(2) || call.shape(2) == Shape{channels}) return;
  call.malformed("a bias of shape " + shape_text(call.shape(2)), shape_text({channels}));
}

void add_bias(const HostCall& call, const Shape& shape, std::span<float> out) {
  if (!call.has(2) || out.empty()) return;
  const auto bias = elements<float>(call.input(2));
  const std::size_t size = out.size() / static_cast<std::size_t>(shape[0] * shape[1]);
  for (std::size_t plane = 0; plane * size < out.size(); ++plane) {
    for (float& value : out.subspan(plane * size, size)) value += bias[plane % bias.size()];
  }
}

std::optional<NamedActivation> fused_activation(const HostCall& call) {
  const std::string name = call.attribute("activation", "");
  if (name.empty()) return std::nullopt;
  const std::vector<float> numbers =
      call.real_list("activation_params").value_or(std::vector<float>{});
  const auto number = [&](std::size_t i) {
    return i < numbers.size() ? std::optional(numbers[i]) : std::nullopt;
  };
  return named_activation(call, name, number(0), number(1));
}

}  // namespace

Convolution convolution_of(const HostCall& call, const Shape& picture, const Shape& weights) {
  const Shape spatial = spatial_shape(call, picture);
  const Shape kernel = kernel_of(call, weights, picture);
  const std::int64_t group = group_of(call, picture[1]);
  if (weights[0] % group != 0 || weights[1] != picture[1] / group) {
    call.malformed("weights " + shape_text(weights) + " for " + std::to_string(picture[1]) +
                       " channels in groups of " + std::to_string(group),
                   "those of each group");
  }
  return {.window = window_geometry(call, spatial, kernel),
          .batch = picture[0],
          .group = group,
          .inputs = weights[1],
          .outputs = weights[0] / group};
}

ProductRule convolution_rule(const Convolution& conv) {
  const WindowGeometry& window = conv.window;
  bool is_dense = window.rank < 3 && conv.inputs == 1 && window.kernels() > 1;
  for (const WindowAxis& axis : window.axes) {
    is_dense = is_dense && axis.stride == 1 && axis.dilation == 1 && axis.pad_begin == 0 &&
               axis.pad_end == 0;
  }
  const bool is_turned = is_dense && window.axes[2].kernel == window.axes[2].input;
  return product_rule(conv.outputs, conv.inputs * window.kernels(), window.outputs(),
                      {.b_is_turned = is_turned});
}

void run_convolution(HostCall& call) {
  check_real_inputs(call);
  const Convolution conv = convolution_of(call, call.shape(0), call.shape(1));
  check_bias(call, call.shape(1)[0]);
  Tensor* out = call.output(0, DType::kFloat32, conv.output_shape());
  if (out == nullptr) return;
  const auto values = out->as<float>();
  convolve(conv, call.input(0).as<float>().data(), call.input(1).as<float>().data(), values.data());
  add_bias(call, out->shape, values);
}

// A tensor, a Conv added to it, a bias, and an activation.
void run_fused_convolution(HostCall& call) {
  check_real_inputs(call);
  const Convolution conv = convolution_of(call, call.shape(0), call.shape(1));
  check_bias(call, call.shape(1)[0]);
  if (call.has(3) && call.shape(3) != conv.output_shape()) {
    call.malformed("a tensor " + shape_text(call.shape(3)) + " to add",
                   shape_text(conv.output_shape()));
  }
  const auto activation = fused_activation(call);
  Tensor* out = call.output(0, DType::kFloat32, conv.output_shape());
  if (out == nullptr) return;
  const auto values = out->as<float>();
  if (call.has(3)) std::ranges::copy(call.input(3).as<float>(), values.begin());
  convolve(conv, call.input(0).as<float>().data(), call.input(1).as<float>().data(), values.data());
  add_bias(call, out->shape, values);
  if (activation) std::ranges::transform(values, values.begin(), *activation);
}

namespace {

// Adds what one output channel gets through each kernel position: [kernels][positions of the
// input].
void scatter(const WindowGeometry& window, const float* columns, float* to) {
  const auto& [z, y, x] = window.axes;
  for (std::int64_t kz = 0; kz < z.kernel; ++kz) {
    for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
      for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
        for (std::int64_t oz = 0; oz < z.output; ++oz) {
          const std::int64_t iz = z.first(oz) + kz * z.dilation;
          for (std::int64_t oy = 0; oy < y.output; ++oy) {
            const std::int64_t iy = y.first(oy) + ky * y.dilation;
            const float* row = columns;
            columns += x.output;
            if (iz < 0 || iz >= z.input || iy < 0 || iy >= y.input) continue;
            float* into = to + (iz * y.input + iy) * x.input;
            for (std::int64_t ox = 0; ox < x.output; ++ox) {
              const std::int64_t ix = x.first(ox) + kx * x.dilation;
              if (ix >= 0 && ix < x.input) into[ix] += row[ox];
            }
          }
        }
      }
    }
  }
}

// Rows of `count` numbers, `step` apart, as columns.
std::vector<float> turned_weights(const float* from, std::int64_t rows, std::int64_t step,
                                  std::int64_t count) {
  std::vector<float> turned(static_cast<std::size_t>(rows * count));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < count; ++i) {
      turned[static_cast<std::size_t>(i * rows + row)] = from[row * step + i];
    }
  }
  return turned;
}

}  // namespace

void run_transposed_convolution(HostCall& call) {
  check_real_inputs(call);
  const Shape& picture = call.shape(0);
  const Shape& weights = call.shape(1);
  const Shape spatial = spatial_shape(call, picture);
  const Shape kernel = kernel_of(call, weights, picture);
  const std::int64_t group = group_of(call, picture[1]);
  if (weights[0] != picture[1]) {
    call.malformed("weights " + shape_text(weights) + " for a picture " + shape_text(picture),
                   "a weight for each channel");
  }
  const WindowGeometry window = transposed_geometry(call, spatial, kernel);
  const std::int64_t channels = checked_mul(weights[1], group);
  check_bias(call, channels);
  Shape shape = {picture[0], channels};
  for (std::size_t d = kMostSpatialAxes - window.rank; d < kMostSpatialAxes; ++d) {
    shape.push_back(window.axes[d].input);
  }
  Tensor* out = call.output(0, DType::kFloat32, shape);
  if (out == nullptr || out->bytes.empty()) return;
  const auto values = out->as<float>();
  const float* from = call.input(0).as<float>().data();
  const float* factors = call.input(1).as<float>().data();
  const std::int64_t inputs = picture[1] / group;  // channels of a group
  const std::int64_t positions = window.outputs();
  const std::int64_t kernels = window.kernels();
  // The products of all kernel positions of one output channel after another.
  const ProductRule rule =
      product_rule(checked_mul(weights[1], kernels), inputs, positions, {.a_is_turned = true});
  std::vector<float> columns(static_cast<std::size_t>(checked_mul(kernels, positions)));
  for (std::int64_t n = 0; n < picture[0]; ++n) {
    for (std::int64_t m = 0; m < channels; ++m) {
      const std::int64_t first = m / weights[1] * inputs;
      const std::vector<float> turned =
          turned_weights(factors + (first * weights[1] + m % weights[1]) * kernels, inputs,
                         weights[1] * kernels, kernels);
      multiply({.a = turned.data(),
                .a_step = inputs,
                .b = from + (n * picture[1] + first) * positions,
                .b_step = positions,
                .out = columns.data(),
                .out_step = positions,
                .rows = kernels,
                .inner = inputs,
                .columns = positions},
               rule);
      scatter(window, columns.data(), values.data() + (n * channels + m) * window.inputs());
    }
  }
  add_bias(call, out->shape, values);
}

}  // namespace qsim::golden
