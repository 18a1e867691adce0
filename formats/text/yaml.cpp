#include "formats/text/yaml.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/files/files.h"

namespace qsim::formats {
namespace {

std::string joined(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::string range_text(std::int64_t min, std::int64_t max) {
  return std::to_string(min) + " to " + std::to_string(max);
}

// Appends a code that printable_length() refuses; all of those have four digits at most.
void append_escape(std::string& to, std::uint32_t code) {
  to += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) to += "0123456789abcdef"[code >> shift & 15];
}

constexpr std::string_view kKindNames[] = {"a single value", "a list", "a map"};

}  // namespace

std::string YamlNode::where() const {
  return *source_ + ":" + std::to_string(line_) + ":" + std::to_string(column_);
}

void YamlNode::fail(const std::string& message) const {
  throw_bad_input(where() + ": " + (path_.empty() ? "" : echoed(path_) + ": ") + message);
}

void YamlNode::require_keys(std::span<const std::string_view> allowed) const {
  if (kind_ != Kind::kMap) {
    fail("found " + std::string(kKindNames[static_cast<std::size_t>(kind_)]) +
         "; expected a map with the keys " + joined(allowed));
  }
  for (const auto& [key, value] : entries_) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const std::string_view near = nearest_name(key, allowed);
    throw_bad_input(*source_ + ":" + std::to_string(value.key_line_) + ":" +
                    std::to_string(value.key_column_) + ": unknown key '" + echoed(key) + "'" +
                    (near.empty() ? "." : "; did you mean '" + std::string(near) + "'?") +
                    " Allowed: " + joined(allowed));
  }
}

void YamlNode::require_keys(std::initializer_list<std::string_view> allowed) const {
  require_keys(std::span<const std::string_view>(allowed.begin(), allowed.size()));
}

const YamlNode* YamlNode::find(std::string_view key) const {
  if (kind_ != Kind::kMap) {
    fail("found " + std::string(kKindNames[static_cast<std::size_t>(kind_)]) +
         "; expected a map with the key '" + std::string(key) + "'");
  }
  for (const auto& [name, value] : entries_) {
    if (name == key) return &value;
  }
  return nullptr;
}

const YamlNode& YamlNode::at(std::string_view key) const {
  const YamlNode* node = find(key);
  if (node != nullptr) return *node;
  std::vector<std::string_view> present;
  for (const auto& entry : entries_) present.push_back(entry.first);
  const std::string_view near = nearest_name(key, present);
  fail("the key '" + std::string(key) + "' is missing" +
       (near.empty() ? "" : "; is '" + echoed(near) + "' a misspelling?"));
}

const std::vector<YamlNode>& YamlNode::items() const {
  if (kind_ != Kind::kList) {
    fail("found " + std::string(kKindNames[static_cast<std::size_t>(kind_)]) + "; expected a list");
  }
  return items_;
}

const std::string& YamlNode::scalar(const char* expected) const {
  if (kind_ != Kind::kScalar) {
    fail("found " + std::string(kKindNames[static_cast<std::size_t>(kind_)]) + "; expected " +
         expected);
  }
  return scalar_;
}

std::int64_t YamlNode::integer(std::int64_t min, std::int64_t max, std::string_view kind) const {
  const std::string range = range_text(min, max);
  const std::string& text = scalar(("an integer from " + range).c_str());
  std::int64_t value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  const bool overflow = error == std::errc::result_out_of_range && stop == end;
  if (quoted_ || (!overflow && (error != std::errc() || stop != end))) {
    fail("found '" + echoed(text) + (quoted_ ? "' in quotes" : "'") +
         "; expected an integer from " + range);
  }
  if (overflow || value < min || value > max) {
    fail(echoed(text) + " is out of range; allowed: " +
         (kind.empty() ? range : std::string(kind) + " from " + range));
  }
  return value;
}

double YamlNode::number() const {
  const std::string& text = scalar("a number");
  double value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (quoted_ || error != std::errc() || stop != end || !std::isfinite(value)) {
    fail("found '" + echoed(text) + "'; expected a finite number");
  }
  return value;
}

bool YamlNode::boolean() const {
  const std::string& text = scalar("true or false");
  if (quoted_ || (text != "true" && text != "false")) {
    fail("found '" + echoed(text) + "'; expected true or false");
  }
  return text == "true";
}

const std::string& YamlNode::text() const { return scalar("a text"); }

YamlNode load_yaml(const std::filesystem::path& path, std::int64_t max_bytes) {
  return parse_yaml(read_text_file(path, max_bytes), path.string(), max_bytes);
}

std::int64_t integer_or(const YamlNode& map, std::string_view key, std::int64_t min,
                        std::int64_t max, std::int64_t otherwise) {
  const YamlNode* node = map.find(key);
  return node != nullptr ? node->integer(min, max) : otherwise;
}

bool boolean_or(const YamlNode& map, std::string_view key, bool otherwise) {
  const YamlNode* node = map.find(key);
  return node != nullptr ? node->boolean() : otherwise;
}

std::string text_or(const YamlNode& map, std::string_view key, const std::string& otherwise) {
  const YamlNode* node = map.find(key);
  return node != nullptr ? node->text() : otherwise;
}

std::size_t choice_or(const YamlNode& map, std::string_view key,
                      std::span<const std::string_view> names, std::size_t otherwise) {
  const YamlNode* node = map.find(key);
  if (node == nullptr) return otherwise;
  const auto found = std::find(names.begin(), names.end(), node->text());
  if (found == names.end()) {
    const std::string_view near = nearest_name(node->text(), names);
    node->fail("found '" + echoed(node->text()) + "'" +
               (near.empty() ? "." : "; did you mean '" + std::string(near) + "'?") +
               " Allowed: " + joined(names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<std::int64_t> integers(const YamlNode& map, std::string_view key, std::size_t count,
                                   std::int64_t min, std::int64_t max) {
  const YamlNode& list = map.at(key);
  if (list.items().size() != count) {
    list.fail("found a list of " + std::to_string(list.items().size()) + "; expected " +
              std::to_string(count) + " integers");
  }
  std::vector<std::int64_t> values;
  for (const YamlNode& item : list.items()) values.push_back(item.integer(min, max));
  return values;
}

std::string yaml_quoted(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const Utf8Character first = first_utf8_character(text);
    if (text[0] == '"' || text[0] == '\\') quoted += '\\';
    if (first.bytes == 0) {
      quoted += "\\ufffd";
    } else if (printable_length(text) == 0) {
      append_escape(quoted, first.code);
    } else {
      quoted += text.substr(0, first.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(first.bytes, 1));
  }
  return quoted + "\"";
}

}  // namespace qsim::formats
