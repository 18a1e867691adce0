#include "formats/onnx/importer/clip_bounds.h"

#include <cmath>
#include <limits>

namespace qsim::formats {
namespace {

constexpr int kFirstOpsetWithClipInputs = 11;

float clip_bound(const NodeReader& node, int index, const char* name, float absent) {
  if (!node.has_input(index)) return absent;
  const Tensor bound = node.constant(index, name);
  if (bound.dtype != DType::kFloat32 || bound.elems() != 1) {
    node.refuse(std::string(name) + " is " + std::string(dtype_name(bound.dtype)) + " " +
                    shape_text(bound.shape),
                "one float32 number");
  }
  return bound.as<float>()[0];
}

}  // namespace

ClipBounds read_clip(const NodeReader& node) {
  node.require_inputs(1, 3);
  const bool has_inputs = node.opset() >= kFirstOpsetWithClipInputs;
  const NodeAttributes attributes =
      has_inputs ? NodeAttributes(node, {}) : NodeAttributes(node, {"max", "min"});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float low =
      has_inputs ? clip_bound(node, 1, "min", -kInfinity) : attributes.real("min", -kInfinity);
  const float high =
      has_inputs ? clip_bound(node, 2, "max", kInfinity) : attributes.real("max", kInfinity);
  if (std::isnan(low) || std::isnan(high)) node.malformed("a bound is not a number", "numbers");
  return {low, high};
}

}  // namespace qsim::formats
