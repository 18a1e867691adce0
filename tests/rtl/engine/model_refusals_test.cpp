// Shared libraries that lie where a Verilated model should, and are none.
#include <fstream>

#include "core/base/error.h"
#include "rtl/engine/rtl_model.h"
#include "tests/rtl/engine/rtl_support.h"
#include "tests/sim/systemc/hand_program.h"

namespace qsim {

using namespace rtl;
namespace {

std::string refusal_of(const std::filesystem::path& library) {
  try {
    const RtlModel model(library, rtl_parameters(hand_arch()));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  ADD_FAILURE() << library << " is taken";
  return "";
}

TEST(RtlModelRefuses, AFileThatIsNoLibrary) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "model.so";
  std::ofstream(file) << std::string(200, 'x');
  expect_contains(refusal_of(file), "model.so: cannot be loaded: ");
  expect_contains(refusal_of(file), "; remove it, and qsim builds it again");
}

TEST(RtlModelRefuses, AModelOfAnotherVersion) {
  expect_contains(refusal_of(QSIM_OTHER_VERSION),
                  ": is a model for another version of qsim; remove it, and qsim builds it again");
}

TEST(RtlEngineRefuses, ATraceInAFolderThatIsNotThere) {
  QSIM_NEEDS_RTL_MODELS();
  RtlEngineOptions options;
  options.trace = RtlTrace{"/nonexistent/t.fst", 0, 10};
  options.model.variant = "trace";
  try {
    make_rtl_engine(options)->run(hand_program(), hand_input(), {});
    ADD_FAILURE() << "a trace is written";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "/nonexistent/t.fst: the trace cannot be written");
  }
}

}  // namespace
}  // namespace qsim
