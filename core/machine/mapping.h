// How a layer is cut and ordered: one value for each layer, which the compiler chooses or takes
// from a file. ADR 0010 says why, docs/reference/mapping.md what each field does.
// compiler/lowering/mapping.h says which mappings fit a layer on an accelerator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/isa/commands.h"

namespace qsim {

enum class LoopOrder : std::uint8_t {
  kTilesOuter,   // tile set, column block
  kBlocksOuter,  // column block, tile set
};

enum class LoadOrder : std::uint8_t {
  kNeed,     // LOADs in the order in which EXECUTEs need them
  kRelease,  // each LOAD as early as its slot is free
};

// A *psum tile* is a rectangle of the ofmap, after pooling; a *tile set* is the psum tiles that
// share each pass of the weights, tiles_per_half * halves_per_pass of them.
struct Mapping {
  Dataflow dataflow = Dataflow::kWeightStationary;
  std::int64_t tile_rows = 1;
  std::int64_t tile_cols = 1;
  bool batch_inner = false;  // psum tiles run over pictures innermost, not outermost
  std::int64_t tiles_per_half = 1;
  std::int64_t halves_per_pass = 1;
  std::int64_t blocks = 1;  // column blocks of one EXECUTE
  LoopOrder order = LoopOrder::kTilesOuter;
  std::int64_t act_planes = 1;  // of an activation chunk, and so are the kernel rows
  std::int64_t act_kernel_rows = 1;
  std::int64_t weight_folds = 1;        // at most, of a weight chunk
  std::int64_t first_weight_folds = 1;  // at most, of the layer's first weight chunk
  std::int64_t act_slots = 0;           // 0: as many as the configuration says
  std::int64_t weight_slots = 0;
  bool acts_resident = false;
  bool weights_resident = false;
  LoadOrder load_order = LoadOrder::kNeed;

  bool operator==(const Mapping&) const = default;
};

// The dataflow of that name, or of its short name. Nothing for another word.
std::optional<Dataflow> dataflow_named(std::string_view name);

constexpr std::string_view short_name(Dataflow dataflow) {
  return kShortDataflowNames[static_cast<std::size_t>(dataflow)];
}

// The mapping of the program layer of that name, as a user gives it.
struct LayerMapping {
  std::string layer;
  Mapping mapping;
  // Where the layer's name is, and each field in the order of mapping_fields(): "m.yaml:9:5", or ""
  // for what has no place in a file.
  std::string place;
  std::vector<std::string> field_places;
};

// One row of the table of a mapping's fields: a number, or one of a few words. Every field reads
// and writes as a number; a field with words has the index of its word.
struct MappingField {
  std::string_view name;
  std::span<const std::string_view> words;  // empty for a number
  std::int64_t (*get)(const Mapping&);
  void (*set)(Mapping&, std::int64_t);
  bool is_required;  // of a mapping in a file; the others may be left out
  std::string_view description;

  bool is_yes_or_no() const;
  // "8" or "tiles_outer".
  std::string text_of(const Mapping& mapping) const;
};

// The fields in the order in which they are printed.
std::span<const MappingField> mapping_fields();

// "dataflow: weight_stationary, tile_rows: 8, ...": every field; a YAML flow mapping without its
// braces.
std::string mapping_text(const Mapping& mapping);

}  // namespace qsim
