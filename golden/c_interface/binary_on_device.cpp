// The C interface of binary convolution on a GPU: packing, and layers that are planned once.
#include <algorithm>

#include "core/base/checked_math.h"
#include "golden/c_interface/binary_views.h"
#include "golden/c_interface/device_call.h"
#include "golden/kernels/binary/cuda/binary_cuda.h"
#include "golden/kernels/binary/cuda/binary_tensors.h"

namespace ci = qsim::golden::c_interface;

// A convolution planned for inputs of one shape on one device.
struct qsim_binary_layer {
  qsim::golden::BinaryCudaPlan plan;
  qsim::Shape input;  // of the bits
  int device_index;
};

namespace qsim::golden::c_interface {

namespace {

BitStrides strides_of(const View& view) {
  BitStrides strides;
  std::copy(view.strides.begin(), view.strides.end(), strides.of_axis);
  return strides;
}

BinaryThresholds thresholds_of(const ThresholdsView& view) {
  BinaryThresholds v;
  std::copy(view.values.begin(), view.values.end(), v.values);
  if (view.on_device) {
    v.on_device = reinterpret_cast<const float*>(view.on_device->data);
    v.stride = view.on_device->strides[0];
  }
  return v;
}

// All but the input's words. Throws Error for lists of another length.
BinaryTensorConv tensor_conv(const ImageShape& input, std::int64_t input_bases,
                             const BinaryWeightsViews& weights, const View& y) {
  require_dense({&y});
  BinaryTensorConv conv;
  conv.input = input;
  conv.input_bases = static_cast<int>(input_bases);
  conv.output = window_shape(weights.shape, weights.window, input);
  y.require_shape(conv.output.nhwc());
  weights.beta.require_shape({input_bases});
  conv.words = reinterpret_cast<const std::uint64_t*>(weights.words.data);
  conv.word_strides = strides_of(weights.words);
  conv.bases = weights.bases;
  conv.alpha = reinterpret_cast<const float*>(weights.alpha.data);
  conv.alpha_base_stride = weights.alpha.strides[0];
  conv.alpha_stride = weights.alpha.strides[1];
  conv.beta = reinterpret_cast<const float*>(weights.beta.data);
  conv.beta_stride = weights.beta.strides[0];
  if (weights.bias) {
    weights.bias->require_shape({weights.shape.out_channels});
    conv.bias = reinterpret_cast<const float*>(weights.bias->data);
    conv.bias_stride = weights.bias->strides[0];
  }
  conv.window = weights.window;
  conv.y = reinterpret_cast<float*>(y.data);
  return conv;
}

}  // namespace

void pack_on_device(const Call& call, const View& x, const ThresholdsView& v, const View& bits) {
  require_dense({&bits});
  if (call.answers_query(0) || bits.elems() == 0) return;
  const auto* from = reinterpret_cast<const float*>(x.data);
  auto* to = reinterpret_cast<std::uint64_t*>(bits.data);
  const bool by_sign = v.values.empty() && !v.on_device;
  on_device(call, [&] {
    if (!x.is_contiguous || v.on_device) {
      enqueue_binary_pack_tensor(from, strides_of(x), image_of(x), thresholds_of(v),
                                 static_cast<int>(v.bases), by_sign, to, call.run().stream);
    } else if (by_sign) {
      enqueue_binary_pack_signs(from, image_of(x), to, call.run().stream);
    } else {
      enqueue_binary_pack(from, image_of(x), v.values, to, call.run().stream);
    }
  });
}

void binary_conv_on_device(const Call& call, const View& bits, const BinaryWeightsViews& weights,
                           const View& y) {
  const ImageShape input{bits.dim(0), bits.dim(1), bits.dim(2), weights.shape.channels};
  BinaryTensorConv conv = tensor_conv(input, bits.dim(3), weights, y);
  conv.bits = reinterpret_cast<const std::uint64_t*>(bits.data);
  conv.bit_strides = strides_of(bits);
  if (call.answers_query(0) || y.elems() == 0) return;
  on_device(call, [&] { enqueue_binary_tensors(conv, call.run().stream); });
}

void abc_conv_on_device(const Call& call, const View& x, const ThresholdsView& v,
                        const BinaryWeightsViews& weights, const View& y) {
  BinaryTensorConv conv = tensor_conv(image_of(x), v.bases, weights, y);
  conv.x = reinterpret_cast<const float*>(x.data);
  conv.x_strides = strides_of(x);
  conv.v = thresholds_of(v);
  const auto words =
      checked_mul(checked_mul(x.dim(0) * x.dim(1) * x.dim(2), v.bases), bit_words(x.dim(3)));
  const auto bytes = static_cast<std::size_t>(checked_mul(words, 8));
  if (call.answers_query(bytes)) return;
  call.require_workspace(bytes);
  if (y.elems() == 0) return;
  conv.packed = static_cast<std::uint64_t*>(call.run().workspace);
  on_device(call, [&] { enqueue_binary_tensors(conv, call.run().stream); });
}

}  // namespace qsim::golden::c_interface

qsim_status qsim_binary_layer_create(const qsim_binary_weights* weights, const qsim_window* window,
                                     int64_t batch, int64_t height, int64_t width,
                                     int32_t device_index, qsim_binary_layer** layer) {
  return ci::guarded([&] {
    ci::Call call("binary_layer_create", nullptr);
    call.require("layer", layer);
    const auto conv = ci::conv_of(call, weights, window);
    const qsim::ImageShape image{batch, height, width, weights->channels};
    const auto bases = static_cast<int>(conv.beta.size());
    ci::require_bases(call, "the length of beta", std::ssize(conv.beta));
    // Which kernel is best depends on the device.
    auto plan = ci::as_device_work([&] {
      const qsim::golden::DeviceScope scope(device_index);
      return plan_binary_conv(conv, nullptr, image, bases, qsim::golden::BinaryCudaPath::kAuto);
    });
    *layer = new qsim_binary_layer{
        std::move(plan),
        {batch, height, width, bases, qsim::golden::bit_words(weights->channels)},
        device_index};
  });
}

const void* qsim_binary_layer_packed(const qsim_binary_layer* layer, size_t* bytes) {
  if (bytes != nullptr) *bytes = layer == nullptr ? 0 : layer->plan.packed.size();
  return layer == nullptr ? nullptr : layer->plan.packed.data();
}

qsim_status qsim_binary_layer_run(const qsim_binary_layer* layer, const qsim_tensor* packed,
                                  const qsim_tensor* bits, const qsim_tensor* y,
                                  const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("binary_layer_run", run);
    call.require("layer", layer);
    const ci::View from = call.dense_tensor("bits", bits, {QSIM_BITS64}, 5);
    from.require_shape(layer->input);
    const ci::View tables = call.dense_tensor("packed", packed, {QSIM_UINT8}, 1);
    tables.require_shape({std::ssize(layer->plan.packed)});
    const ci::View to = call.dense_tensor("y", y, {QSIM_FLOAT32}, 4);
    to.require_shape(layer->plan.output.nhwc());
    call.require_device(layer->device_index);
    for (const ci::View* view : {&from, &tables, &to}) ci::require_alignment(*view, 16);
    if (call.answers_query(0)) return;
    ci::on_device(call, [&] {
      enqueue_binary_conv(layer->plan, tables.data, from.data, to.data, call.run().stream,
                          call.run().constant_weights != 0);
    });
  });
}

void qsim_binary_layer_destroy(qsim_binary_layer* layer) { delete layer; }
