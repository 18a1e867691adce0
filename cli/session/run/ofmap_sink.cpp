#include "cli/session/run/ofmap_sink.h"

#include "cli/terminal/context.h"

namespace qsim::cli {

OfmapSink::OfmapSink(const Program& program, std::vector<Tensor>& golden, bool compares, bool dumps)
    : program_(program),
      golden_(golden),
      compares_(compares),
      dumps_(dumps),
      comparison_(program) {}

void OfmapSink::take(std::size_t layer, std::span<const std::byte> dram) {
  timed(seconds_, [&] {
    if (compares_ || dumps_) take_golden(layer, dram);
    if (layer + 1 == program_.layers.size()) last_ = unpack(program_.layers[layer].ofmap, dram);
  });
}

void OfmapSink::take_golden(std::size_t layer, std::span<const std::byte> dram) {
  const ProgramLayer& program_layer = program_.layers[layer];
  const auto graph_layer = static_cast<std::size_t>(program_layer.graph_layer);
  QSIM_CHECK(graph_layer < golden_.size(),
             "no golden tensor for layer '" + program_layer.name + "'");
  if (compares_) comparison_.add(layer, golden_[graph_layer], dram);
  golden_[graph_layer] = Tensor{};
  if (dumps_) golden_[graph_layer] = unpack(program_layer.ofmap, dram);
}

std::optional<report::Comparison> OfmapSink::comparison() const {
  if (!compares_) return std::nullopt;
  return comparison_.result();
}

}  // namespace qsim::cli
