#include "core/machine/arch_config.h"

#include <array>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/machine/isa/command_fields.h"

namespace qsim {
namespace {

using C = ArchConfig;

// Commands that address one memory have addresses of one width.
static_assert(bits_of<Load>("local_addr") == bits_of<Execute>("act_addr") &&
              bits_of<Load>("local_addr") == bits_of<Execute>("weight_addr") &&
              bits_of<Execute>("acc_addr") == bits_of<Post>("acc_addr") &&
              bits_of<Post>("out_addr") == bits_of<Store>("out_addr"));

constexpr std::array<ArchConfigField, 17> kFields = {{
    {"name", nullptr, &C::name, 0, 0, false, "",
     "what reports call it; the file's name where it is absent"},
    {"array_rows", &C::array_rows, nullptr, 4, 256, true, "PEs",
     "rows R of the systolic array: the reduction axis, and bytes of an activation word"},
    {"array_cols", &C::array_cols, nullptr, 4, 256, true, "PEs",
     "columns C of the systolic array: output channels, and bytes of an output word"},
    {"act_scratchpad_kib", &C::act_scratchpad_kib, nullptr, 1, 65536, true, "KiB",
     "activation scratchpad"},
    {"weight_scratchpad_kib", &C::weight_scratchpad_kib, nullptr, 1, 65536, true, "KiB",
     "weight scratchpad"},
    {"accumulator_kib", &C::accumulator_kib, nullptr, 1, 65536, true, "KiB",
     "accumulator, two halves of int32 words"},
    {"output_scratchpad_kib", &C::output_scratchpad_kib, nullptr, 1, 65536, true, "KiB",
     "output scratchpad, two halves"},
    {"act_slots", &C::act_slots, nullptr, 2, 8, true, "slots",
     "parts of the activation scratchpad where a mapping does not say how many"},
    {"weight_slots", &C::weight_slots, nullptr, 2, 8, true, "slots",
     "parts of the weight scratchpad where a mapping does not say how many"},
    {"requantizer", nullptr, nullptr, 0, 0, false, "",
     "what POST multiplies psums by: `shift`, a power of two; `dyadic`, any float32 scale",
     &C::requantizer, kRequantizerWords},
    {"bus_bytes", &C::bus_bytes, nullptr, 4, 256, true, "bytes",
     "width of the DRAM read bus and of the DRAM write bus"},
    {"dram_latency_cycles", &C::dram_latency_cycles, nullptr, 1, 10000, false, "cycles",
     "from a burst's issue to its first beat, or from its last beat to the write response"},
    {"burst_beats", &C::burst_beats, nullptr, 1, 256, false, "beats", "longest burst"},
    {"outstanding_bursts", &C::outstanding_bursts, nullptr, 1, 256, false, "bursts",
     "bursts in flight on one channel"},
    {"clock_mhz", &C::clock_mhz, nullptr, 1, 10000, false, "MHz",
     "clock, used only to turn cycles into simulated seconds"},
    {"model", nullptr, &C::model, 0, 0, false, "",
     "model or workload that `qsim run` takes when no --model is given"},
    {"input", nullptr, &C::input, 0, 0, false, "",
     "input that `qsim run` takes with that model when no --input is given"},
}};

void check_range(const ArchConfig& config, const ArchConfigField& field) {
  const std::int64_t value = config.*field.number;
  const bool is_in_range = value >= field.min && value <= field.max;
  if (is_in_range && (!field.power_of_two || is_power_of_two(value))) return;
  throw_bad_input("config '" + echoed(config.name) + "': " + std::string(field.name) + " is " +
                  std::to_string(value) +
                  "; allowed: " + (field.power_of_two ? "a power of two from " : "") +
                  std::to_string(field.min) + " to " + std::to_string(field.max) +
                  (is_in_range ? ", since words and bursts are cut by shifts "
                                 "(docs/reference/config.md)"
                               : ""));
}

// A memory of the accelerator, with the field that gives its size.
struct Memory {
  const char* name;
  std::string_view field;
  std::int64_t kib;
};

void check_part(const ArchConfig& config, const Memory& memory, const char* part,
                std::int64_t words, std::int64_t needed) {
  if (words >= needed) return;
  throw_bad_input("config '" + echoed(config.name) + "': " + std::string(memory.field) + " is " +
                  std::to_string(memory.kib) + ", so that " + part + " of the " + memory.name +
                  " holds " + std::to_string(words) + " words; at least " + std::to_string(needed) +
                  " are needed");
}

void check_address_width(const ArchConfig& config, const Memory& memory, const char* part,
                         std::int64_t words, int bits) {
  if (words <= (std::int64_t{1} << bits)) return;
  throw_bad_input("config '" + echoed(config.name) + "': " + std::string(memory.field) + " is " +
                  std::to_string(memory.kib) + ", which is " + std::to_string(words) +
                  " words of " + part + memory.name + "; commands address at most 2^" +
                  std::to_string(bits));
}

}  // namespace

std::span<const ArchConfigField> arch_config_fields() { return kFields; }

std::string value_text(const ArchConfig& config, const ArchConfigField& field) {
  if (field.number != nullptr) return std::to_string(config.*field.number);
  if (field.text != nullptr) return config.*field.text;
  return std::string(field.words[static_cast<std::size_t>(config.*field.word)]);
}

void set_word(ArchConfig& config, const ArchConfigField& field, std::size_t value) {
  config.*field.word = static_cast<RequantizerKind>(value);
}

bool is_written(const ArchConfig& config, const ArchConfigField& field) {
  return field.word == nullptr || config.*field.word != ArchConfig{}.*field.word;
}

void validate(const ArchConfig& config) {
  for (const ArchConfigField& field : kFields) {
    if (field.number != nullptr) check_range(config, field);
  }
  if (config.host) validate(*config.host);
  const Memory act{"activation scratchpad", "act_scratchpad_kib", config.act_scratchpad_kib};
  const Memory weight{"weight scratchpad", "weight_scratchpad_kib", config.weight_scratchpad_kib};
  const Memory acc{"accumulator", "accumulator_kib", config.accumulator_kib};
  const Memory out{"output scratchpad", "output_scratchpad_kib", config.output_scratchpad_kib};
  check_part(config, act, "a slot", config.act_slot_words(), 1);
  check_part(config, weight, "a slot", config.weight_slot_words(), config.fold_words());
  check_part(config, acc, "a half", config.accumulator_half_words(), 1);
  check_part(config, out, "a half", config.output_half_words(), 1);
  check_address_width(config, act, "the ", config.act_words(), bits_of<Execute>("act_addr"));
  check_address_width(config, weight, "the ", config.weight_words(),
                      bits_of<Execute>("weight_addr"));
  check_address_width(config, acc, "a half of the ", config.accumulator_half_words(),
                      bits_of<Execute>("acc_addr"));
  check_address_width(config, out, "the ", config.output_words(), bits_of<Post>("out_addr"));
}

std::uint64_t fingerprint(const ArchConfig& config) {
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a, 64 bits
  for (const ArchConfigField& field : kFields) {
    if (field.text != nullptr || field.name == "clock_mhz" || !is_written(config, field)) continue;
    const auto value = field.number != nullptr ? static_cast<std::uint64_t>(config.*field.number)
                                               : static_cast<std::uint64_t>(config.*field.word);
    for (int byte = 0; byte < 8; ++byte) {
      hash = (hash ^ ((value >> (8 * byte)) & 0xff)) * 0x100000001b3ull;
    }
  }
  return hash;
}

}  // namespace qsim
