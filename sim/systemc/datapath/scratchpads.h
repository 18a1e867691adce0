// The on-chip memories of one run as plain bytes: what the units read and write, checked against
// the memories' ends. No time and no ports; which unit may touch which word when is up to the
// tokens.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/machine/arch_config.h"
#include "sim/systemc/datapath/laid_activations.h"

namespace qsim::sim {

class Scratchpads {
 public:
  // Bytes that may be read (not used) beyond the end of a span, so that vector code needs no tails.
  static constexpr std::size_t kReadSlackBytes = 64;

  explicit Scratchpads(const ArchConfig& arch);

  // Words [first, first + count) of a memory. Throws InternalError when they leave it.
  std::span<const std::int8_t> activations(std::int64_t first,
                                           std::int64_t count) const;  // R bytes a word
  // The same to be written at once: what was laid of them is dropped.
  std::span<std::int8_t> written_activations(std::int64_t first, std::int64_t count);
  LaidActivationsCache& laid_activations() { return laid_activations_; }
  std::span<std::int8_t> weights(std::int64_t first, std::int64_t count);  // B bytes a word
  std::span<std::int8_t> outputs(std::int64_t first, std::int64_t count);  // C bytes a word
  std::span<std::int32_t> psums(std::uint32_t half, std::int64_t first,
                                std::int64_t count);     // C int32 a word
  std::span<std::int8_t> parameters(std::int64_t slot);  // one slot
  std::span<std::int8_t> table(std::int64_t slot);       // one slot; kTableBytes

 private:
  std::int64_t array_rows_;
  std::int64_t array_cols_;
  std::int64_t weight_word_bytes_;
  std::int64_t param_bytes_;
  std::vector<std::int8_t> activations_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int8_t> outputs_;
  std::vector<std::int8_t> parameters_;
  std::vector<std::int8_t> tables_;
  std::array<std::vector<std::int32_t>, kAccumulatorHalves> psums_;
  LaidActivationsCache laid_activations_;
};

}  // namespace qsim::sim
