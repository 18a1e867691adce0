// YAML text of any kind: parsed or refused; every way to ask a node answers or throws Error; any
// text that is written quoted comes back.
#include "formats/text/yaml.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace formats;
namespace {

void ask_everything(const YamlNode& node) {
  accepted([&] { node.integer(INT64_MIN, INT64_MAX); });
  accepted([&] { node.number(); });
  accepted([&] { node.boolean(); });
  accepted([&] { node.text(); });
  accepted([&] { node.require_keys({"name", "seed", "input", "layers"}); });
  accepted([&] { integers(node, "shape", 4, 1, 1000); });
  accepted([&] { node.at("layers"); });
  accepted([&] {
    for (const YamlNode& item : node.items()) ask_everything(item);
  });
  if (node.kind() != YamlNode::Kind::kMap) return;
  for (const std::string_view key : {"name", "seed", "input", "layers"}) {
    if (const YamlNode* value = node.find(key)) ask_everything(*value);
  }
}

}  // namespace

bool fuzz_one(Bytes input) {
  const std::string text(text_of(input));
  const bool parsed = accepted([&] { ask_everything(parse_yaml(text, "input.yaml")); });
  // Only text can be written: bytes that are no UTF-8 are nobody's label.
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return parsed;
  }
  const YamlNode quoted = parse_yaml(yaml_quoted(text) + "\n", "quoted.yaml");
  require(quoted.text() == text, "a quoted text is read as '" + quoted.text() + "'");
  return parsed;
}

}  // namespace qsim::fuzz
