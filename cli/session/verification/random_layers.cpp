#include "cli/session/verification/random_layers.h"

#include <algorithm>

#include "cli/session/inputs/shipped_files.h"
#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"

namespace qsim::cli {

using formats::Bucket;
namespace {

constexpr std::int64_t kFullSizeEvery = 8;
constexpr const char* kTiles = "several tiles in";
constexpr const char* kAllThree = "all three at once";

std::vector<Bucket> all_buckets() {
  std::vector<Bucket> buckets = formats::random_layer_buckets();
  for (const char* axis : {"pixels", "input channels", "output channels", kAllThree}) {
    buckets.push_back({kTiles, axis});
  }
  return buckets;
}

void check_layer(const std::string& what, const formats::RandomLayer& layer,
                 const ArchConfig& config, Verification& verification, GoldenSelection& golden) {
  const Program program = compiler::compile(layer.graph, config);
  std::vector<std::unique_ptr<GoldenRunner>> backends = golden.runners(layer.graph);
  const std::vector<Tensor> expected =
      verification.run_golden(what, layer.graph, layer.input, backends);
  verification.check(what, program, layer.input, expected, {});
}

}  // namespace

std::vector<ArchConfig> RandomLayers::every_config() {
  std::vector<ArchConfig> configs;
  for (const std::string& name : shipped_configs()) {
    configs.push_back(formats::load_arch_config(find_config(name)));
  }
  return configs;
}

void RandomLayers::check(std::int64_t number, Verification& verification, GoldenSelection& golden) {
  const std::uint64_t seed = first_seed_ + static_cast<std::uint64_t>(number);
  const auto configs = static_cast<std::int64_t>(configs_.size());
  ArchConfig config = configs_[static_cast<std::size_t>(number % configs)];
  if (shrinks_ && number / configs % kFullSizeEvery != 0) {
    Random random(seed);
    config = formats::shrink_memories(config, random);
  }
  const std::string what = "seed " + std::to_string(seed) + " on " + config.name;
  try {
    const formats::RandomLayer layer = formats::make_random_layer(seed, config);
    check_layer(what, layer, config, verification, golden);
    count(layer);
  } catch (const Error& error) {
    throw Error(error.code(), what + ": " + error.what());
  } catch (const InternalError& error) {
    throw InternalError(what + ": " + error.what());
  }
}

void RandomLayers::count(const formats::RandomLayer& layer) {
  ++layers_;
  for (const Bucket& bucket : layer.buckets) ++layers_of_[bucket];
  if (layer.many_pixel_tiles) ++layers_of_[{kTiles, "pixels"}];
  if (layer.many_in_channel_tiles) ++layers_of_[{kTiles, "input channels"}];
  if (layer.many_out_channel_tiles) ++layers_of_[{kTiles, "output channels"}];
  if (layer.many_pixel_tiles && layer.many_in_channel_tiles && layer.many_out_channel_tiles) {
    ++layers_of_[{kTiles, kAllThree}];
  }
}

std::string RandomLayers::config_names() const {
  std::string names;
  for (const ArchConfig& config : configs_) names += (names.empty() ? "" : ", ") + config.name;
  return names;
}

report::SheetTable RandomLayers::histogram() const {
  report::SheetTable table{"histogram", {"feature", "value", "layers", "share"}, {}};
  for (const Bucket& bucket : all_buckets()) {
    const auto it = layers_of_.find(bucket);
    const std::int64_t layers = it == layers_of_.end() ? 0 : it->second;
    table.rows.push_back(
        {bucket.feature, bucket.value, layers,
         static_cast<double>(layers) / static_cast<double>(std::max<std::int64_t>(layers_, 1))});
  }
  return table;
}

std::vector<std::string> RandomLayers::empty_buckets() const {
  std::vector<std::string> empty;
  for (const Bucket& bucket : all_buckets()) {
    if (layers_of_.find(bucket) == layers_of_.end()) {
      empty.push_back(bucket.feature + " " + bucket.value);
    }
  }
  return empty;
}

}  // namespace qsim::cli
