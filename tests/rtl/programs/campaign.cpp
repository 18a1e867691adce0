#include "tests/rtl/programs/campaign.h"

#include <algorithm>
#include <istream>
#include <ostream>

#include "core/base/error.h"
#include "formats/files/files.h"
#include "tests/rtl/programs/reproducer.h"
#include "tests/rtl/programs/shrinker.h"

namespace qsim {

using namespace formats;
namespace {

// Makes the failing program small, writes it, and says so in a line. What fails only after the
// programs before it, by what they left in the hardware, is written as it is.
std::string reproduce(const ProgramPlan& plan, const RandomCase& made, const Difference& found,
                      const std::string& folder, Differential& differential) {
  std::string last = found.text;
  const StillFails fails = [&](const RandomCase& c) {
    const auto difference = differential.check_one(c, found.witness).difference;
    if (!difference || difference->witness != found.witness) return false;
    last = difference->text;
    return true;
  };
  const bool alone = fails(made);
  const ShrinkResult small = alone ? shrink(plan, fails) : ShrinkResult{made, 1};
  if (alone) fails(small.smallest);  // its own words, not those of the last attempt
  std::string name = made.name + ".repro";
  for (char& c : name) c = c == ' ' ? '-' : c;
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  write_file_atomically(path, reproducer_text(small.smallest, made.name + ": " + last));
  const std::string found_line = made.name + ": " + found.text;
  if (!alone) {
    return found_line + "\n  only after the programs before it; as a whole in " + path.string();
  }
  return found_line + "\n  in " + std::to_string(small.smallest.program.command_count()) +
         " commands instead of " + std::to_string(made.program.command_count()) + " (" +
         std::to_string(small.runs) + " runs): " + last + "\n  replay with --replay " +
         path.string();
}

}  // namespace

void Tally::add(const Tally& other) {
  programs += other.programs;
  cycles += other.cycles;
  commands += other.commands;
  finders += other.finders;
  if (other.first_finder != 0) {
    first_finder =
        first_finder == 0 ? other.first_finder : std::min(first_finder, other.first_finder);
  }
  mismatches.insert(mismatches.end(), other.mismatches.begin(), other.mismatches.end());
  coverage.add(other.coverage.counts());
}

void print_tally(const Tally& tally, std::ostream& out) {
  out << tally.programs << " " << tally.cycles << " " << tally.commands << " " << tally.finders
      << " " << tally.first_finder << "\n";
  for (const std::uint64_t count : tally.coverage.counts()) out << count << " ";
  out << "\n";
  for (const std::string& mismatch : tally.mismatches) out << mismatch << std::string(1, '\0');
}

Tally read_tally(std::istream& in) {
  Tally tally;
  in >> tally.programs >> tally.cycles >> tally.commands >> tally.finders >> tally.first_finder;
  std::vector<std::uint64_t> counts(kCoverageBins);
  for (std::uint64_t& count : counts) in >> count;
  if (!in) throw InternalError("a job of verify_rtl ended without its counts");
  tally.coverage.add(counts);
  in >> std::ws;
  for (std::string text; std::getline(in, text, '\0');) tally.mismatches.push_back(text);
  return tally;
}

Tally run_campaign(const CampaignOptions& options, Differential& differential) {
  Tally tally;
  const auto configs = static_cast<std::int64_t>(options.configs.size());
  for (std::int64_t i = options.job; i < options.programs; i += options.jobs) {
    const ArchConfig& arch = options.configs[static_cast<std::size_t>(i % configs)];
    const std::uint64_t seed = options.first_seed + static_cast<std::uint64_t>(i / configs);
    options.begins(arch.name + " seed " + std::to_string(seed));
    const RandomCase made = make_random_case(arch, seed);
    const DifferentialResult result = differential.check(made, seed);
    ++tally.programs;
    tally.commands += made.program.command_count();
    tally.cycles += result.cycles;
    if (result.difference && options.finders > 0) {
      if (tally.finders++ == 0) {
        tally.first_finder = static_cast<std::uint64_t>(i) + 1;
        tally.mismatches.push_back(made.name + ": " + result.difference->text);
      }
      if (tally.finders == static_cast<std::uint64_t>(options.finders)) return tally;
      continue;
    }
    if (result.difference) {
      tally.mismatches.push_back(reproduce(draw_plan(arch, seed), made, *result.difference,
                                           options.reproducer_folder, differential));
      return tally;
    }
    tally.coverage.add(made.program, result.times);
    options.progress(tally);
  }
  return tally;
}

}  // namespace qsim
