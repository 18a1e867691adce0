#include "cli/host_tensors/host_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "cli/host_tensors/host_tail.h"
#include "cli/host_tensors/preprocess.h"

namespace qsim::cli {
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
    message += "; --batch " + std::to_string(tensor.shape[0]) + " runs that many at a time";
  }
  throw_bad_input(message);
}

// `tensor` as NHWC of its own dtype.
Tensor nhwc_from_host(const Tensor& tensor, const InputForm& form, Batch batch,
                      const std::string& source) {
  ImageShape s = form.value.shape;
  // A tensor without dimensions has one element and no batch.
  const bool has_batch = !tensor.shape.empty() && tensor.elems() > 0;
  if (batch == Batch::kAny) s.batch = has_batch ? tensor.shape.front() : 1;
  const bool nchw = form.layout == HostInterface::Layout::kNchw;
  const Shape expected = nchw ? Shape{s.batch, s.channels, s.height, s.width} : s.nhwc();
  const bool flat = s.height == 1 && s.width == 1 && tensor.shape == Shape{s.batch, s.channels};
  if (tensor.shape != expected && !flat) refuse_shape(tensor, expected, nchw, batch, source);
  return flat ? reshaped(tensor, s.nhwc()) : (nchw ? nhwc_of(tensor) : tensor);
}

Tensor from_host(const Tensor& tensor, const InputForm& form, Batch batch,
                 const std::string& source) {
  Tensor nhwc = nhwc_from_host(tensor, form, batch, source);
  if (tensor.dtype != DType::kFloat32 && tensor.dtype != form.value.dtype) {
    throw_bad_input(source + ": dtype " + std::string(dtype_name(tensor.dtype)) +
                    "; the model takes float32 or " + std::string(dtype_name(form.value.dtype)));
  }
  if (tensor.dtype != DType::kFloat32) return nhwc;
  Value value = form.value;
  value.shape.batch = nhwc.shape.front();
  try {
    return quantize_input(nhwc, value);
  } catch (const Error& error) {
    throw Error(error.code(), source + ": " + error.what());
  }
}

}  // namespace

double real_value(const Tensor& tensor, std::size_t index, const Value& value) {
  const std::int32_t raw = tensor.dtype == DType::kUint8 ? tensor.as<std::uint8_t>()[index]
                                                         : tensor.as<std::int8_t>()[index];
  if (!value.scale) return raw;
  return static_cast<double>(raw - value.zero_point) * static_cast<double>(value.scale->real());
}

InputForm input_form(const Graph& graph) {
  return {graph.name, graph.input_value(), graph.host.layout};
}

InputForm one_picture(InputForm form) {
  form.value.shape.batch = 1;
  return form;
}

OutputForm output_form(const Graph& graph) {
  OutputForm form{graph.output_value(), graph.host, std::nullopt};
  for (auto layer = graph.layers.rbegin(); layer != graph.layers.rend(); ++layer) {
    const auto* flatten = std::get_if<Flatten>(&layer->operation);
    if (flatten == nullptr) break;
    form.flatten = flatten->order;
  }
  return form;
}

Tensor input_from_host(const Tensor& tensor, const InputForm& form, const std::string& source) {
  return from_host(tensor, form, Batch::kOfGraph, source);
}

Tensor pictures_from_host(const Tensor& tensor, const InputForm& form, const std::string& source) {
  return from_host(tensor, form, Batch::kAny, source);
}

Tensor real_pictures_from_host(const Tensor& tensor, const InputForm& form,
                               const std::string& source) {
  if (tensor.dtype == DType::kFloat32) return nhwc_from_host(tensor, form, Batch::kAny, source);
  throw_bad_input(source + ": dtype " + std::string(dtype_name(tensor.dtype)) +
                  "; pictures as real numbers are float32");
}

Tensor output_to_host(const Tensor& last, const OutputForm& form, bool as_model_ends) {
  Tensor tensor = last;
  const std::int64_t batch = last.shape.front();
  if (form.flatten) {
    if (*form.flatten == Flatten::Order::kChw) tensor = nchw_of(tensor);
    tensor = reshaped(std::move(tensor), {batch, 1, 1, form.value.shape.channels});
  }
  if (as_model_ends && !form.host.tail.is_empty()) {
    return tail_of(reshaped(std::move(tensor), {batch, form.value.shape.channels}), form.value,
                   form.host);
  }
  if (as_model_ends && form.host.float_output) tensor = dequantized(tensor, form.value);
  if (form.host.flat_output) {
    return reshaped(std::move(tensor), {batch, form.value.shape.channels});
  }
  return form.host.layout == HostInterface::Layout::kNchw ? nchw_of(tensor) : tensor;
}

}  // namespace qsim::cli
