// PRelu of levels: a table of 256 bytes for each slope.
#include "core/network/float_rules.h"
#include "golden/graph/cpu/optimised_layers.h"

namespace qsim::golden {
namespace {

class PReluExecutor : public LayerExecutor {
 public:
  PReluExecutor(const PRelu& prelu, const Value& input, const Value& output)
      : tables_(tables_of(prelu, input, output)) {}

  void run(Operands inputs, Tensor& output) const override {
    const auto channels = static_cast<std::size_t>(output.shape[3]);
    const std::size_t step = tables_.size() == 1 ? 0 : 1;
    const auto* in = reinterpret_cast<const std::uint8_t*>(inputs[0]->bytes.data());
    auto* out = reinterpret_cast<std::uint8_t*>(output.bytes.data());
    for (std::size_t pixel = 0; pixel < output.bytes.size(); pixel += channels) {
      const ByteTable* table = tables_.data();
      for (std::size_t c = 0; c < channels; ++c, table += step) {
        out[pixel + c] = (*table)[in[pixel + c]];
      }
    }
  }

 private:
  std::vector<ByteTable> tables_;
};

}  // namespace

MadeLayer make_layer(const PRelu& prelu, const LayerContext& layer) {
  return std::make_unique<PReluExecutor>(prelu, layer.input, layer.output);
}

}  // namespace qsim::golden
