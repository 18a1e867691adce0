#include "compiler/lowering/lower.h"

#include "compiler/lowering/schedule.h"

namespace qsim::compiler {
namespace {

// The mapping for people; ", taps" where the host lays the window's taps side by side.
std::string text_of_mapping(const PlannedLayer& planned) {
  std::string text = short_text(planned.geometry, planned.mapping);
  if (planned.layer->taps) text += ", taps";
  return text;
}

ProgramLayer program_layer(const PlannedLayer& planned) {
  const FusedLayer& layer = *planned.layer;
  return {layer.name,        layer.operation, text_of_mapping(planned),
          layer.graph_layer, layer.macs,      planned.ofmap};
}

// Large networks have hundreds of thousands of commands: streams that grow by doubling would take
// three times their memory while they do.
void reserve_streams(Program& program, const MemoryPlan& plan) {
  std::array<std::size_t, kUnits> sizes{};
  const auto add = [&](Unit unit, std::int64_t count) {
    sizes[static_cast<std::size_t>(unit)] += static_cast<std::size_t>(count);
  };
  for (const PlannedLayer& planned : plan.layers) {
    const CommandCounts counts = LoopNest(planned.geometry, planned.mapping).counts();
    add(Unit::kLoad, counts.loads());
    add(Unit::kExecute, counts.executes);
    add(Unit::kPost, counts.posts);
    add(Unit::kStore, counts.posts);
  }
  for (std::size_t u = 0; u < kUnits; ++u) {
    program.streams.reserve(static_cast<Unit>(u), sizes[u]);
  }
}

// Appends a layer's commands to a program, each with its origin.
class ProgramSink final : public CommandSink {
 public:
  ProgramSink(Program& program, const PlannedLayer& planned, std::size_t layer)
      : program_(program),
        nest_(planned.geometry, planned.mapping),
        commands_(planned, program.arch),
        layer_(static_cast<std::int32_t>(layer)) {}

  void add(const Load& load, const Tokens& tokens, const CommandPlace& place) override {
    append(load, tokens, place);
  }
  void add(const Execute& execute, const Tokens& tokens, const CommandPlace& place) override {
    append(execute, tokens, place);
  }
  void add(const Post& post, const Tokens& tokens, const CommandPlace& place) override {
    append(post, tokens, place);
  }
  void add(const Store& store, const Tokens& tokens, const CommandPlace& place) override {
    append(store, tokens, place);
  }

 private:
  // A command must fit its 256 bits; what does not is beyond the accelerator.
  template <typename Fields>
  void append(const Fields& fields, const Tokens& tokens, const CommandPlace& place) {
    Tile tile = nest_.tile(place.tile);
    if (place.part != nullptr) {
      tile.out_y = place.part->out_y;
      tile.out_x = place.part->out_x;
    }
    const Origin origin =
        commands_.origin(layer_, place.tile, tile, place.first_block, place.blocks);
    try {
      program_.streams.append({tokens.wait, tokens.signal, fields}, origin);
    } catch (const Error& error) {
      throw_unsupported(origin_text(program_, origin) + ": " + error.what());
    }
  }

  Program& program_;
  LoopNest nest_;
  LayerCommands commands_;
  std::int32_t layer_;
};

}  // namespace

Program lower_commands(const std::string& name, const MemoryPlan& plan, const ArchConfig& arch) {
  Program program;
  program.name = name;
  program.arch = arch;
  program.semaphores = token_semaphores();
  program.writable_bytes = plan.writable_bytes;
  program.input = plan.input;
  reserve_streams(program, plan);
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const PlannedLayer& planned = plan.layers[i];
    program.layers.push_back(program_layer(planned));
    ProgramSink sink(program, planned, i);
    const Boundary boundary = {.waits = i > 0, .announces = i + 1 < plan.layers.size()};
    Schedule(planned, planned.mapping, arch, boundary, sink).run();
  }
  return program;
}

Program lower(const std::string& name, const MemoryPlan& plan, const ArchConfig& arch,
              const OnSpentWeights& on_spent) {
  Program program = lower_commands(name, plan, arch);
  for (const PlannedLayer& planned : plan.layers) {
    program.segments.push_back(pack_weights(planned, arch, on_spent));
    program.segments.push_back(pack_params(planned, arch));
    if (planned.layer->table) program.segments.push_back(pack_table(planned));
  }
  return program;
}

}  // namespace qsim::compiler
