// `cover_rtl`: runs programs on Verilated models that count coverage, and writes the counts. Random
// programs, each with the deterministic and the random memory and compared with the interpreter and
// the SystemC model; and on a core of its own, random ones after resets in the middle of extreme
// commands.

#include <algorithm>
#include <charconv>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/machine/arch_config.h"
#include "core/machine/isa/command_codec.h"
#include "formats/files/files.h"
#include "formats/settings/arch_config_file.h"
#include "rtl/engine/core_abi.h"
#include "rtl/engine/rtl_engine.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/core/program_draft.h"
#include "tests/rtl/programs/differential.h"

namespace qsim {

using namespace formats;
using namespace rtl;
using namespace sim;
namespace {

// Commands that no program has, for coverage: any value in every field, so that the highest bits of
// addresses, strides and counts change, run on a core by itself for a while and cut off by a reset.

// Fields that count something: zero has no meaning.
bool counts(std::string_view name) {
  for (const char* word :
       {"kernel_h", "kernel_w", "planes", "out_rows", "out_cols", "in_rows", "in_cols", "pool_h",
        "pool_w", "runs", "groups", "run_bytes", "plane_words"}) {
    if (name == word) return true;
  }
  return false;
}

bool has_place_in_dram(std::string_view name) {
  return name == "dram_addr" || name == "run_stride" || name == "group_stride";
}

Command extreme_command(Unit unit, const ArchConfig& arch, Random& random) {
  Command command = empty_command(unit);
  const auto fields = command_fields(unit);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const int bits =
        random.chance(0.5) ? fields[i].bits : static_cast<int>(random.uniform(1, fields[i].bits));
    std::int64_t value =
        static_cast<std::int64_t>(random.next() & ((std::uint64_t{1} << bits) - 1));
    if (random.chance(0.2)) value = (std::int64_t{1} << fields[i].bits) - 1;
    if (fields[i].is_signed && (value >> (fields[i].bits - 1)) != 0) {
      value -= std::int64_t{1} << fields[i].bits;
    }
    if (counts(fields[i].name)) value = std::max<std::int64_t>(value, 1);
    const LoadMemory last = arch.is_dyadic() ? LoadMemory::kTable : LoadMemory::kParameter;
    if (fields[i].name == "memory") value = random.uniform(0, static_cast<std::int64_t>(last));
    if (has_place_in_dram(fields[i].name)) value &= -std::int64_t{arch.bus_bytes};
    set_field(command, i, value);
  }
  return command;
}

// More than bursts may be open, so that the lists of what is open fill up.
constexpr std::int64_t kManyCommands = 40;

// One burst of one beat; its strides lead nowhere and may be anything.
void make_small(Command& command, std::int64_t beat_bytes, Random& random) {
  const auto fields = command_fields(command.unit());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == "run_bytes") set_field(command, i, std::min<std::int64_t>(beat_bytes, 4));
    if (fields[i].name == "run_stride" || fields[i].name == "group_stride") {
      set_field(command, i, random.uniform(0, fields[i].max()));
    }
    if (fields[i].name == "runs" || fields[i].name == "groups") set_field(command, i, 1);
  }
}

class Episode {
 public:
  Episode(RtlCore& core, const ArchConfig& arch, std::uint64_t seed)
      : core_(core), ports_(core.ports()), random_(seed) {
    const Unit unit = static_cast<Unit>(seed % kUnits);
    unit_ = static_cast<std::size_t>(unit);
    const bool transfers = unit == Unit::kLoad || unit == Unit::kStore;
    const bool many = transfers && random_.chance(0.3);
    if (many) silent_cycles_ = 150;
    const std::int64_t count = many ? kManyCommands : random_.uniform(1, 4);
    for (std::int64_t i = 0; i < count; ++i) {
      Command command = extreme_command(unit, arch, random_);
      if (many) make_small(command, arch.bus_bytes, random_);
      commands_.push_back(command);
    }
  }

