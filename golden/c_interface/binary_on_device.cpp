// The C interface of binary convolution on a GPU: packing, and layers that are planned once.
#include "golden/binary/cuda/binary_cuda.h"
#include "golden/c_interface/binary_views.h"
#include "golden/c_interface/device_call.h"

namespace ci = qsim::golden::c_interface;

// A convolution planned for inputs of one shape on one device.
struct qsim_binary_layer {
  qsim::golden::BinaryCudaPlan plan;
  qsim::Shape input;  // of the bits
  int device_index;
};

namespace qsim::golden::c_interface {

void pack_on_device(const Call& call, const View& x, const std::vector<float>& v,
                    const View& bits) {
  require_dense({&x, &bits});
  if (call.answers_query(0)) return;
  const auto* from = reinterpret_cast<const float*>(x.data);
  auto* to = reinterpret_cast<std::uint64_t*>(bits.data);
  on_device(call, [&] {
    if (v.empty()) {
      enqueue_binary_pack_signs(from, image_of(x), to, call.run().stream);
    } else {
      enqueue_binary_pack(from, image_of(x), v, to, call.run().stream);
    }
  });
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
    if (call.answers_query(0)) return;
    ci::on_device(call, [&] {
      enqueue_binary_conv(layer->plan, tables.data, from.data, to.data, call.run().stream);
    });
  });
}

void qsim_binary_layer_destroy(qsim_binary_layer* layer) { delete layer; }
