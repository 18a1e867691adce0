#include "formats/settings/scale_sim_config.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <optional>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/machine/isa/command_fields.h"
#include "core/machine/mapping.h"
#include "formats/text/ini_file.h"

namespace qsim::formats {
namespace {

constexpr std::string_view kGeneral[] = {"run_name"};
constexpr std::string_view kArchitecture[] = {
    "ArrayHeight",       "ArrayWidth",        "IfmapSramSzkB",     "FilterSramSzkB",
    "OfmapSramSzkB",     "IfmapSramSz",       "FilterSramSz",      "OfmapSramSz",
    "IfmapOffset",       "FilterOffset",      "OfmapOffset",       "Dataflow",
    "Bandwidth",         "MemoryBanks",       "OnChipMemoryBanks", "OnChipMemoryBankPorts",
    "ReadRequestBuffer", "WriteRequestBuffer"};
constexpr std::string_view kLayout[] = {
    "IfmapCustomLayout", "FilterCustomLayout",      "IfmapSRAMBankBandwidth", "IfmapSRAMBankNum",
    "IfmapSRAMBankPort", "FilterSRAMBankBandwidth", "FilterSRAMBankNum",      "FilterSRAMBankPort"};
constexpr std::string_view kSparsity[] = {"SparsitySupport", "SparseRep", "OptimizedMapping",
                                          "BlockSize", "RandomNumberGeneratorSeed"};
constexpr std::string_view kRun[] = {"InterfaceBandwidth", "UseRamulatorTrace"};
constexpr std::string_view kNetwork[] = {"TopologyCsvLoc"};
constexpr std::array<IniSection, 6> kSections = {{{"general", kGeneral},
                                                  {"architecture_presets", kArchitecture},
                                                  {"layout", kLayout},
                                                  {"sparsity", kSparsity},
                                                  {"run_presets", kRun},
                                                  {"network_presets", kNetwork}}};

constexpr std::int64_t kMaxSramKib = std::int64_t{1} << 20;  // a gigabyte; ours have 64 MiB at most
constexpr std::int64_t kMaxBandwidth = std::int64_t{1} << 20;

const ArchConfigField& field_named(std::string_view name) {
  const auto fields = arch_config_fields();
  return *std::find_if(fields.begin(), fields.end(),
                       [&](const ArchConfigField& field) { return field.name == name; });
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string without_quotes(const std::string& text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// Decimal digits alone.
std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool is_number = error == std::errc() && stop == end && text.front() != '-';
  return is_number ? std::optional(value) : std::nullopt;
}

std::int64_t floor_power_of_two(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : file_(path, kSections) {
    result_.config.name = path.stem().string();
  }

  ScaleSimConfig read() {
    result_.config.array_rows = array_size("ArrayHeight", "array_rows");
    result_.config.array_cols = array_size("ArrayWidth", "array_cols");
    read_memories();
    read_dataflow();
    read_bandwidth();
    read_what_is_not_ours();
    if (const auto* topology = file_.find("TopologyCsvLoc")) {
      result_.config.model = without_quotes(topology->value);
      if (result_.config.model.empty()) file_.fail(*topology, "the name of a topology file");
    }
    try {
      validate(result_.config);
    } catch (const Error& error) {
      throw_bad_input(file_.source() + ": " + error.what());
    }
    return std::move(result_);
  }

 private:
  const IniFile::Entry& at(std::string_view key) const {
    const IniFile::Entry* entry = file_.find(key);
    if (entry != nullptr) return *entry;
    throw_bad_input(file_.source() + ": " + std::string(key) +
                    " is missing; a SCALE-Sim configuration has ArrayHeight, ArrayWidth, "
                    "IfmapSramSzkB, FilterSramSzkB, OfmapSramSzkB and Dataflow");
  }

  void note(const std::string& line) { result_.notes.push_back(line); }

  std::int64_t array_size(std::string_view key, std::string_view field_name) {
    const IniFile::Entry& entry = at(key);
    const ArchConfigField& field = field_named(field_name);
    const std::optional<std::int64_t> value = number_of(entry.value);
    const bool fits = value && *value >= field.min && *value <= field.max &&
                      (!field.power_of_two || is_power_of_two(*value));
    if (!fits) {
      file_.fail(entry, std::string(field.power_of_two ? "a power of two" : "a number") +
                            " of PEs, " + std::to_string(field.min) + " to " +
                            std::to_string(field.max) + ", in decimal digits");
    }
    return *value;
  }

  // SCALE-Sim 1 leaves the unit out of the key's name.
  const IniFile::Entry& sram(std::string_view key) const {
    const IniFile::Entry* old = file_.find(key.substr(0, key.size() - 2));
    return old != nullptr && file_.find(key) == nullptr ? *old : at(key);
  }

  // The largest power of two of KiB in the file's size that commands address, at most `most`.
  std::int64_t sram_kib(const IniFile::Entry& entry, std::int64_t most) const {
    const std::optional<std::int64_t> value = number_of(entry.value);
    if (!value || *value < 1 || *value > kMaxSramKib) {
      file_.fail(entry,
                 "a size in KiB from 1 to " + std::to_string(kMaxSramKib) + ", in decimal digits");
    }
    return std::min(most, floor_power_of_two(*value));
  }

  void note_size(const IniFile::Entry& entry, std::int64_t kib, const std::string& sizes) {
    if (std::to_string(kib) == entry.value) return;
    const bool rounded = kib == floor_power_of_two(*number_of(entry.value));
    note(std::string(entry.key) + " " + entry.value + ": " + sizes + ", " +
         (rounded ? "the largest power of two in it" : "the most that commands address"));
  }

  // One byte of SCALE-Sim's ofmap SRAM is an ofmap value; ours is a psum of four bytes in the
  // accumulator and a byte in the output scratchpad.
  void read_memories() {
    ArchConfig& config = result_.config;
    const auto most = [](int address_bits, std::int64_t word_bytes) {
      const std::int64_t bytes = (std::int64_t{1} << address_bits) * word_bytes;
      return std::min(field_named("act_scratchpad_kib").max, bytes / 1024);
    };
    const IniFile::Entry& ifmap = sram("IfmapSramSzkB");
    config.act_scratchpad_kib =
        sram_kib(ifmap, most(bits_of<Execute>("act_addr"), config.array_rows));
    note_size(ifmap, config.act_scratchpad_kib,
              "act_scratchpad_kib is " + std::to_string(config.act_scratchpad_kib));
    const IniFile::Entry& filter = sram("FilterSramSzkB");
    config.weight_scratchpad_kib =
        sram_kib(filter, most(bits_of<Execute>("weight_addr"), config.weight_word_bytes()));
    note_size(filter, config.weight_scratchpad_kib,
              "weight_scratchpad_kib is " + std::to_string(config.weight_scratchpad_kib));
    const IniFile::Entry& ofmap = sram("OfmapSramSzkB");
    const std::int64_t psums = most(bits_of<Execute>("acc_addr") + 1, 4 * config.array_cols) / 4;
    const std::int64_t outputs = most(bits_of<Post>("out_addr"), config.array_cols);
    config.output_scratchpad_kib = sram_kib(ofmap, std::min(psums, outputs));
    config.accumulator_kib = 4 * config.output_scratchpad_kib;
    note_size(ofmap, config.output_scratchpad_kib,
              "output_scratchpad_kib is " + std::to_string(config.output_scratchpad_kib) +
                  " and accumulator_kib " + std::to_string(config.accumulator_kib));
  }

  void read_dataflow() {
    const IniFile::Entry& entry = at("Dataflow");
    const std::string word = lower(without_quotes(entry.value));
    const std::optional<Dataflow> dataflow = word.size() == 2 ? dataflow_named(word) : std::nullopt;
    if (!dataflow) file_.fail(entry, "one of SCALE-Sim's dataflows: ws, os, is");
    result_.dataflow = *dataflow;
  }

  bool user_bandwidth() const {
    const IniFile::Entry* mode = file_.find("InterfaceBandwidth");
    if (mode == nullptr || mode->value == "CALC") return false;
    if (mode->value != "USER") file_.fail(*mode, "CALC or USER, in capital letters");
    return true;
  }

  // With CALC, SCALE-Sim computes what bandwidth the array needs and never waits for it. So the
  // bus is the widest of which a LOAD or STORE of this array uses every byte.
  void read_bandwidth() {
    ArchConfig& config = result_.config;
    if (!user_bandwidth()) {
      config.bus_bytes = config.block_channels();
      note("InterfaceBandwidth CALC: the bus is as wide as a word, bus_bytes " +
           std::to_string(config.bus_bytes) + "; it can still make the array wait");
      return;
    }
    const IniFile::Entry& entry = at("Bandwidth");
    const std::int64_t asked = one_bandwidth(entry);
    const ArchConfigField& field = field_named("bus_bytes");
    const std::int64_t whole = floor_power_of_two(asked);
    if (whole < field.min) {
      file_.fail(entry, "a bandwidth of at least " + std::to_string(field.min) +
                            " bytes a cycle, the narrowest bus");
    }
    config.bus_bytes = std::min(whole, field.max);
    if (config.bus_bytes == asked) return;
    note("Bandwidth " + std::to_string(asked) + ": bus_bytes is " +
         std::to_string(config.bus_bytes) + ", a power of two up to " + std::to_string(field.max));
  }

  // SCALE-Sim takes a list, one bandwidth for each interface; our two buses have one width.
  std::int64_t one_bandwidth(const IniFile::Entry& entry) const {
    std::optional<std::int64_t> common;
    for (std::size_t at = 0; at <= entry.value.size();) {
      const std::size_t end = std::min(entry.value.find(',', at), entry.value.size());
      const std::size_t first = std::min(entry.value.find_first_not_of(" \t", at), end);
      const std::size_t last = entry.value.find_last_not_of(" \t", end == 0 ? 0 : end - 1);
      const std::string_view word =
          first >= end ? std::string_view{}
                       : std::string_view(entry.value).substr(first, last + 1 - first);
      const std::optional<std::int64_t> value = word.empty() ? std::nullopt : number_of(word);
      if (!value || *value < 1 || *value > kMaxBandwidth || (common && *common != *value)) {
        file_.fail(entry, "one bandwidth in bytes a cycle, 1 to " + std::to_string(kMaxBandwidth) +
                              ", or equal ones with commas between them");
      }
      common = value;
      at = end + 1;
    }
    return *common;
  }

  bool is_true(std::string_view key) const {
    const IniFile::Entry* entry = file_.find(key);
    if (entry == nullptr) return false;
    const std::string word = lower(entry->value);
    if (word != "true" && word != "false") file_.fail(*entry, "True or False as the value");
    return word == "true";
  }

  void read_what_is_not_ours() {
    if (is_true("SparsitySupport")) {
      file_.fail(*file_.find("SparsitySupport"),
                 "False, since qsim computes dense layers: it skips no zero weight");
    }
    for (const std::string_view key : {"IfmapCustomLayout", "FilterCustomLayout"}) {
      if (!is_true(key)) continue;
      note(std::string(key) +
           " True: not used; a scratchpad of qsim gives a whole word every "
           "cycle, without banks that could conflict");
    }
    if (is_true("UseRamulatorTrace")) {
      note(
          "UseRamulatorTrace True: not used; DRAM is qsim's own "
          "(docs/reference/timing_model.md)");
    }
  }

  IniFile file_;
  ScaleSimConfig result_;
};

}  // namespace

bool is_scale_sim_config(const std::filesystem::path& path) { return path.extension() == ".cfg"; }

ScaleSimConfig load_scale_sim_config(const std::filesystem::path& path) {
  return Reader(path).read();
}

}  // namespace qsim::formats
