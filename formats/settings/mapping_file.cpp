#include "formats/settings/mapping_file.h"

#include <limits>
#include <set>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "formats/text/yaml.h"

namespace qsim::formats {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

void require_size(const YamlNode& root, const char* key, std::int64_t size,
                  const ArchConfig& arch) {
  const YamlNode& node = root.at(key);
  const std::int64_t found = node.integer(1, kMost);
  if (found == size) return;
  node.fail("the file is for " + std::to_string(found) + "; config '" + arch.name + "' has " +
            std::to_string(size));
}

void read_field(const YamlNode& layer, const MappingField& field, LayerMapping& to) {
  const YamlNode* node = layer.find(field.name);
  to.field_places.push_back(node == nullptr ? to.place : node->where());
  if (node == nullptr) {
    if (field.is_required) layer.at(field.name);  // throws
    return;
  }
  field.set(to.mapping, field.words.empty() ? node->integer(0, kMost)
                                            : static_cast<std::int64_t>(
                                                  choice_or(layer, field.name, field.words, 0)));
}

LayerMapping read_layer(const YamlNode& node) {
  std::vector<std::string_view> keys = {"name"};
  for (const MappingField& field : mapping_fields()) keys.push_back(field.name);
  node.require_keys(keys);
  LayerMapping layer;
  layer.layer = node.at("name").text();
  layer.place = node.at("name").where();
  for (const MappingField& field : mapping_fields()) read_field(node, field, layer);
  if (node.find("first_weight_folds") == nullptr) {
    layer.mapping.first_weight_folds = layer.mapping.weight_folds;
  }
  return layer;
}

}  // namespace

std::vector<LayerMapping> load_mapping_file(const std::filesystem::path& path,
                                            const ArchConfig& arch) {
  const YamlNode root = load_yaml(path, kMaxMappingBytes);
  root.require_keys({"qsim_mapping", "model", "array_rows", "array_cols", "layers"});
  root.at("qsim_mapping").integer(kVersion, kVersion);
  if (const YamlNode* model = root.find("model")) static_cast<void>(model->text());
  require_size(root, "array_rows", arch.array_rows, arch);
  require_size(root, "array_cols", arch.array_cols, arch);
  std::vector<LayerMapping> layers;
  std::set<std::string> names;
  for (const YamlNode& node : root.at("layers").items()) {
    layers.push_back(read_layer(node));
    const std::string& name = layers.back().layer;
    if (!names.insert(name).second) {
      node.at("name").fail("layer '" + echoed(name) + "' is there twice");
    }
  }
  return layers;
}

std::string mapping_file_yaml(const std::string& model, const ArchConfig& arch,
                              std::span<const LayerMapping> layers) {
  std::string text = "qsim_mapping: " + std::to_string(kVersion) + "\n";
  text += "model: " + yaml_quoted(model) + "\n";
  text += "array_rows: " + std::to_string(arch.array_rows) + "\n";
  text += "array_cols: " + std::to_string(arch.array_cols) + "\n";
  text += "layers:\n";
  for (const LayerMapping& layer : layers) {
    text += "  - name: " + yaml_quoted(layer.layer) + "\n";
    for (const MappingField& field : mapping_fields()) {
      text += "    " + std::string(field.name) + ": " + field.text_of(layer.mapping) + "\n";
    }
  }
  if (std::ssize(text) > kMaxMappingBytes) {
    throw_bad_input("the mapping file of " + std::to_string(layers.size()) + " layers is " +
                    std::to_string(text.size()) + " bytes long; a mapping file has at most " +
                    std::to_string(kMaxMappingBytes) + "; give the layers shorter names");
  }
  return text;
}

}  // namespace qsim::formats
