// The estimate of the memory that a command needs: never less than the process takes, and not so
// much more that it refuses what fits.
#include "cli/session/memory_need.h"

#include <iostream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/session/model_source.h"
#include "files/arch_config_file.h"
#include "tests/cli/run_qsim.h"

namespace qsim {
namespace {

struct Case {
  const char* arguments;
  CommandName command;
  const char* model = "alexnet";
  bool no_data = false;
  bool no_verify = false;
  const char* dump_layers = "";
  const char* program_out = "";
  std::int64_t batch = 1;
  double most = 1.3;  // estimate over measurement
  const char* config = "";
  const char* out = "";
  std::string network = "";  // a workload's text, instead of `model`
  const char* engine = "systemc";
};

// ru_maxrss of one run, in bytes; -1 when it failed.
std::int64_t measured_bytes(const TestFolder& folder, const std::string& arguments) {
  const std::string command =
      "exec '" + std::string(QSIM_EXECUTABLE) + "' " + arguments + " --quiet > /dev/null";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(folder.path().c_str()) == 0)
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  rusage used{};
  if (::wait4(child, &status, 0, &used) != child || status != 0) return -1;
  return std::int64_t{1024} * used.ru_maxrss;
}

// One channel, of which the array makes as many as it is wide; and a ReLU that is a layer of its
// own.
std::string wide_network(int size) {
  const std::string pixels = std::to_string(size);
  return "input: {shape: [1, " + pixels + ", " + pixels +
         ", 1], dtype: int8}\n"
         "layers:\n  - {op: relu}\n  - {op: conv2d, out_channels: 1, kernel: 1}\n";
}

void expect_near(const Case& one) {
  const TestFolder folder;
  std::string model = one.model;
  if (!one.network.empty()) model = folder.write("network.yaml", one.network);
  std::string arguments =
      std::string(one.arguments) + " --model " + model + " --batch " + std::to_string(one.batch);
  if (*one.config != 0) arguments += std::string(" --config ") + one.config;
  // First, since a child's figure begins with what this process has.
  const std::int64_t measured = measured_bytes(folder, arguments);
  Options options;
  options.command = one.command;
  options.no_data = one.no_data;
  options.no_verify = one.no_verify;
  options.dump_layers = one.dump_layers;
  options.program_out = one.program_out;
  options.engine = one.engine;
  options.out = one.out;
  options.model = model;
  if (*one.config != 0) options.config = one.config;
  options.batch = one.batch;
  const ArchConfig arch = load_config(options);
  const std::int64_t need = memory_need_bytes(load_model(options, arch).graph, arch, options);
  std::cout << one.model << ", " << arguments << ": estimated " << need << ", measured " << measured
            << "\n";
  EXPECT_GE(need, measured) << arguments;
  EXPECT_LE(static_cast<double>(need), one.most * static_cast<double>(measured)) << arguments;
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST(MemoryNeed, IsAnUpperBoundNearWhatARunTakes) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers take memory of their own";
  for (const char* model : {"alexnet", "vgg16"}) {
    for (const std::int64_t batch : {1, 4}) {
      expect_near(
          {.arguments = "run", .command = CommandName::kRun, .model = model, .batch = batch});
    }
    expect_near({.arguments = "run --no-verify",
                 .command = CommandName::kRun,
                 .model = model,
                 .no_verify = true});
    expect_near({.arguments = "run --no-data",
                 .command = CommandName::kRun,
                 .model = model,
                 .no_data = true});
  }
}

TEST(MemoryNeed, IsAnUpperBoundNearWhatTheOtherCommandsTake) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers take memory of their own";
  expect_near(
      {.arguments = "run --dump-layers d", .command = CommandName::kRun, .dump_layers = "d"});
  expect_near({.arguments = "verify", .command = CommandName::kVerify});
  expect_near({.arguments = "compile", .command = CommandName::kCompile});
  expect_near({.arguments = "export-vectors --out v", .command = CommandName::kExportVectors});
  // Packed weights, of convolutions alone, are counted as if all weights were packed.
  expect_near(
      {.arguments = "golden run --images 1", .command = CommandName::kGoldenRun, .most = 2});
  // The text grows by doubling, and here stops half way.
  expect_near({.arguments = "compile --out p",
               .command = CommandName::kCompile,
               .program_out = "p",
               .most = 1.8});
}

