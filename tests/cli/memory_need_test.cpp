// The estimate of the memory that a command needs: never less than the process takes, and not so
// much more that it refuses what fits.
#include "sim/cli/memory_need.h"

#include <iostream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/io/arch_config_file.h"
#include "sim/cli/model_source.h"
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

void expect_near(const Case& one) {
  const TestFolder folder;
  const std::string arguments = std::string(one.arguments) + " --model " + one.model + " --batch " +
                                std::to_string(one.batch);
  // First, since a child's figure begins with what this process has.
  const std::int64_t measured = measured_bytes(folder, arguments);
  Options options;
  options.command = one.command;
  options.no_data = one.no_data;
  options.no_verify = one.no_verify;
  options.dump_layers = one.dump_layers;
  options.program_out = one.program_out;
  options.model = one.model;
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
               .most = 1.7});
}

}  // namespace
}  // namespace qsim
