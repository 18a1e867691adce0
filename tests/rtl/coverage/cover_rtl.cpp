// `cover_rtl`: runs programs on Verilated models that count coverage, and writes the counts. Random
// programs, each with the deterministic and the random memory and compared with the interpreter and
// the SystemC model; and on a core of its own, random ones after resets in the middle of extreme
// commands.
#include <charconv>
#include <iostream>
#include <vector>

#include "core/error.h"
#include "core/limits.h"
#include "files/arch_config_file.h"
#include "files/files.h"
#include "rtl/engine/rtl_engine.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/core/program_draft.h"
#include "tests/rtl/coverage/extreme_commands.h"
#include "tests/rtl/programs/differential.h"

namespace qsim {
namespace {

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
