// Many random programs in one process, and what came of them.
#pragma once

#include <functional>
#include <iosfwd>

#include "tests/rtl/programs/coverage.h"
#include "tests/rtl/programs/differential.h"

namespace qsim {

struct Tally {
  std::uint64_t programs = 0;
  std::uint64_t cycles = 0;
  std::uint64_t commands = 0;
  std::vector<std::string> mismatches;  // one line each
  std::uint64_t finders = 0;            // programs that differ, where these are counted
  std::uint64_t first_finder = 0;       // the first of them, counted from 1 over all jobs
  Coverage coverage;

  void add(const Tally& other);
};

// Between processes: a tally as text, and back.
void print_tally(const Tally& tally, std::ostream& out);
Tally read_tally(std::istream& in);

struct CampaignOptions {
  std::vector<ArchConfig> configs;
  std::uint64_t first_seed = 0;
  std::int64_t programs = 0;
  std::int64_t job = 0;  // programs of number job, job + jobs, ...
  std::int64_t jobs = 1;
  std::string reproducer_folder;
  std::int64_t finders = 0;
  std::function<void(const std::string& program)> begins = [](const std::string&) {};
  std::function<void(const Tally&)> progress = [](const Tally&) {};
};

// Stops at the first mismatch, after it has been made small and written to the folder. With
// `finders` it counts the programs that differ and stops at so many of them; `mismatches` has the
// first, as it was found.
Tally run_campaign(const CampaignOptions& options, Differential& differential);

}  // namespace qsim