  void run(std::uint64_t cycles) {
    reset();
    drive_command();
    core_.eval_cycle();
    *ports_.enable_i = 1;
    core_.settle();
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
      drive_command();
      is_silent_ = cycle < silent_cycles_;
      drive_reads();
      drive_writes();
      core_.eval_cycle();
      if ((*ports_.start_o & ~(1u << unit_)) != 0) fail("starts a command that no unit was given");
      if (*ports_.failed) fail(core_.messages());
    }
    *ports_.command_valid_i = 0;
    *ports_.enable_i = 0;
  }

 private:
  [[noreturn]] void fail(const std::string& text) const {
    throw InternalError("extreme commands of the " + std::string(kUnitNames[unit_]) +
                        " unit: " + text);
  }

  void reset() {
    *ports_.enable_i = 0;
    *ports_.command_valid_i = 0;
    *ports_.read_data_valid_i = 0;
    *ports_.write_done_i = 0;
    *ports_.read_request_ready_i = 0;
    *ports_.write_request_ready_i = 0;
    *ports_.rst_ni = 0;
    core_.eval_cycle();
    *ports_.rst_ni = 1;
  }

  void drive_command() {
    if (is_taken_) ++next_;
    const bool offers = next_ < commands_.size();
    if (offers) {
      const EncodedCommand bits = encode(commands_[next_]);
      std::copy(bits.begin(), bits.end(), ports_.command_i + bits.size() * unit_);
    }
    *ports_.command_valid_i = static_cast<std::uint8_t>(offers ? 1u << unit_ : 0u);
    is_taken_ = offers && ((*ports_.command_ready_o >> unit_) & 1) != 0;
  }

  // The first burst of the first command begins where the command says.
  void check_first(std::uint32_t address) {
    if (is_first_burst_ && address != static_cast<std::uint32_t>(dram_addr())) {
      fail("the first burst is at " + std::to_string(address) + ", expected " +
           std::to_string(dram_addr()));
    }
    is_first_burst_ = false;
  }

  std::int64_t dram_addr() const {
    const auto fields = command_fields(static_cast<Unit>(unit_));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name == "dram_addr") return field_value(commands_.front(), i);
    }
    return 0;
  }

  void drive_reads() {
    const bool ready = random_.chance(0.6);
    *ports_.read_request_ready_i = ready;
    const bool beat = !reads_.empty() && !is_silent_ && random_.chance(0.7);
    *ports_.read_data_valid_i = beat;
    if (beat) {
      for (std::size_t b = 0; b < core_.parameters().bus_bytes; ++b) {
        ports_.read_data_i[b] = static_cast<std::byte>(random_.next() & 0xff);
      }
      if (--reads_.front() == 0) reads_.pop_front();
    }
    if (ready && *ports_.read_request_valid_o != 0) {
      check_first(*ports_.read_request_addr_o);
      reads_.push_back(*ports_.read_request_beats_o);
    }
  }

  void drive_writes() {
    const bool ready = random_.chance(0.6);
    *ports_.write_request_ready_i = ready;
    if (*ports_.write_data_valid_o != 0) {
      if (writes_.empty()) fail("data that no burst announced");
      if (--writes_.front() == 0) {
        writes_.pop_front();
        ++responses_;
      }
    }
    const bool done = responses_ > 0 && !is_silent_ && random_.chance(0.3);
    *ports_.write_done_i = done;
    if (done) --responses_;
    if (ready && *ports_.write_request_valid_o != 0) {
      check_first(*ports_.write_request_addr_o);
      writes_.push_back(*ports_.write_request_beats_o);
    }
  }

  RtlCore& core_;
  const RtlPorts& ports_;
  Random random_;
  std::size_t unit_ = 0;
  std::vector<Command> commands_;
  std::size_t next_ = 0;
  bool is_taken_ = false;            // the command that was offered in the cycle before
  std::uint64_t silent_cycles_ = 0;  // in which no data and no response comes
  bool is_silent_ = false;
  bool is_first_burst_ = true;
  std::deque<unsigned> reads_;  // beats to come of each open burst
  std::deque<unsigned> writes_;
  int responses_ = 0;  // due
};

// Resets `core`, gives unit `seed` modulo 4 up to four such commands, or many transfers of a beat
// to a memory that is silent at first, and runs `cycles` cycles; the memory answers at random. The
// core is left as it is then, in the middle. Throws InternalError when an assertion of the RTL
// fails, or when the first burst is not at the command's address.
void run_extreme_commands(RtlCore& core, const ArchConfig& arch, std::uint64_t seed,
                          std::uint64_t cycles) {
  Episode(core, arch, seed).run(cycles);
}

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "usage: cover_rtl --rtl FOLDER --models FOLDER --out FOLDER [--programs N] [--seed S]\n"
    "                 [--extremes N] CONFIG.yaml...\n";

struct CoverOptions {
  fs::path rtl;     // sources and build_model.sh
  fs::path models;  // where models are built
  fs::path out;     // of the counts
  std::uint64_t programs = 400;
  std::uint64_t seed = 0;
  std::uint64_t extremes = 400;  // episodes
  std::vector<fs::path> configs;
};

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) {
    throw Error(ExitCode::kUsage, "'" + text + "' is no number");
  }
  return value;
}

CoverOptions parse(const std::vector<std::string>& words) {
  CoverOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].rfind("--", 0) != 0) {
      options.configs.emplace_back(words[i]);
      continue;
    }
    if (i + 1 == words.size()) throw Error(ExitCode::kUsage, kUsage);
    const std::string& value = words[i + 1];
    if (words[i] == "--rtl") {
      options.rtl = value;
    } else if (words[i] == "--models") {
      options.models = value;
    } else if (words[i] == "--out") {
      options.out = value;
    } else if (words[i] == "--programs") {
      options.programs = number(value);
    } else if (words[i] == "--seed") {
      options.seed = number(value);
    } else if (words[i] == "--extremes") {
      options.extremes = number(value);
    } else {
      throw Error(ExitCode::kUsage, kUsage);
    }
    ++i;
  }
  if (options.rtl.empty() || options.models.empty() || options.out.empty() ||
      options.configs.empty()) {
    throw Error(ExitCode::kUsage, kUsage);
  }
  return options;
}

