// Which model a configuration needs, building it on demand, and what is said when that fails.
#include "rtl/engine/rtl_model.h"

#include <cstdlib>
#include <fstream>
#include <thread>

#include "core/base/error.h"
#include "tests/core/program_draft.h"
#include "tests/rtl/engine/rtl_support.h"
#include "tests/sim/systemc/hand_program.h"

namespace qsim {

using namespace rtl;
namespace {

namespace fs = std::filesystem;

std::string refusal_of(const ArchConfig& arch, const RtlModelOptions& options) {
  try {
    find_or_build_rtl_model(arch, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what() + ("\n" + error.details());
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
  for (const char* file : {"src/qsim_accelerator.sv", "build_model.sh", "engine/verilated_core.cpp",
                           "engine/core_abi.h"}) {
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
                  "'verilator', which builds it, is not found; install it (Debian: apt-get install "
                  "verilator)");
  std::ofstream(folder.path() / "bin" / "verilator") << "#!/bin/sh\n";
  fs::permissions(folder.path() / "bin" / "verilator", fs::perms::all);
  options.variant = "trace";
  expect_contains(refusal_of(hand_arch(), options),
                  "no Verilated model of this configuration, variant trace, exists yet, and "
                  "'clang++', which builds it, is not found");
  expect_contains(refusal_of(hand_arch(), options), "apt-get install clang, or g++)");
  setenv("QSIM_RTL_CXX", "my-c++", 1);
  expect_contains(refusal_of(hand_arch(), options), "'my-c++', which builds it, is not found");
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

void make_program(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\n" << text;
  fs::permissions(path, fs::perms::all);
}

TEST(RtlModel, TheCompilerIsTheEnvironmentsElseClangElseGxx) {
  const ScratchFolder folder;
  const fs::path bin = folder.path() / "bin";
  RtlModelOptions options;
  options.places = stand_in_places(folder.path());
  const RtlParameters parameters = rtl_parameters(hand_arch());
  RtlModelOptions clang = options;
  clang.compiler = "clang++";
  const fs::path built = options.places.cache / (rtl_model_key(parameters, clang) + ".so");
  unsetenv("QSIM_RTL_CXX");
  setenv("PATH", bin.c_str(), 1);
  EXPECT_EQ(rtl_compiler(parameters, options), "clang++");  // to name it as missing
  make_program(bin / "g++", "");
  EXPECT_EQ(rtl_compiler(parameters, options), "clang++");  // no Verilator, nothing to build with
  make_program(bin / "verilator", "");
  EXPECT_EQ(rtl_compiler(parameters, options), "g++");
  fs::create_directories(options.places.cache);
  std::ofstream(built) << "built before";
  EXPECT_EQ(rtl_compiler(parameters, options), "clang++");
  EXPECT_EQ(find_or_build_rtl_model(hand_arch(), options), built);
  fs::remove(built);
  make_program(bin / "clang++", "");
  EXPECT_EQ(rtl_compiler(parameters, options), "clang++");
  setenv("QSIM_RTL_CXX", "g++", 1);
  EXPECT_EQ(rtl_compiler(parameters, options), "g++");
  EXPECT_NE(rtl_model_key(parameters, options), rtl_model_key(parameters, clang));
  EXPECT_EQ(rtl_compiler(parameters, clang), "clang++");
}

// What is said before and after a build for which PATH has nothing but `verilator` and g++, of
// which Verilator says `text` and fails.
std::string failed_build(const std::string& text, std::string& said, const std::string& variant) {
  const ScratchFolder folder;
  const fs::path bin = folder.path() / "bin";
  RtlModelOptions options;
  options.places = stand_in_places(folder.path());
  options.variant = variant;
  options.on_build = [&](const std::string& line) { said = line; };
  make_program(bin / "verilator",
               "[ \"$1\" = --getenv ] && echo /usr && exit 0\necho \"" + text + "\"\nexit 1\n");
  make_program(bin / "g++", "exit 0\n");
  for (const char* tool : {"bash", "sed", "mktemp", "dirname", "readlink", "mkdir", "find", "sort",
                           "tail", "grep", "mv", "rm", "env", "sh"}) {
    fs::create_symlink(find_program(tool), bin / tool);
  }
  const std::string path = std::getenv("PATH");
  unsetenv("QSIM_RTL_CXX");
  setenv("PATH", bin.c_str(), 1);
  const std::string refusal = refusal_of(hand_arch(), options);
  setenv("PATH", path.c_str(), 1);
  expect_contains(refusal, (options.places.cache / "4x4-").string());  // where the log is
  return refusal;
}

TEST(RtlModel, AFailedBuildNamesItsLogAndThePackageWhereItCanTell) {
  std::string said;
  const std::string text =
      failed_build("fstapi.c:1: fatal error: zlib.h: No such file", said, "trace");
  expect_contains(text, "building the RTL model of 'hand', variant trace, with Verilator and g++");
  expect_contains(text, "fatal error: zlib.h: No such file");
  expect_contains(text, "failed; the whole log is ");
  expect_contains(text, "apt-get install zlib1g-dev");
  expect_contains(said, "(4x4, variant trace) with Verilator, once");
  expect_contains(said, "with g++, as clang++, whose models are faster, is not found");
  const std::string other = failed_build("something else", said, "plain");
  expect_contains(other, "building the RTL model of 'hand' with Verilator and g++ failed");
  EXPECT_EQ(other.find("apt-get"), std::string::npos) << other;
}

TEST(RtlModel, ACacheThatCannotBeWrittenIsRefusedBeforeABuildIsAnnounced) {
  QSIM_NEEDS_RTL_MODELS();
  const ScratchFolder folder;
  RtlModelOptions options;
  options.places = stand_in_places(folder.path());
  options.places.cache = "/proc/no/rtl";
  bool announced = false;
  options.on_build = [&](const std::string&) { announced = true; };
  expect_contains(refusal_of(hand_arch(), options), "/proc/no");
  EXPECT_FALSE(announced);
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

// A real library: it would be loaded, and its code would run, before it is found to be no model.
TEST(RtlModel, WhatOthersMayHaveWrittenIsNotLoadedFromAnyPlaceAndNothingIsBuiltThere) {
  const ScratchFolder folder;
  const fs::path shared = folder.path() / "shared";
  fs::create_directory(shared);
  fs::permissions(shared, fs::perms::all);
  const fs::path library = shared / "x.so";
  fs::copy_file("/lib/x86_64-linux-gnu/libm.so.6", library);
  const std::string refusal = "qsim runs no code from here, as it is not the caller's alone";
  try {
    RtlModel(library, rtl_parameters(hand_arch()));
    ADD_FAILURE() << "it is loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    expect_contains(error.what(), refusal);
  }
  RtlModelOptions options;
  options.places = stand_in_places(folder.path());
  options.places.cache = shared / "rtl";
  make_program(folder.path() / "bin" / "verilator", "touch " + (shared / "ran").string() + "\n");
  make_program(folder.path() / "bin" / "clang++", "");
  setenv("PATH", (folder.path() / "bin").c_str(), 1);
  unsetenv("QSIM_RTL_CXX");
  expect_contains(refusal_of(hand_arch(), options), refusal);
  EXPECT_FALSE(fs::exists(shared / "ran"));
}

TEST(RtlModel, ALibraryThatIsCutShortIsRefusedAndNotLoaded) {
  const ScratchFolder folder;
  const fs::path library = folder.path() / "x.so";
  for (const std::uintmax_t bytes : {0u, 20u, 5000u, 100000u}) {
    fs::copy_file("/proc/self/exe", library, fs::copy_options::overwrite_existing);
    fs::resize_file(library, bytes);
    try {
      const RtlModel model(library, rtl_parameters(hand_arch()));
      ADD_FAILURE() << bytes << " bytes are loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadInput);
      expect_contains(error.what(), "x.so: is cut short; remove it, and qsim builds it again");
    }
  }
}

TEST(RtlModel, RtlThatDoesNotCompileGivesTheEndOfTheLogAndNoModel) {
  QSIM_NEEDS_RTL_MODELS();
  const ScratchFolder folder;
  RtlModelOptions options;
  options.places = stand_in_places(folder.path());
  std::ofstream(options.places.sources / "src" / "broken.sv") << "module broken; oops endmodule\n";
  const std::string text = refusal_of(hand_arch(), options);
  expect_contains(text, "broken.sv");
  expect_contains(text, "the whole log is");
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
  ProgramDraft draft(hand_program());
  draft.command(Unit::kLoad, 0).wait_mask |= 1u << 15;
  expect_contains(failure_of(draft.program()), "a LOAD waits for semaphore 15: 8002");
  // Nothing to assert; the stand-in then does nothing for ever.
  expect_contains(failure_of(hand_program()), "has its tokens and does not start");
}

}  // namespace
}  // namespace qsim
