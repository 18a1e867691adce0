// Pass 4: a concatenation takes no command where its operands can be stored side by side.
#include <map>
#include <set>

#include "compiler/passes/passes.h"

namespace qsim::compiler {
namespace {

using Slices = std::vector<FusedLayer::Slice>;

class ConcatPlaces {
 public:
  ConcatPlaces(std::vector<FusedLayer>& layers, const ArchConfig& arch)
      : layers_(layers), block_(arch.block_channels()) {
    for (const FusedLayer& layer : layers) written_.insert(layer.output_tensor);
  }

  // From the last on, so that a concatenation that is an operand knows where it is itself.
  void place_all() {
    for (std::size_t i = layers_.size() - 1; i-- > 0;) {
      if (can_place(layers_[i])) place(layers_[i]);
    }
    std::erase_if(layers_, [this](const FusedLayer& layer) {
      return layer.kind == FusedLayer::Kind::kConcat && placed_.contains(layer.output_tensor);
    });
    for (FusedLayer& layer : layers_) {
      const auto found = slices_.find(layer.output_tensor);
      if (found != slices_.end()) layer.slices = found->second;
    }
  }

 private:
  static std::vector<FusedLayer::Operand> operands_of(const FusedLayer& layer) {
    std::vector<FusedLayer::Operand> operands = {{layer.input_tensor, layer.input}};
    operands.insert(operands.end(), layer.more_inputs.begin(), layer.more_inputs.end());
    return operands;
  }

  // Of a batch the channels of a picture are not next to those of another operand's picture.
  bool can_place(const FusedLayer& layer) const {
    if (layer.kind != FusedLayer::Kind::kConcat || layer.operation != "concat") return false;
    if (layer.output.shape.batch != 1) return false;
    std::set<TensorId> seen;
    std::int64_t first_channel = 0;
    for (const auto& [tensor, value] : operands_of(layer)) {
      if (first_channel % block_ != 0 || !written_.contains(tensor)) return false;
      if (slices_.contains(tensor) || !seen.insert(tensor).second) return false;
      first_channel += value.shape.channels;
    }
    return true;
  }

  void place(const FusedLayer& layer) {
    placed_.insert(layer.output_tensor);
    const auto outer = slices_.find(layer.output_tensor);
    std::int64_t first_channel = 0;
    for (const auto& [tensor, value] : operands_of(layer)) {
      Slices slices = {{layer.output_tensor, layer.output, first_channel}};
      if (outer != slices_.end()) {
        for (const FusedLayer::Slice& slice : outer->second) {
          slices.push_back({slice.whole, slice.value, slice.first_channel + first_channel});
        }
      }
      slices_[tensor] = std::move(slices);
      first_channel += value.shape.channels;
    }
  }

  std::vector<FusedLayer>& layers_;
  std::int64_t block_;
  std::set<TensorId> written_;
  std::set<TensorId> placed_;          // concatenations
  std::map<TensorId, Slices> slices_;  // of the operands of these
};

}  // namespace

void place_concats(std::vector<FusedLayer>& layers, const ArchConfig& arch) {
  ConcatPlaces(layers, arch).place_all();
}

}  // namespace qsim::compiler
