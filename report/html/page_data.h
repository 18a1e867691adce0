// What the report's page draws, as JSON: the runs as `--json` gives them, and beside each the words
// and the timeline that only the page has. docs/reference/report.md lists the fields.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "report/html/timeline.h"
#include "report/run_report.h"

namespace qsim {

// One run of the page. What is pointed to must outlive the call.
struct PageRun {
  std::string label;                    // tells it from the other runs: "os, array_rows 32"
  const RunReport* report = nullptr;    // with times
  const Timeline* timeline = nullptr;   // null: the page has none of this run
  std::optional<double> area_mm2 = {};  // of the accelerator; absent: not known
};

// The runs' JSON, in one line of at most about `most_bytes`. So that it fits, timelines are joined
// (report/html/timeline.h). If that is not enough, the runs of most cycles have neither a timeline
// nor layers: `detail` is false. The run of fewest cycles always has its layers.
std::string page_data(std::span<const PageRun> runs, std::size_t most_bytes);

// "vgg8-cifar10 on pe16x16": what the page is about.
std::string page_title(std::span<const PageRun> runs);

// The page's first sentences: what limits the run and its longest layer; of several runs, which one
// takes the fewest cycles.
std::string page_summary(std::span<const PageRun> runs);

}  // namespace qsim
