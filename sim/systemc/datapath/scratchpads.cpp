#include "sim/systemc/datapath/scratchpads.h"

#include <string>

#include "core/base/error.h"

namespace qsim::sim {
namespace {

// SRAM wakes up with arbitrary bytes: a word read before it is written must not pass for a zero.
constexpr std::int8_t kUnwritten = 0x5A;
constexpr std::int32_t kUnwrittenPsum = 0x5A5A5A5A;

template <typename Memory>
auto words(Memory& memory, const char* name, std::int64_t word_elems, std::int64_t size_elems,
           std::int64_t first, std::int64_t count) {
  QSIM_CHECK(first >= 0 && count >= 0 && (first + count) * word_elems <= size_elems,
             "words " + std::to_string(first) + " to " + std::to_string(first + count) +
                 " leave the " + name + ", which has " + std::to_string(size_elems / word_elems));
  return std::span(memory).subspan(static_cast<std::size_t>(first * word_elems),
                                   static_cast<std::size_t>(count * word_elems));
}

std::vector<std::int8_t> make_memory(std::int64_t bytes) {
  return std::vector<std::int8_t>(static_cast<std::size_t>(bytes) + Scratchpads::kReadSlackBytes,
                                  kUnwritten);
}

std::int64_t size(const std::vector<std::int8_t>& memory) {
  return static_cast<std::int64_t>(memory.size() - Scratchpads::kReadSlackBytes);
}

}  // namespace

Scratchpads::Scratchpads(const ArchConfig& arch)
    : array_rows_(arch.array_rows),
      array_cols_(arch.array_cols),
      weight_word_bytes_(arch.weight_word_bytes()),
      param_bytes_(arch.param_block_bytes()),
      activations_(make_memory(arch.act_words() * arch.array_rows)),
      weights_(make_memory(arch.weight_words() * arch.weight_word_bytes())),
      outputs_(make_memory(arch.output_words() * arch.array_cols)),
      parameters_(make_memory(kParamSlots * arch.param_block_bytes())),
      tables_(make_memory(arch.is_dyadic() ? kParamSlots * kTableBytes : 0)) {
  const std::int64_t psums = arch.accumulator_half_words() * arch.array_cols;
  for (auto& half : psums_) half.assign(static_cast<std::size_t>(psums), kUnwrittenPsum);
}

std::span<const std::int8_t> Scratchpads::activations(std::int64_t first,
                                                      std::int64_t count) const {
  return words(activations_, "activation scratchpad", array_rows_, size(activations_), first,
               count);
}

std::span<std::int8_t> Scratchpads::written_activations(std::int64_t first, std::int64_t count) {
  laid_activations_.drop(first, first + count);
  return words(activations_, "activation scratchpad", array_rows_, size(activations_), first,
               count);
}

std::span<std::int8_t> Scratchpads::weights(std::int64_t first, std::int64_t count) {
  return words(weights_, "weight scratchpad", weight_word_bytes_, size(weights_), first, count);
}

std::span<std::int8_t> Scratchpads::outputs(std::int64_t first, std::int64_t count) {
  return words(outputs_, "output scratchpad", array_cols_, size(outputs_), first, count);
}

std::span<std::int32_t> Scratchpads::psums(std::uint32_t half, std::int64_t first,
                                           std::int64_t count) {
  std::vector<std::int32_t>& memory = psums_.at(half);
  return words(memory, "accumulator half", array_cols_, static_cast<std::int64_t>(memory.size()),
               first, count);
}

std::span<std::int8_t> Scratchpads::parameters(std::int64_t slot) {
  return words(parameters_, "parameter memory", param_bytes_, size(parameters_), slot, 1);
}

std::span<std::int8_t> Scratchpads::table(std::int64_t slot) {
  return words(tables_, "table memory", kTableBytes, size(tables_), slot, 1);
}

}  // namespace qsim::sim
