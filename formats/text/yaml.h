// A strict reader of YAML files as plain data: UTF-8 text, one document, each value on one line, no
// aliases, anchors, duplicate keys, tags or directives, of limited length. Every error says
// file:line:column, what was found and what is allowed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/nearest_name.h"

namespace qsim::formats {

class YamlNode {
 public:
  enum class Kind : std::uint8_t { kScalar, kList, kMap };
  using Entry = std::pair<std::string, YamlNode>;

  Kind kind() const { return kind_; }

  // Map access. Each throws when this is not a map.
  // Refuses every key but `allowed`; the error names the nearest allowed key, and all of them.
  void require_keys(std::span<const std::string_view> allowed) const;
  void require_keys(std::initializer_list<std::string_view> allowed) const;
  const YamlNode* find(std::string_view key) const;  // null when absent
  const YamlNode& at(std::string_view key) const;    // throws when absent

  // The elements of a list; throws when this is not one.
  const std::vector<YamlNode>& items() const;

  // The value of a scalar; throws when it is not of that type or out of range.
  // `kind` says what else is asked of an integer ("a power of two").
  std::int64_t integer(std::int64_t min, std::int64_t max, std::string_view kind = "") const;
  double number() const;
  bool boolean() const;  // true or false, nothing else
  const std::string& text() const;

  std::string where() const;  // "file:line:column"

  // Throws Error(kBadInput) with "file:line:column: " before the message.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  friend class YamlBuilder;

  const std::string& scalar(const char* expected) const;

  std::shared_ptr<const std::string> source_;
  int line_ = 1;
  int column_ = 1;
  int key_line_ = 1;  // of the key that leads here
  int key_column_ = 1;
  Kind kind_ = Kind::kScalar;
  bool quoted_ = false;  // "1" in quotes is a text, not a number
  std::string scalar_;
  std::string path_;  // the key that leads here, for messages
  std::vector<YamlNode> items_;
  std::vector<Entry> entries_;
};

// The document in a file, or in `text` (`source` names it in errors), of at most `max_bytes`.
YamlNode load_yaml(const std::filesystem::path& path, std::int64_t max_bytes = kMaxYamlBytes);
YamlNode parse_yaml(const std::string& text, const std::string& source,
                    std::int64_t max_bytes = kMaxYamlBytes);

// The value under `key`, or `otherwise` when the key is absent.
std::int64_t integer_or(const YamlNode& map, std::string_view key, std::int64_t min,
                        std::int64_t max, std::int64_t otherwise);
bool boolean_or(const YamlNode& map, std::string_view key, bool otherwise);
std::string text_or(const YamlNode& map, std::string_view key, const std::string& otherwise);
// The index in `names` of the text under `key`.
std::size_t choice_or(const YamlNode& map, std::string_view key,
                      std::span<const std::string_view> names, std::size_t otherwise);

// A list of `count` integers under `key`.
std::vector<std::int64_t> integers(const YamlNode& map, std::string_view key, std::size_t count,
                                   std::int64_t min, std::int64_t max);

// `text` as a double-quoted YAML (and JSON) scalar; a byte that is not UTF-8 becomes U+FFFD.
std::string yaml_quoted(std::string_view text);

}  // namespace qsim::formats
