// Which model a configuration needs, building it on demand, and what is said when that fails.
#include "rtl/rtl_engine/rtl_model.h"

#include <cstdlib>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "tests/rtl/engine/rtl_support.h"
#include "tests/sim/hand_program.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

std::string refusal_of(const ArchConfig& arch, const RtlModelOptions& options) {
  try {
    find_or_build_rtl_model(arch, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  ADD_FAILURE() << "a model is found";
  return "";
}

// Files of a folder whose names end so, sorted.
std::vector<std::string> files(const fs::path& folder, const std::string& end) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().ends_with(end)) names.push_back(entry.path().filename().string());
  }
  return names;
}

TEST(RtlModel, TheKeyFollowsParametersVariantCompilerAndSources) {
  const ScratchFolder folder;
  RtlModelOptions options;
  options.places = stand_in_places(folder.path());
  const RtlParameters parameters = rtl_parameters(hand_arch());
  const std::string key = rtl_model_key(parameters, options);
  EXPECT_EQ(key.substr(0, 10), "4x4-plain-");
  EXPECT_EQ(rtl_model_key(parameters, options), key);

  RtlParameters other = parameters;
  other.outstanding_bursts = 3;
  EXPECT_NE(rtl_model_key(other, options), key);
  RtlModelOptions gcc = options;
  gcc.compiler = "g++";
  EXPECT_NE(rtl_model_key(parameters, gcc), key);
  RtlModelOptions assertions = options;
  assertions.variant = "assert";
  EXPECT_NE(rtl_model_key(parameters, assertions), key);
  for (const char* file : {"src/qsim_accelerator.sv", "build_model.sh",
                           "rtl_engine/verilated_core.cpp", "rtl_engine/core_abi.h"}) {
    const std::string before = rtl_model_key(parameters, options);
    std::ofstream(options.places.sources / file, std::ios::app) << "\n";
    EXPECT_NE(rtl_model_key(parameters, options), before) << file;
  }
}

TEST(RtlModel, LatencyClockAndSlotsAreNotParametersOfTheHardware) {
  ArchConfig arch = hand_arch();
  arch.dram_latency_cycles = 77;
  arch.clock_mhz = 5;
  arch.act_slots = arch.weight_slots = 4;
  EXPECT_EQ(rtl_parameters(arch), rtl_parameters(hand_arch()));
  EXPECT_EQ(rtl_parameter_difference(rtl_parameters(arch), rtl_parameters(hand_arch())), "");
}

TEST(RtlModel, WithoutSourcesToolsOrAPlaceItSaysWhatIsMissing) {
  const ScratchFolder folder;
  RtlModelOptions options;
  options.places = stand_in_places(folder.path());
  fs::create_directory(folder.path() / "bin");
  setenv("PATH", (folder.path() / "bin").c_str(), 1);
  expect_contains(refusal_of(hand_arch(), options),
                  "'verilator' to build it is not found; install it (Debian: apt-get install "
                  "verilator)");
  std::ofstream(folder.path() / "bin" / "verilator") << "#!/bin/sh\n";
  fs::permissions(folder.path() / "bin" / "verilator", fs::perms::all);
  expect_contains(refusal_of(hand_arch(), options), "'clang++' to build it is not found");
  expect_contains(refusal_of(hand_arch(), options), "apt-get install clang)");
  options.compiler = "/bin/sh";
  options.places.cache.clear();
  expect_contains(refusal_of(hand_arch(), options), "set QSIM_CACHE");
  options.places.sources.clear();
  expect_contains(refusal_of(hand_arch(), options), "sources");
}

TEST(RtlModel, TheCacheIsWhereTheEnvironmentSays) {
  setenv("HOME", "/home/somebody", 1);
  unsetenv("QSIM_CACHE");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(standard_rtl_places().cache, "/home/somebody/.cache/qsim/rtl");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(standard_rtl_places().cache, "/xdg/qsim/rtl");
  setenv("QSIM_CACHE", "/own", 1);
  EXPECT_EQ(standard_rtl_places().cache, "/own/rtl");
}

