// The accelerator's parameters. One field table (arch_config_fields) drives parsing, unknown-key
// errors, ranges, defaults, the reference page and the SystemVerilog constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/machine/host_config.h"

namespace qsim {

// What POST multiplies a psum by (docs/reference/numerics.md).
enum class RequantizerKind : std::uint8_t {
  kShift = 0,   // a power of two: a rounding right shift
  kDyadic = 1,  // any float32: a 24-bit multiplier, then a rounding right shift
};
inline constexpr std::array<std::string_view, 2> kRequantizerWords = {"shift", "dyadic"};

// Resolved parameters, valid once validate() has passed. Sizes are powers of two.
struct ArchConfig {
  std::string name = "unnamed";
  std::int64_t array_rows = 16;
  std::int64_t array_cols = 16;
  std::int64_t act_scratchpad_kib = 256;
  std::int64_t weight_scratchpad_kib = 64;
  std::int64_t accumulator_kib = 64;
  std::int64_t output_scratchpad_kib = 16;
  std::int64_t act_slots = 2;
  std::int64_t weight_slots = 4;
  RequantizerKind requantizer = RequantizerKind::kShift;
  std::int64_t bus_bytes = 16;
  std::int64_t dram_latency_cycles = 100;
  std::int64_t burst_beats = 64;
  std::int64_t outstanding_bursts = 16;
  std::int64_t clock_mhz = 1000;
  std::string model = "vgg8-cifar10";   // what `qsim run` simulates when no --model is given
  std::string input = "chelsea-32x32";  // and on which picture
  // Not in the table, since no program depends on it.
  std::optional<HostConfig> host = std::nullopt;

  // Derived sizes. A word is what one port access moves; slots and halves are equal parts.
  std::int64_t block_channels() const { return array_rows > array_cols ? array_rows : array_cols; }
  std::int64_t act_words() const { return act_scratchpad_kib * 1024 / array_rows; }
  std::int64_t act_slot_words() const { return act_words() / act_slots; }
  // A weight word has block_channels() bytes; a fold, array_rows x array_cols bytes, has
  // fold_words().
  std::int64_t weight_word_bytes() const { return block_channels(); }
  std::int64_t fold_words() const { return array_rows < array_cols ? array_rows : array_cols; }
  std::int64_t weight_words() const { return weight_scratchpad_kib * 1024 / weight_word_bytes(); }
  std::int64_t weight_slot_words() const { return weight_words() / weight_slots; }
  std::int64_t accumulator_half_words() const {
    return accumulator_kib * 1024 / (array_cols * 4) / 2;
  }
  std::int64_t output_words() const { return output_scratchpad_kib * 1024 / array_cols; }
  std::int64_t output_half_words() const { return output_words() / 2; }
  bool is_dyadic() const { return requantizer == RequantizerKind::kDyadic; }
  // One parameter slot: bias and scale of each output channel of a column block
  // (core/machine/isa/parameter_block.h).
  std::int64_t param_block_bytes() const { return (is_dyadic() ? 8 : 5) * array_cols; }

  bool operator==(const ArchConfig&) const = default;
};

inline constexpr std::int64_t kParamSlots = 2;
inline constexpr std::int64_t kAccumulatorHalves = 2;
inline constexpr std::int64_t kOutputHalves = 2;

// One row of the field table: a number, a text, or one of `words`.
struct ArchConfigField {
  std::string_view name;             // the YAML key, and the member's name
  std::int64_t ArchConfig::*number;  // null for another kind of field, as are the next two
  std::string ArchConfig::*text;
  std::int64_t min;
  std::int64_t max;
  bool power_of_two;
  std::string_view unit;
  std::string_view description;
  RequantizerKind ArchConfig::*word = nullptr;
  std::span<const std::string_view> words = {};  // in the order of their values
};

std::span<const ArchConfigField> arch_config_fields();

// A field's value in words: decimal digits, the text, the word.
std::string value_text(const ArchConfig& config, const ArchConfigField& field);

// Makes a field of words the word number `value` of its words.
void set_word(ArchConfig& config, const ArchConfigField& field, std::size_t value);

// Whether program texts, JSON and YAML name the field: all do, but one of words only where it is
// not its default.
bool is_written(const ArchConfig& config, const ArchConfigField& field);

// Checks ranges and that slots and halves hold at least one word. Throws Error naming the field,
// its value and what is allowed.
void validate(const ArchConfig& config);

// A hash of the parameters that programs and timing depend on (not of name, model or input). A
// field of words counts only where is_written().
std::uint64_t fingerprint(const ArchConfig& config);

}  // namespace qsim
