#include "formats/settings/arch_config_file.h"

#include <vector>

#include "core/base/checked_math.h"
#include "core/base/printable.h"
#include "formats/settings/scale_sim_config.h"
#include "formats/text/yaml.h"

namespace qsim::formats {
namespace {

constexpr std::string_view kHostKey = "host";

std::int64_t number_field(const YamlNode& node, const ArchConfigField& field) {
  const std::int64_t value =
      node.integer(field.min, field.max, field.power_of_two ? "a power of two" : "");
  if (field.power_of_two && !is_power_of_two(value)) {
    node.fail(std::to_string(value) + " is not allowed; allowed: a power of two from " +
              std::to_string(field.min) + " to " + std::to_string(field.max) +
              ", since words and bursts are cut by shifts (docs/reference/config.md)");
  }
  return value;
}

HostConfig host_config(const YamlNode& node) {
  std::vector<std::string_view> names;
  for (const HostConfigField& field : host_config_fields()) names.push_back(field.name);
  node.require_keys(names);
  HostConfig host;
  for (const HostConfigField& field : host_config_fields()) {
    if (field.flag != nullptr) {
      host.*field.flag = boolean_or(node, field.name, false);
      continue;
    }
    const YamlNode& given = node.at(field.name);
    const double rate = given.number();
    if (!(rate >= kLeastHostRate && rate <= kMostHostRate)) {
      given.fail("found " + given.text() + "; expected a number from 0.001 to 1000000");
    }
    host.*field.rate = rate;
  }
  return host;
}

}  // namespace

ArchConfig load_arch_config(const std::filesystem::path& path) {
  if (is_scale_sim_config(path)) return load_scale_sim_config(path).config;
  const YamlNode root = load_yaml(path);
  std::vector<std::string_view> names;
  for (const ArchConfigField& field : arch_config_fields()) names.push_back(field.name);
  names.push_back(kHostKey);
  root.require_keys(names);
  ArchConfig config;
  config.name = path.stem().string();
  for (const ArchConfigField& field : arch_config_fields()) {
    const YamlNode* node = root.find(field.name);
    if (node == nullptr) continue;
    if (field.number != nullptr) {
      config.*field.number = number_field(*node, field);
    } else if (field.word != nullptr) {
      set_word(config, field, choice_or(root, field.name, field.words, 0));
    } else {
      config.*field.text = node->text();
      if (node->text().empty()) node->fail("the text is empty; give one, or leave the key out");
      if (unprintable_at(node->text()) != std::string::npos) {
        node->fail("found '" + echoed(node->text()) + "'; expected one line of printable text");
      }
    }
  }
  if (const YamlNode* node = root.find(kHostKey)) config.host = host_config(*node);
  // The root reports limits between fields, which no single line breaks.
  try {
    validate(config);
  } catch (const Error& error) {
    root.fail(error.what());
  }
  return config;
}

std::string arch_config_yaml(const ArchConfig& config) {
  std::string text;
  for (const ArchConfigField& field : arch_config_fields()) {
    if (!is_written(config, field)) continue;
    const std::string value = value_text(config, field);
    text += std::string(field.name) + ": ";
    text += field.text != nullptr ? yaml_quoted(value) : value;
    text += "\n";
  }
  if (!config.host) return text;
  std::string host;
  for (const HostConfigField& field : host_config_fields()) {
    host += (host.empty() ? "" : ", ") + std::string(field.name) + ": " +
            value_text(*config.host, field);
  }
  return text + std::string(kHostKey) + ": {" + host + "}\n";
}

}  // namespace qsim::formats