RtlModelOptions model_options(const CoverOptions& options) {
  RtlModelOptions model;
  model.places = {options.rtl, {}, options.models};
  model.variant = "coverage";
  return model;
}

// Weights and parameters may lie anywhere beyond the writable area: their LOADs are moved with
// them, so that addresses have bits that small images never set.
void move_segments(Program& program, Random& random) {
  const std::int64_t begin = program.writable_bytes;
  const std::int64_t room = kMaxDramBytes - program.dram_bytes();
  const std::int64_t by = random.uniform(0, room) & -std::int64_t{1024};
  for (DramSegment& segment : program.segments) segment.address += by;
  ProgramDraft draft(std::move(program));
  for (std::size_t i = 0; i < draft.stream(Unit::kLoad).size(); ++i) {
    Load& load = draft.fields<Load>(i);
    if (load.dram_addr >= begin) load.dram_addr += static_cast<std::uint32_t>(by);
  }
  program = draft.program();
}

RandomCase make_case(const ArchConfig& arch, std::uint64_t seed) {
  RandomCase made = make_random_case(arch, seed);
  Random random(seed);
  if (random.chance(0.5)) move_segments(made.program, random);
  return made;
}

void run_programs(const CoverOptions& options, const std::vector<ArchConfig>& configs) {
  RtlEngineOptions rtl;
  rtl.model = model_options(options);
  rtl.coverage_folder = options.out.string();
  std::vector<Witness> witnesses;
  witnesses.push_back({"interpreter", make_program_interpreter()});
  witnesses.push_back({"systemc", make_systemc_engine()});
  witnesses.push_back({"rtl", make_rtl_engine(rtl)});
  rtl.dram_seed = options.seed + 1;
  rtl.coverage_folder = (options.out / "random_dram").string();
  make_folder(rtl.coverage_folder);
  witnesses.push_back({"rtl with random DRAM delays", make_rtl_engine(rtl), false});
  Differential differential(std::move(witnesses));
  for (std::uint64_t i = 0; i < options.programs; ++i) {
    const RandomCase made = make_case(configs[i % configs.size()], options.seed + i);
    const DifferentialResult result = differential.check(made);
    if (result.difference) throw InternalError(made.name + ": " + result.difference->text);
  }
}

// A program on `core`, as it was left, has the right bytes.
void run_program(RtlCore& core, const RandomCase& made, Engine& reference) {
  DramMemory dram(made.program, made.input);
  RtlHarness harness(core, made.program, dram, {});
  while (!harness.finished()) harness.step();
  harness.finish();
  const std::vector<Tensor> found = dram.ofmaps();
  const std::vector<Tensor> right = reference.run(made.program, made.input, {}).ofmaps;
  for (std::size_t l = 0; l < right.size(); ++l) {
    QSIM_CHECK(found[l].bytes == right[l].bytes, made.name + ": wrong bytes after a reset");
  }
}

void run_extremes(const CoverOptions& options, const ArchConfig& arch, std::size_t number_of) {
  const RtlModelOptions model_of = model_options(options);
  const RtlModel model(find_or_build_rtl_model(arch, model_of), rtl_parameters(arch));
  const std::unique_ptr<RtlCore> core = model.make_core();
  const std::unique_ptr<Engine> reference = make_program_interpreter();
  for (std::uint64_t i = 0; i < options.extremes; ++i) {
    Random random(options.seed + i);
    // Now and then an EXECUTE (unit 1) long enough for the upper bits of its cycle counts.
    const bool is_long = i % 40 == 1;
    run_extreme_commands(*core, arch, i,
                         static_cast<std::uint64_t>(is_long ? 9000 : random.uniform(20, 300)));
    if (i % 4 == 0) run_program(*core, make_case(arch, options.seed + i), *reference);
  }
  const std::string file = "extremes-" + std::to_string(number_of) + ".dat";
  QSIM_CHECK(core->write_coverage((options.out / file).c_str()), "the model counts no coverage");
}

ExitCode cover_rtl(const std::vector<std::string>& words) {
  const CoverOptions options = parse(words);
  make_folder(options.out);
  std::vector<ArchConfig> configs;
  for (const fs::path& path : options.configs) configs.push_back(load_arch_config(path));
  run_programs(options, configs);
  for (std::size_t i = 0; i < configs.size(); ++i) run_extremes(options, configs[i], i);
  std::cout << options.programs << " programs, " << options.extremes * configs.size()
            << " times extreme commands, first seed " << options.seed << ": all right" << std::endl;
  return ExitCode::kOk;
}

}  // namespace

}  // namespace qsim

int main(int argc, char** argv) {
  try {
    return static_cast<int>(qsim::cover_rtl(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const qsim::Error& error) {
    std::cerr << "cover_rtl: error: " << error.what() << std::endl;
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "cover_rtl: " << error.what() << std::endl;
    return 5;
  }
}
