// A model's sidecar: what is read prepares a picture, whose bytes all lie in the input's range.
#include <cmath>

#include "cli/host_tensors/preprocess.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace cli;
using namespace formats;
namespace {

constexpr std::int64_t kMostPixels = 1 << 14;  // 65536 x 65536 is legal, and takes a while

void prepare_picture(const Sidecar& sidecar) {
  const ImageShape shape{1, sidecar.resize_height, sidecar.resize_width, 3};
  const InputForm form{
      "net", {shape, DType::kUint8, 3, Scale::power_of_two(-5)}, HostInterface::Layout::kNhwc};
  const Image image{2, 3, {0, 1, 2, 127, 128, 129, 253, 254, 255, 0, 0, 0, 255, 255, 255, 9, 9, 9}};
  accepted([&] {
    const Tensor tensor = preprocess(image, sidecar, form);
    require(tensor.shape == shape.nhwc(), "a prepared picture of another shape");
  });
}

}  // namespace

bool fuzz_one(Bytes input) {
  static Folder folder;
  folder.file("model.yaml", text_of(input));
  std::optional<Sidecar> sidecar;
  if (!accepted([&] { sidecar = load_sidecar_of(folder.path() / "model.onnx"); })) return false;
  require(sidecar.has_value(), "the file beside the model is not found");
  for (std::size_t i = 0; i < 3; ++i) {
    require(std::isfinite(sidecar->mean[i]) && sidecar->std[i] > 0, "a mean or std of no use");
  }
  if (sidecar->resize_height * sidecar->resize_width <= kMostPixels) prepare_picture(*sidecar);
  return true;
}

}  // namespace qsim::fuzz