TEST(RtlModel, AConfigurationWithoutAModelIsBuiltOnceAlsoByTwoAtOnce) {
  QSIM_NEEDS_RTL_MODELS();
  const ScratchFolder folder;
  RtlModelOptions options;
  options.places = stand_in_places(folder.path());
  std::string said;
  options.on_build = [&](const std::string& line) { said = line; };
  std::thread other([&, mine = options]() mutable {
    mine.on_build = [](const std::string&) {};
    find_or_build_rtl_model(hand_arch(), mine);
  });
  const fs::path library = find_or_build_rtl_model(hand_arch(), options);
  other.join();
  EXPECT_EQ(said.rfind("building the RTL model of 'hand' (4x4) with Verilator", 0), 0u) << said;
  EXPECT_EQ(library.parent_path(), options.places.cache);
  EXPECT_EQ(files(options.places.cache, ".so").size(), 1u);
  EXPECT_EQ(files(options.places.cache, ".log").size(), 1u);
  const auto entries = fs::directory_iterator(options.places.cache);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);  // nothing half-made

  said.clear();
  EXPECT_EQ(find_or_build_rtl_model(hand_arch(), options), library);
  EXPECT_EQ(said, "");
  const RtlModel model(library, rtl_parameters(hand_arch()));
  EXPECT_EQ(model.make_core()->parameters(), rtl_parameters(hand_arch()));
  RtlParameters wanted = rtl_parameters(hand_arch());
  wanted.bus_bytes = 8;
  EXPECT_THROW(RtlModel(library, wanted), Error);
}

TEST(RtlModel, AFileThatIsNoModelIsRefused) {
  const ScratchFolder folder;
  const fs::path library = folder.path() / "x.so";
  std::ofstream(library) << "not a library";
  EXPECT_THROW(RtlModel(library, rtl_parameters(hand_arch())), Error);
  EXPECT_THROW(RtlModel("/lib/x86_64-linux-gnu/libm.so.6", rtl_parameters(hand_arch())), Error);
}

TEST(RtlModel, RtlThatDoesNotCompileGivesTheEndOfTheLogAndNoModel) {
  QSIM_NEEDS_RTL_MODELS();
  const ScratchFolder folder;
  RtlModelOptions options;
  options.places = stand_in_places(folder.path());
  std::ofstream(options.places.sources / "src" / "broken.sv") << "module broken; oops endmodule\n";
  try {
    find_or_build_rtl_model(hand_arch(), options);
    FAIL() << "it is built";
  } catch (const InternalError& error) {
    expect_contains(error.what(), "broken.sv");
    expect_contains(error.what(), "the whole log is");
  }
  EXPECT_EQ(files(options.places.cache, ".so").size(), 0u);
  EXPECT_EQ(files(options.places.cache, ".log").size(), 1u);
}

TEST(RtlModel, AFailedAssertionOfTheRtlIsAnInternalErrorWithItsText) {
  QSIM_NEEDS_RTL_MODELS();
  const ScratchFolder folder;
  RtlEngineOptions options;
  options.model.places = stand_in_places(folder.path());
  options.model.variant = "assert";
  const auto failure_of = [&](const Program& program) -> std::string {
    try {
      make_rtl_engine(options)->run(program, hand_input(), {});
    } catch (const InternalError& error) {
      return error.what();
    }
    return "no failure";
  };
  // A POST in the load unit's stream.
  Program program = hand_program();
  program.stream(Unit::kLoad)[0] = program.stream(Unit::kPost)[0];
  expect_contains(failure_of(program), "opcode 0 comes first, not 2");
  // Nothing to assert; the stand-in then does nothing for ever.
  expect_contains(failure_of(hand_program()), "has its tokens and does not start");
}

}  // namespace
}  // namespace qsim
