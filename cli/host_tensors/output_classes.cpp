#include "cli/host_tensors/output_classes.h"

#include "cli/host_tensors/host_layout.h"

namespace qsim {
namespace {

constexpr std::size_t kTopClasses = 5;

}  // namespace

std::vector<OutputClass> classes_of(const Network& network, const Tensor& ofmap) {
  const Value& output = network.model.graph.layers.back().output;
  if (output.shape.height * output.shape.width != 1 || output.shape.channels < 2) return {};
  if (ofmap.shape != output.shape.nhwc()) {
    return {};  // a Flatten behind the last ofmap: a picture, not classes
  }
  const std::vector<std::string> labels =
      network.model.sidecar ? network.model.sidecar->labels : std::vector<std::string>{};
  return top_classes(picture_scores(ofmap, output, 0), output.scale_exponent.has_value(), labels,
                     kTopClasses);
}

}  // namespace qsim