TEST(MemoryNeed, CountsChannelsAsTheArrayPadsThem) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers take memory of their own";
  // As large as makes the padded activations most of the memory.
  for (const auto& [config, size] : {std::pair("pe16x16", 2000), std::pair("tpu128x128", 900)}) {
    expect_near({.arguments = "run --no-verify",
                 .command = CommandName::kRun,
                 .no_verify = true,
                 .config = config,
                 .network = wide_network(size)});
    expect_near({.arguments = "run",
                 .command = CommandName::kRun,
                 .config = config,
                 .network = wide_network(size)});
    expect_near({.arguments = "verify",
                 .command = CommandName::kVerify,
                 .config = config,
                 .network = wide_network(size)});
  }
}

TEST(MemoryNeed, CountsAnOutputThatIsMostOfTheNetworkAndManyCommands) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers take memory of their own";
  const char* last =
      "input: {shape: [1, 1000, 1000, 1], dtype: int8}\n"
      "layers:\n  - {op: conv2d, out_channels: 64, kernel: 1}\n";
  expect_near({.arguments = "run --no-verify",
               .command = CommandName::kRun,
               .no_verify = true,
               .network = last});
  expect_near({.arguments = "run --no-verify --out o",
               .command = CommandName::kRun,
               .no_verify = true,
               .out = "o",
               .network = last});
  const char* commands =
      "input: {shape: [1, 1, 1, 4], dtype: int8}\n"
      "layers:\n  - {op: fully_connected, out_features: 400000}\n";
  for (const char* arguments : {"compile", "run", "run --no-data"}) {
    const bool is_run = std::string_view(arguments) != "compile";
    expect_near({.arguments = arguments,
                 .command = is_run ? CommandName::kRun : CommandName::kCompile,
                 .no_data = std::string_view(arguments) == "run --no-data",
                 .config = "pe4x4",
                 .network = commands});
  }
  // The estimate is of a text that has just doubled.
  expect_near({.arguments = "compile --out p",
               .command = CommandName::kCompile,
               .program_out = "p",
               .most = 2.4,
               .config = "pe4x4",
               .network = commands});
  expect_near({.arguments = "export-vectors --out v",
               .command = CommandName::kExportVectors,
               .most = 2.4,
               .config = "pe4x4",
               .network = commands});
}

// Eleven layers of 33 MB each in DRAM, of which two are live at a time.
std::string deep_network() {
  std::string text = "input: {shape: [1, 512, 512, 1], dtype: int8}\nlayers:\n";
  for (int i = 0; i < 11; ++i) text += "  - {op: conv2d, out_channels: 1, kernel: 1}\n";
  return text;
}

TEST(MemoryNeed, CountsTheWholeDramWhereTheEngineKeepsIt) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers take memory of their own";
  expect_near({.arguments = "run --no-verify --engine interpreter",
               .command = CommandName::kRun,
               .no_verify = true,
               .config = "tpu128x128",
               .network = wide_network(900),
               .engine = "interpreter"});
  // Room in the address space is taken for all of it, whatever goes back meanwhile.
  const TestFolder folder;
  folder.write("deep.yaml", deep_network());
  const std::string run = "run --no-verify --model ./deep.yaml --config tpu128x128";
  const Outcome refused = run_qsim(folder, run, "ulimit -d 300000;");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("model './deep.yaml': needs about "), std::string::npos)
      << refused.err;
  EXPECT_EQ(run_qsim(folder, run, "ulimit -d 600000;").exit_code, 0);
}

// Outputs of all pictures, and with --out twice more: 4 KB each here.
TEST(MemoryNeed, OfGoldenRunGrowsWithThePictures) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers take memory of their own";
  const TestFolder folder;
  folder.write("fc.yaml",
               "input: {shape: [1, 1, 1, 4], dtype: int8}\n"
               "layers:\n  - {op: fully_connected, out_features: 4096}\n");
  const std::string run = "golden run --model ./fc.yaml --images 200000";
  const std::string little = "ulimit -d 100000; QSIM_GOLDEN=cpu";
  const Outcome kept = run_qsim(folder, run, little);
  EXPECT_EQ(kept.exit_code, 3);
  EXPECT_NE(kept.err.find("model './fc.yaml': needs about 846 MB; "), std::string::npos)
      << kept.err;
  const Outcome written = run_qsim(folder, run + " --out o", little);
  EXPECT_NE(written.err.find("needs about 2.5 GB; "), std::string::npos) << written.err;
}

}  // namespace
}  // namespace qsim
