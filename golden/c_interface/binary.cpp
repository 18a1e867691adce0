// The C interface of golden/binary: packing, and convolutions of bases of +1 and -1.
#include "golden/binary/optimised_conv.h"
#include "golden/c_interface/binary_views.h"
#include "golden/c_interface/threads.h"
#include "golden/c_interface/window.h"

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

// The bits of x by v (none: its sign).
BitTensor packed(const Call& call, const View& x, const std::vector<float>& v) {
  const std::vector<float> values = x.values<float>();
  if (v.empty()) return quantize_and_pack(values, image_of(x), 1, SignQuantizer());
  return pack_activations(values, image_of(x), v, options_of(call));
}

BitTensor bits_of_view(const Call& call, const View& view, std::int64_t channels) {
  if (channels < 1) call.refuse_value("channels", channels, "1 and more");
  const int bases = require_bases(call, "the bits' number of bases", view.dim(3));
  view.require_shape({view.dim(0), view.dim(1), view.dim(2), view.dim(3), bit_words(channels)});
  BitTensor bits({view.dim(0), view.dim(1), view.dim(2), channels}, bases);
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

BinaryConv conv_of(Call& call, const qsim_binary_weights* given, const qsim_window* window) {
  call.require("weights", given);
  const View words = call.tensor("words", given->words, {QSIM_BITS64}, 5);
  const View alpha = call.tensor("alpha", given->alpha, {QSIM_FLOAT32}, 2);
  if (given->channels < 1) call.refuse_value("channels", given->channels, "1 and more");
  BinaryConv conv;
  conv.weights.bases = require_bases(call, "the weights' number of bases", words.dim(1));
  words.require_shape(
      {words.dim(0), words.dim(1), words.dim(2), words.dim(3), bit_words(given->channels)});
  alpha.require_shape({words.dim(1), words.dim(0)});
  conv.weights.shape = {words.dim(0), words.dim(2), words.dim(3), given->channels};
  conv.beta = list_of(call, "beta", given->beta);
  if (given->bias != nullptr) conv.bias = list_of(call, "bias", given->bias);
  call.require_cpu();
  conv.weights.words = words.values<std::uint64_t>();
  conv.weights.alpha = alpha.values<float>();
  conv.window = window_of(window, words.dim(2), words.dim(3));
  return conv;
}

}  // namespace qsim::golden::c_interface

qsim_status qsim_pack_activations(const qsim_tensor* x, const qsim_tensor* v,
                                  const qsim_tensor* bits, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("pack_activations", run);
    const ci::View from = call.tensor("x", x, {QSIM_FLOAT32}, 4);
    // Few numbers, which a kernel is given by value: on the CPU in any case.
    ci::Call thresholds_call("pack_activations", nullptr);
    std::vector<float> thresholds;
    if (v != nullptr) thresholds = ci::list_of(thresholds_call, "v", v);
    const std::int64_t bases = v == nullptr ? 1 : std::ssize(thresholds);
    ci::require_bases(call, "the number of thresholds", bases);
    const ci::View to = call.tensor("bits", bits, {QSIM_BITS64}, 5);
    to.require_shape(
        {from.dim(0), from.dim(1), from.dim(2), bases, qsim::golden::bit_words(from.dim(3))});
    if (call.is_cuda()) return ci::pack_on_device(call, from, thresholds, to);
    if (call.answers_query(0)) return;
    to.store(ci::packed(call, from, thresholds).words.data());
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
    const ci::View to = call.tensor("words", words, {QSIM_BITS64}, 5);
    const int bases = ci::require_bases(call, "the words' number of bases", to.dim(1));
    to.require_shape(
        {from.dim(0), bases, from.dim(1), from.dim(2), qsim::golden::bit_words(from.dim(3))});
    const ci::View alphas = call.tensor("alpha", alpha, {QSIM_FLOAT32}, 2);
    alphas.require_shape({bases, from.dim(0)});
    std::vector<double> thresholds = qsim::golden::even_u(bases);
    if (u != nullptr) {
      const std::vector<float> given = ci::list_of(call, "u", u);
      thresholds.assign(given.begin(), given.end());
    }
    call.require_cpu();
    const auto result = qsim::golden::binarize(
        from.values<float>(), {from.dim(0), from.dim(1), from.dim(2), from.dim(3)}, thresholds,
        per_channel != 0 ? qsim::golden::AlphaGroup::kChannel : qsim::golden::AlphaGroup::kLayer);
    if (call.answers_query(0)) return;
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
    const ci::View to = call.tensor("y", y, {QSIM_FLOAT32}, 4);
    const auto conv = ci::conv_of(call, weights, window);
    ci::convolve(call, conv, ci::bits_of_view(call, from, weights->channels), to);
  });
}

qsim_status qsim_abc_conv2d(const qsim_tensor* x, const qsim_tensor* v,
                            const qsim_binary_weights* weights, const qsim_window* window,
                            const qsim_tensor* y, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("abc_conv2d", run);
    const ci::View from = call.tensor("x", x, {QSIM_FLOAT32}, 4);
    const std::vector<float> thresholds = ci::list_of(call, "v", v);
    ci::require_bases(call, "the number of thresholds", std::ssize(thresholds));
    const ci::View to = call.tensor("y", y, {QSIM_FLOAT32}, 4);
    const auto conv = ci::conv_of(call, weights, window);
    ci::convolve(call, conv, ci::packed(call, from, thresholds), to);
  });
}
