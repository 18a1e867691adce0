// What tests of the RTL engine share: whether models can be built here, and places to build in.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "rtl/engine/rtl_engine.h"

namespace qsim {

// Makes the build folder the cache of this process, where the models of tests are. Then: Verilator
// or a compiler is not there, and QSIM_REQUIRE does not list `verilator`.
bool rtl_tools_are_excused();

// First in a test that needs a model: skips it, or lets it fail where QSIM_REQUIRE demands it.
#define QSIM_NEEDS_RTL_MODELS() \
  if (rtl_tools_are_excused()) GTEST_SKIP() << "no verilator or no compiler"

// A folder of its own, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A copy of what models are built from, in `folder`/rtl, with a stand-in for the accelerator: it
// takes commands and does nothing with them, and its assertion says "opcode 0 comes first" unless
// unit 0's first command is a LOAD. Its places have no built models and a cache in `folder`.
rtl::RtlPlaces stand_in_places(const std::filesystem::path& folder);

void expect_contains(const std::string& text, const std::string& part);

}  // namespace qsim
