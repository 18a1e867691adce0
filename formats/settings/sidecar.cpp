#include "formats/settings/sidecar.h"

#include <cmath>
#include <limits>

#include "formats/text/yaml.h"

namespace qsim::formats {
namespace {

std::array<float, 3> three_numbers(const YamlNode& map, std::string_view key, bool positive) {
  const YamlNode& list = map.at(key);
  if (list.items().size() != 3) {
    list.fail("found a list of " + std::to_string(list.items().size()) +
              "; expected 3 numbers, for R, G and B");
  }
  std::array<float, 3> numbers{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double number = list.items()[i].number();
    if (std::abs(number) > std::numeric_limits<float>::max()) {
      list.items()[i].fail("expected a number that float32 holds");
    }
    numbers[i] = static_cast<float>(number);
    if (positive && !(numbers[i] > 0)) list.items()[i].fail("expected a number above 0");
  }
  return numbers;
}

// Black and white: what a picture's values become lies between.
void require_finite_values(const YamlNode& steps, const Sidecar& sidecar) {
  for (std::size_t i = 0; i < 3; ++i) {
    for (const float x : {0.0f, 1.0f}) {
      if (std::isfinite((x - sidecar.mean[i]) / sidecar.std[i])) continue;
      steps.at("std").items()[i].fail(
          "too small for the mean: (pixel / 255 - mean) / std is beyond float32");
    }
  }
}

Sidecar parse(const YamlNode& root) {
  root.require_keys({"preprocess", "labels"});
  Sidecar sidecar;
  const YamlNode& steps = root.at("preprocess");
  steps.require_keys({"resize", "mean", "std"});
  const std::vector<std::int64_t> size = integers(steps, "resize", 2, 1, 65536);
  sidecar.resize_height = size[0];
  sidecar.resize_width = size[1];
  sidecar.mean = three_numbers(steps, "mean", false);
  sidecar.std = three_numbers(steps, "std", true);
  require_finite_values(steps, sidecar);
  if (const YamlNode* labels = root.find("labels")) {
    if (labels->items().empty())
      labels->fail("the list is empty; give labels, or leave the key out");
    for (const YamlNode& label : labels->items()) sidecar.labels.push_back(label.text());
  }
  return sidecar;
}

}  // namespace

std::filesystem::path sidecar_path(const std::filesystem::path& model_path) {
  return std::filesystem::path(model_path).replace_extension(".yaml");
}

std::optional<Sidecar> load_sidecar_of(const std::filesystem::path& model_path) {
  const std::filesystem::path path = sidecar_path(model_path);
  std::error_code ignored;
  if (path == model_path || !std::filesystem::exists(path, ignored)) return std::nullopt;
  Sidecar sidecar = parse(load_yaml(path));
  sidecar.file = path.string();
  return sidecar;
}

}  // namespace qsim::formats
