// Random convolutions' gradients on the GPU, within their bounds of float64.
#include "golden/kernels/train/cuda/backward/direct_input_gradient.h"
#include "golden/kernels/train/cuda/backward/direct_weight_gradient.h"
#include "tests/golden/train/cuda/gradient_checks.h"

namespace qsim::golden_test {
namespace {

class ConvCase {
 public:
  ConvCase(Random& random, std::uint64_t seed, const std::string& plant, GradientReport& report)
      : random_(random), seed_(seed), plant_(plant), report_(report) {}

  void check() {
    const RandomConv layer = random_conv(random_);
    const std::string text = "seed " + std::to_string(seed_) + ", " + layer.text();
    const DeviceBuffer q = on_device(layer.q), w = on_device(layer.w), g = on_device(layer.g);
    const DeviceBuffer w_scales = on_device(layer.w_scales);
    const bool planted_zero = plant_ == "zero_point";
    const DeviceBuffer zero =
        on_device(std::vector<std::int32_t>{layer.zero_point + (planted_zero ? 1 : 0)});
    const DeviceBuffer scale =
        on_device(std::vector<float>{layer.scale * (plant_ == "scale" ? 1.001F : 1.0F)});
    train::LevelConv conv = layer.conv;
    conv.q = q.as<std::int8_t>();
    conv.w = w.as<std::int8_t>();
    conv.zero_point = layer.zero_point == 0 && !planted_zero ? nullptr : zero.as<std::int32_t>();
    if (plant_ == "pads") ++conv.window.pad_left;
    check_input(layer, conv, w_scales, g, text);
    check_weight(layer, conv, scale, g, text);
  }

 private:
  void check_input(const RandomConv& layer, const train::LevelConv& conv,
                   const DeviceBuffer& w_scales, const DeviceBuffer& g, const std::string& text) {
    const ImageShape& x = layer.conv.x_shape;
    const RealType type = random_type(random_);
    StridedTensor first(random_, {x.batch, x.height, x.width, x.channels}, type);
    StridedTensor second(first.description());
    const std::vector<std::uint8_t> passes = random_passes(random_, first.description().elems());
    const DeviceBuffer bits = on_device(planted(plant_, passes));
    std::string call;
    for (StridedTensor* dx : {&first, &second}) {
      const train::ConvInputGradient one{conv, w_scales.as<float>(), g.as<std::uint16_t>(),
                                         bits_or_null(bits, passes), dx->on_device()};
      call = train::cuda::has_direct_input_gradient(one) ? "input_gradient, small groups"
                                                         : "input_gradient";
      run(one);
    }
    const std::vector<std::uint8_t> found = first.downloaded();
    const std::string what = text + ", dx " + text_of(first.description());
    report_.add_exact(call + ": again", found == second.downloaded(), what);
    report_.add_exact(call + ": gaps", first.has_same_gaps(found), what);
    report_.add(call, share_of(layer.input_gradient(), values_of(first, found), 1, type, passes),
                what);
  }

  void check_weight(const RandomConv& layer, const train::LevelConv& conv,
                    const DeviceBuffer& scale, const DeviceBuffer& g, const std::string& text) {
    const Window& w = layer.conv.window;
    StridedTensor first(
        random_, {layer.conv.y_shape.channels, w.kernel_h, w.kernel_w, layer.conv.in_channels()},
        RealType::kFloat32);
    StridedTensor second(first.description());
    const std::vector<std::uint8_t> passes = random_passes(random_, first.description().elems());
    const DeviceBuffer bits = on_device(planted(plant_, passes));
    std::string call;
    for (StridedTensor* dw : {&first, &second}) {
      const train::ConvWeightGradient one{conv, scale.as<float>(), g.as<std::uint16_t>(),
                                          bits_or_null(bits, passes), dw->on_device()};
      call = train::cuda::has_direct_weight_gradient(one) ? "weight_gradient, small groups"
                                                          : "weight_gradient";
      run(one);
    }
    const std::vector<std::uint8_t> found = first.downloaded();
    const std::string what = text + ", dw " + text_of(first.description());
    report_.add_exact(call + ": again", found == second.downloaded(), what);
    report_.add_exact(call + ": gaps", first.has_same_gaps(found), what);
    report_.add(call,
                share_of(layer.weight_gradient(), values_of(first, found), layer.scale,
                         RealType::kFloat32, passes),
                what);
  }

  Random& random_;
  std::uint64_t seed_;
  const std::string& plant_;
  GradientReport& report_;
};

}  // namespace

void check_conv_gradients(Random& random, std::uint64_t seed, const std::string& plant,
                          GradientReport& report) {
  ConvCase(random, seed, plant, report).check();
}

}  // namespace qsim::golden_test
