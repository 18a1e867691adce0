// The C interface of golden/kernels/binary: packing, and convolutions of bases of +1 and -1.
#include "golden/c_interface/binary_views.h"
#include "golden/c_interface/threads.h"
#include "golden/c_interface/window.h"
#include "golden/kernels/binary/optimised_conv.h"

namespace ci = qsim::golden::c_interface;

namespace qsim::golden::c_interface {
namespace {

BinaryOptions options_of(const Call& call) {
  BinaryOptions options;
  if (call.run().threads != nullptr) options.threads = call.run().threads->team.threads();
  return options;
}

std::vector<float> list_of(Call& call, const char* what, const qsim_tensor* tensor) {
  const View view = call.tensor(what, tensor, {QSIM_FLOAT32}, 1);
  call.require_cpu();
  return view.values<float>();
}

// Few numbers, which a kernel is given by value too: on the CPU, or where the other tensors are.
ThresholdsView thresholds_of(Call& call, const char* function, const qsim_tensor* v) {
  call.require("v", v);
  ThresholdsView thresholds;
  if (v->device == QSIM_CPU) {
    Call on_cpu(function, nullptr);
    thresholds.values = list_of(on_cpu, "v", v);
    thresholds.bases = std::ssize(thresholds.values);
  } else {
    thresholds.on_device = call.tensor("v", v, {QSIM_FLOAT32}, 1);
    thresholds.bases = thresholds.on_device->dim(0);
  }
  require_bases(call, "the number of thresholds", thresholds.bases);
  return thresholds;
}

// The bits of x by v (none: its sign).
BitTensor packed(const Call& call, const View& x, const std::vector<float>& v) {
  const std::vector<float> values = x.values<float>();
  if (v.empty()) return quantize_and_pack(values, image_of(x), 1, SignQuantizer());
  return pack_activations(values, image_of(x), v, options_of(call));
}

void require_bits(const Call& call, const View& view, std::int64_t channels) {
  require_bases(call, "the bits' number of bases", view.dim(3));
  view.require_shape({view.dim(0), view.dim(1), view.dim(2), view.dim(3), bit_words(channels)});
}

BitTensor bits_of_view(const View& view, std::int64_t channels) {
  BitTensor bits({view.dim(0), view.dim(1), view.dim(2), channels}, static_cast<int>(view.dim(3)));
  bits.words = view.values<std::uint64_t>();
  return bits;
}

// Checks y, and computes into it unless a workspace was asked for.
void convolve(const Call& call, const BinaryConv& conv, const BitTensor& bits, const View& y) {
  const ImageShape shape = output_shape(conv, bits);
  y.require_shape(shape.nhwc());
  if (call.answers_query(0)) return;
  y.store(OptimisedBinaryConv(conv, options_of(call)).run(bits).data());
}

}  // namespace

int require_bases(const Call& call, const char* field, std::int64_t bases) {
  if (bases < 1 || bases > kMostBases) call.refuse_value(field, bases, "1 to 8");
  return static_cast<int>(bases);
}

BinaryWeightsViews weights_of(Call& call, const qsim_binary_weights* given,
                              const qsim_window* window) {
  call.require("weights", given);
  BinaryWeightsViews views;
  views.words = call.tensor("words", given->words, {QSIM_BITS64}, 5);
  views.alpha = call.tensor("alpha", given->alpha, {QSIM_FLOAT32}, 2);
  if (given->channels < 1) call.refuse_value("channels", given->channels, "1 and more");
  const View& words = views.words;
  views.bases = require_bases(call, "the weights' number of bases", words.dim(1));
  words.require_shape(
      {words.dim(0), words.dim(1), words.dim(2), words.dim(3), bit_words(given->channels)});
  views.alpha.require_shape({words.dim(1), words.dim(0)});
  views.beta = call.tensor("beta", given->beta, {QSIM_FLOAT32}, 1);
  if (given->bias != nullptr) views.bias = call.tensor("bias", given->bias, {QSIM_FLOAT32}, 1);
  views.shape = {words.dim(0), words.dim(2), words.dim(3), given->channels};
  views.window = window_of(call, window, words.dim(2), words.dim(3));
  return views;
}

BinaryConv conv_of(const BinaryWeightsViews& views) {
  BinaryConv conv;
  conv.weights.bases = views.bases;
  conv.weights.shape = views.shape;
  conv.weights.words = views.words.values<std::uint64_t>();
  conv.weights.alpha = views.alpha.values<float>();
  conv.beta = views.beta.values<float>();
  if (views.bias) conv.bias = views.bias->values<float>();
  conv.window = views.window;
  return conv;
}

BinaryConv conv_of(Call& call, const qsim_binary_weights* given, const qsim_window* window) {
  const BinaryWeightsViews views = weights_of(call, given, window);
  call.require_cpu();
  return conv_of(views);
}

}  // namespace qsim::golden::c_interface

