#include "core/machine/mapping.h"

#include <array>

namespace qsim {
namespace {

constexpr std::array<std::string_view, 2> kNoYes = {"false", "true"};
constexpr std::array<std::string_view, 2> kLoopOrders = {"tiles_outer", "blocks_outer"};
constexpr std::array<std::string_view, 2> kLoadOrders = {"need", "release"};

template <auto Member>
constexpr MappingField field(std::string_view name, std::string_view description,
                             std::span<const std::string_view> words = {}) {
  return {name,
          words,
          [](const Mapping& mapping) { return static_cast<std::int64_t>(mapping.*Member); },
          [](Mapping& mapping, std::int64_t value) {
            mapping.*Member =
                static_cast<std::remove_reference_t<decltype(mapping.*Member)>>(value);
          },
          false,
          description};
}

template <auto Member>
constexpr MappingField required(std::string_view name, std::string_view description) {
  MappingField row = field<Member>(name, description);
  row.is_required = true;
  return row;
}

constexpr std::array<MappingField, 17> kMappingFields = {{
    field<&Mapping::dataflow>("dataflow", "what stays in the PEs", kDataflowNames),
    required<&Mapping::tile_rows>("tile_rows", "ofmap rows of a psum tile, after pooling"),
    required<&Mapping::tile_cols>("tile_cols", "ofmap columns of a psum tile, after pooling"),
    field<&Mapping::batch_inner>(
        "batch_inner", "whether psum tiles run over pictures innermost, and not outermost", kNoYes),
    field<&Mapping::tiles_per_half>("tiles_per_half", "psum tiles in an accumulator half"),
    field<&Mapping::halves_per_pass>(
        "halves_per_pass",
        "accumulator halves that share a pass of the weights; with 1 the other half is emptied "
        "meanwhile"),
    field<&Mapping::blocks>("blocks", "column blocks of an EXECUTE; 1 but for input_stationary"),
    field<&Mapping::order>("order", "the outer loop: over tile sets, or over column blocks",
                           kLoopOrders),
    required<&Mapping::act_planes>("act_planes", "planes of an activation chunk"),
    required<&Mapping::act_kernel_rows>("act_kernel_rows", "kernel rows of an activation chunk"),
    required<&Mapping::weight_folds>("weight_folds", "at most so many folds in a weight chunk"),
    field<&Mapping::first_weight_folds>("first_weight_folds",
                                        "the same of the layer's first weight chunk"),
    field<&Mapping::act_slots>("act_slots",
                               "parts of the activation scratchpad; 0: as the configuration says"),
    field<&Mapping::weight_slots>("weight_slots",
                                  "parts of the weight scratchpad; 0: as the configuration says"),
    field<&Mapping::acts_resident>(
        "acts_resident", "whether activation chunks stay for all uses within the outer loop",
        kNoYes),
    field<&Mapping::weights_resident>(
        "weights_resident", "whether weight chunks stay for all uses within the outer loop",
        kNoYes),
    field<&Mapping::load_order>("load_order", "where a LOAD is in the order of LOADs", kLoadOrders),
}};

}  // namespace

bool MappingField::is_yes_or_no() const { return words.data() == kNoYes.data(); }

std::string MappingField::text_of(const Mapping& mapping) const {
  const std::int64_t value = get(mapping);
  return words.empty() ? std::to_string(value)
                       : std::string(words[static_cast<std::size_t>(value)]);
}

std::optional<Dataflow> dataflow_named(std::string_view name) {
  for (std::size_t d = 0; d < kDataflows; ++d) {
    const auto dataflow = static_cast<Dataflow>(d);
    if (name == short_name(dataflow) || name == kDataflowNames[d]) return dataflow;
  }
  return std::nullopt;
}

std::span<const MappingField> mapping_fields() { return kMappingFields; }

std::string mapping_text(const Mapping& mapping) {
  std::string text;
  for (const MappingField& field : kMappingFields) {
    if (!text.empty()) text += ", ";
    text += std::string(field.name) + ": " + field.text_of(mapping);
  }
  return text;
}

}  // namespace qsim
