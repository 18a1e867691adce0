// What the report's page draws, as JSON: the runs as `--json` gives them, and beside each the words
// and the timeline that only the page has; a profile adds every point. docs/reference/output.md
// lists the fields.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "report/html/timeline.h"
#include "report/results/profile.h"
#include "report/run_report.h"

namespace qsim::report {

// A run that the page shows in detail. What is pointed to must outlive the call.
struct PageRun {
  std::string label;                    // tells it from the other runs: "pe8x8, os"
  const RunReport* report = nullptr;    // with times
  const Timeline* timeline = nullptr;   // null: the page has none of this run
  std::optional<double> area_mm2 = {};  // of the accelerator; absent: not known
  std::size_t point = 0;                // of the profile
};

struct PageContent {
  std::span<const PageRun> runs;     // the most telling one first; at least one
  const Profile* profile = nullptr;  // whose points the runs are; null: the page of one run
};

// The data, in one line of at most about `most_bytes`. The first run is always there; the others
// while they fit in their order. A profile with too many points loses those that have most of its
// measure, but no winner and no point of the Pareto front. What is left is for timelines, which are
// joined to fit (report/html/timeline.h).
std::string page_data(const PageContent& content, std::size_t most_bytes);

// "vgg8-cifar10 on pe16x16": what the page is about.
std::string page_title(const PageContent& content);

// The page's first sentences: what limits the run and its longest layer; for a profile, which point
// wins and why.
std::string page_summary(const PageContent& content);

}  // namespace qsim::report