qsim_status qsim_pack_activations(const qsim_tensor* x, const qsim_tensor* v,
                                  const qsim_tensor* bits, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("pack_activations", run);
    const ci::View from = call.tensor("x", x, {QSIM_FLOAT32}, 4);
    ci::ThresholdsView thresholds;
    if (v != nullptr) thresholds = ci::thresholds_of(call, "pack_activations", v);
    const ci::View to = call.output("bits", bits, {QSIM_BITS64}, 5);
    to.require_shape({from.dim(0), from.dim(1), from.dim(2), thresholds.bases,
                      qsim::golden::bit_words(from.dim(3))});
    if (call.is_cuda()) return ci::pack_on_device(call, from, thresholds, to);
    if (call.answers_query(0)) return;
    to.store(ci::packed(call, from, thresholds.values).words.data());
  });
}

qsim_status qsim_binarize_weights(const qsim_tensor* w, const qsim_tensor* u, int32_t per_channel,
                                  const qsim_tensor* words, const qsim_tensor* alpha,
                                  const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("binarize_weights", run);
    if (per_channel != 0 && per_channel != 1)
      call.refuse_value("per_channel", per_channel, "0 and 1");
    const ci::View from = call.tensor("w", w, {QSIM_FLOAT32}, 4);
    const ci::View to = call.output("words", words, {QSIM_BITS64}, 5);
    const int bases = ci::require_bases(call, "the words' number of bases", to.dim(1));
    to.require_shape(
        {from.dim(0), bases, from.dim(1), from.dim(2), qsim::golden::bit_words(from.dim(3))});
    const ci::View alphas = call.output("alpha", alpha, {QSIM_FLOAT32}, 2);
    alphas.require_shape({bases, from.dim(0)});
    std::vector<double> thresholds = qsim::golden::even_u(bases);
    if (u != nullptr) {
      const std::vector<float> given = ci::list_of(call, "u", u);
      thresholds.assign(given.begin(), given.end());
    }
    call.require_cpu();
    if (call.answers_query(0)) return;
    const auto result = qsim::golden::binarize(
        from.values<float>(), {from.dim(0), from.dim(1), from.dim(2), from.dim(3)}, thresholds,
        per_channel != 0 ? qsim::golden::AlphaGroup::kChannel : qsim::golden::AlphaGroup::kLayer);
    to.store(result.weights.words.data());
    alphas.store(result.weights.alpha.data());
  });
}

qsim_status qsim_binary_conv2d(const qsim_tensor* bits, const qsim_binary_weights* weights,
                               const qsim_window* window, const qsim_tensor* y,
                               const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("binary_conv2d", run);
    const ci::View from = call.tensor("bits", bits, {QSIM_BITS64}, 5);
    const ci::View to = call.output("y", y, {QSIM_FLOAT32}, 4);
    const ci::BinaryWeightsViews views = ci::weights_of(call, weights, window);
    ci::require_bits(call, from, weights->channels);
    if (call.is_cuda()) return ci::binary_conv_on_device(call, from, views, to);
    ci::convolve(call, ci::conv_of(views), ci::bits_of_view(from, weights->channels), to);
  });
}

qsim_status qsim_abc_conv2d(const qsim_tensor* x, const qsim_tensor* v,
                            const qsim_binary_weights* weights, const qsim_window* window,
                            const qsim_tensor* y, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("abc_conv2d", run);
    const ci::View from = call.tensor("x", x, {QSIM_FLOAT32}, 4);
    const ci::ThresholdsView thresholds = ci::thresholds_of(call, "abc_conv2d", v);
    const ci::View to = call.output("y", y, {QSIM_FLOAT32}, 4);
    const ci::BinaryWeightsViews views = ci::weights_of(call, weights, window);
    if (call.is_cuda()) return ci::abc_conv_on_device(call, from, thresholds, views, to);
    ci::convolve(call, ci::conv_of(views), ci::packed(call, from, thresholds.values), to);
  });
}
