// The command line of `verify_rtl` as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qsim {

struct VerifyOptions {
  std::int64_t programs = 1000;
  std::uint64_t seed = 0;  // of the first programs; configurations share seeds
  std::vector<std::string> configs = {"pe4x4", "pe8x8", "pe16x16", "pe16x32"};
  std::int64_t jobs = 1;
  bool has_rtl = true;            // false: interpreter, SystemC and recurrence alone
  std::string variant = "plain";  // of the Verilated model
  std::string compiler = "clang++";
  bool random_dram = false;
  std::uint32_t init_seeds = 0;
  std::string replay;
  std::string reproducer_folder = ".";
  bool require_coverage = false;
  std::int64_t finders = 0;  // 0: the first program that differs is made small, and ends the run
  bool help = false;
};

extern const char* const kVerifyUsage;

// Throws Error (exit code 2) saying what was found and what is allowed.
VerifyOptions parse_verify_options(const std::vector<std::string>& arguments);

}  // namespace qsim
