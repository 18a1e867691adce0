#include "cli/host_tensors/host_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "files/sidecar.h"

namespace qsim {
namespace {

// Row-major transposition of axes: result axis i is axis order[i] of `tensor`, which has rank 4.
Tensor permuted(const Tensor& tensor, const std::array<std::size_t, 4>& order) {
  const Shape& shape = tensor.shape;
  const std::array<std::int64_t, 4> strides = {shape[1] * shape[2] * shape[3], shape[2] * shape[3],
                                               shape[3], 1};
  Tensor result(tensor.dtype, {shape[order[0]], shape[order[1]], shape[order[2]], shape[order[3]]});
  const std::size_t size = dtype_bytes(tensor.dtype);
  std::size_t to = 0;
  for (std::int64_t a = 0; a < result.shape[0]; ++a) {
    for (std::int64_t b = 0; b < result.shape[1]; ++b) {
      for (std::int64_t c = 0; c < result.shape[2]; ++c) {
        for (std::int64_t d = 0; d < result.shape[3]; ++d, ++to) {
          const auto from = static_cast<std::size_t>(a * strides[order[0]] + b * strides[order[1]] +
                                                     c * strides[order[2]] + d * strides[order[3]]);
          std::memcpy(&result.bytes[to * size], &tensor.bytes[from * size], size);
        }
      }
    }
  }
  return result;
}

Tensor nchw_of(const Tensor& nhwc) { return permuted(nhwc, {0, 3, 1, 2}); }
Tensor nhwc_of(const Tensor& nchw) { return permuted(nchw, {0, 2, 3, 1}); }

Tensor reshaped(Tensor tensor, Shape shape) {
  QSIM_CHECK(element_count(shape) == tensor.elems(), "reshape keeps the number of elements");
  tensor.shape = std::move(shape);
  return tensor;
}

std::int32_t raw_value(const Tensor& tensor, std::size_t index) {
  return tensor.dtype == DType::kUint8 ? tensor.as<std::uint8_t>()[index]
                                       : tensor.as<std::int8_t>()[index];
}

double real_value(const Tensor& tensor, std::size_t index, const Value& value) {
  const std::int32_t raw = raw_value(tensor, index);
  if (!value.scale_exponent) return raw;
  return std::ldexp(static_cast<double>(raw - value.zero_point), -*value.scale_exponent);
}

Tensor dequantized(const Tensor& tensor, const Value& value) {
  Tensor result(DType::kFloat32, tensor.shape);
  const std::span<float> floats = result.as<float>();
  for (std::size_t i = 0; i < floats.size(); ++i) {
    floats[i] = static_cast<float>(real_value(tensor, i, value));
  }
  return result;
}

enum class Batch : std::uint8_t { kOfGraph, kAny };

[[noreturn]] void refuse_shape(const Tensor& tensor, const Shape& expected, bool nchw, Batch batch,
                               const std::string& source) {
  const bool vector = expected[1] * expected[2] * expected[3] ==
                      *std::max_element(expected.begin() + 1, expected.end());
  std::string taken = shape_text(expected);
  if (batch == Batch::kAny) taken = "[N" + taken.substr(taken.find(','));
  std::string message = source + ": shape " + shape_text(tensor.shape) + "; the model takes " +
                        taken + (nchw ? " (NCHW)" : " (NHWC)");
  if (vector) message += " or [N, K]";
  if (batch == Batch::kAny) throw_bad_input(message + ", N >= 1");
  Shape other_batch = tensor.shape;
  if (other_batch.size() == expected.size()) other_batch[0] = expected[0];
  const bool flat_batch = vector && tensor.shape.size() == 2 && tensor.elems() > 0 &&
                          tensor.elems() / tensor.shape[0] == element_count(expected) / expected[0];
  if ((other_batch == expected && tensor.elems() > 0) || flat_batch) {
    message += "; --batch " + std::to_string(tensor.shape[0]) + " takes as many at a time";
  }
  throw_bad_input(message);
}

Tensor from_host(const Tensor& tensor, const Graph& graph, Batch batch, const std::string& source) {
  ImageShape s = graph.input.shape;
  if (batch == Batch::kAny) s.batch = tensor.elems() > 0 ? tensor.shape.front() : 1;
  const bool nchw = graph.host.layout == HostInterface::Layout::kNchw;
  const Shape expected = nchw ? Shape{s.batch, s.channels, s.height, s.width} : s.nhwc();
  const bool flat = s.height == 1 && s.width == 1 && tensor.shape == Shape{s.batch, s.channels};
  if (tensor.shape != expected && !flat) refuse_shape(tensor, expected, nchw, batch, source);
  if (tensor.dtype != DType::kFloat32 && tensor.dtype != graph.input.dtype) {
    throw_bad_input(source + ": dtype " + std::string(dtype_name(tensor.dtype)) +
                    "; the model takes float32 or " + std::string(dtype_name(graph.input.dtype)));
  }
  const Tensor nhwc = flat ? reshaped(tensor, s.nhwc()) : (nchw ? nhwc_of(tensor) : tensor);
  if (tensor.dtype != DType::kFloat32) return nhwc;
  Value value = graph.input;
  value.shape.batch = s.batch;
  try {
    return quantize_input(nhwc, value);
  } catch (const Error& error) {
    throw Error(error.code(), source + ": " + error.what());
  }
}

}  // namespace

Tensor input_from_host(const Tensor& tensor, const Graph& graph, const std::string& source) {
  return from_host(tensor, graph, Batch::kOfGraph, source);
}

Tensor pictures_from_host(const Tensor& tensor, const Graph& graph, const std::string& source) {
  return from_host(tensor, graph, Batch::kAny, source);
}

Tensor output_to_host(const Tensor& last, std::size_t layer, const Graph& graph,
                      bool as_model_ends) {
  Tensor tensor = last;
  for (std::size_t i = layer + 1; i < graph.layers.size(); ++i) {
    const auto* flatten = std::get_if<Flatten>(&graph.layers[i].operation);
    QSIM_CHECK(flatten != nullptr, "only Flatten layers follow the last ofmap");
    if (flatten->order == Flatten::Order::kChw) tensor = nchw_of(tensor);
    tensor = reshaped(std::move(tensor), graph.layers[i].output.shape.nhwc());
  }
  const Value& value = graph.layers.back().output;
  if (as_model_ends && graph.host.float_output) tensor = dequantized(tensor, value);
  if (graph.host.flat_output) {
    return reshaped(std::move(tensor), {value.shape.batch, value.shape.channels});
  }
  return graph.host.layout == HostInterface::Layout::kNchw ? nchw_of(tensor) : tensor;
}

std::vector<double> picture_scores(const Tensor& tensor, const Value& value, std::int64_t picture) {
  const auto channels = static_cast<std::size_t>(value.shape.channels);
  std::vector<double> scores(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    scores[c] = real_value(tensor, static_cast<std::size_t>(picture) * channels + c, value);
  }
  return scores;
}

}  // namespace qsim
