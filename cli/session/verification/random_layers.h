// The random layers of `verify --seeds`: draws them, has them verified, and counts what they were.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/session/verification/verification.h"
#include "formats/workload/random_layer.h"
#include "report/sheet.h"

namespace qsim::cli {

class RandomLayers {
 public:
  // `shrinks`: whether memories may be shrunk.
  RandomLayers(std::vector<ArchConfig> configs, std::uint64_t first_seed, bool shrinks)
      : configs_(std::move(configs)), first_seed_(first_seed), shrinks_(shrinks) {}
  // All that are shipped.
  static std::vector<ArchConfig> every_config();

  // Layer number `number`: seed --seed + number, on config number mod the number of configs. Seven
  // of eight run with memories shrunk at random, so that a modest layer needs many tiles; none
  // where the rtl engine takes part, since each size is hardware of its own. An error names seed
  // and config.
  void check(std::int64_t number, Verification& verification, GoldenSelection& golden);

  std::string config_names() const;
  // One row a bucket that random layers can fall into, the empty ones too: feature, value, layers,
  // share of all layers.
  report::SheetTable histogram() const;
  // "kernel_h 9", ...: the buckets of the histogram that no layer fell into.
  std::vector<std::string> empty_buckets() const;

 private:
  void count(const formats::RandomLayer& layer);

  std::vector<ArchConfig> configs_;
  std::uint64_t first_seed_;
  bool shrinks_;
  std::map<formats::Bucket, std::int64_t> layers_of_;
  std::int64_t layers_ = 0;
};

}  // namespace qsim::cli
