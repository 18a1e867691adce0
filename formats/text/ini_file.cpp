#include "formats/text/ini_file.h"

#include <algorithm>
#include <cctype>

#include "core/base/nearest_name.h"
#include "core/base/printable.h"
#include "core/base/text_line.h"
#include "formats/files/files.h"

namespace qsim::formats {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string list_of(std::span<const std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

}  // namespace

IniFile::IniFile(const std::filesystem::path& path, std::span<const IniSection> allowed)
    : source_(path.string()), allowed_(allowed) {
  std::string text = read_text_file(path, kMaxYamlBytes);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte order mark
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    read_line(std::string_view(text).substr(at, end - at), number + 1);
    at = end + 1;
  }
}

const IniFile::Entry* IniFile::find(std::string_view key) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.key == key; });
  return it == entries_.end() ? nullptr : &*it;
}

void IniFile::fail(const Entry& entry, const std::string& expected) const {
  fail_at({&source_, entry.line}, entry.column,
          std::string(entry.key) + " '" + echoed(entry.value) + "'", expected);
}

void IniFile::read_line(std::string_view line, std::int64_t number) {
  const std::string_view content = without_blanks(line);
  if (content.empty() || content.front() == '#' || content.front() == ';') return;
  if (kBlanks.find(line.front()) != std::string_view::npos) {
    fail_at({&source_, number}, 1, "a blank at the start of the line",
            "none, since SCALE-Sim takes such a line as part of the value above it");
  }
  if (content.front() == '[') return open_section(content, number);
  const std::size_t delimiter = content.find_first_of(":=");
  if (delimiter == std::string_view::npos || delimiter == 0 || section_ == nullptr) {
    fail_at({&source_, number}, 1, "the line '" + echoed(content) + "'",
            section_ == nullptr ? "a [section] before the first key"
                                : "a [section], a 'key : value' or a comment");
  }
  add_entry(content, delimiter, number);
}

void IniFile::open_section(std::string_view line, std::int64_t number) {
  const std::string_view name = line.back() == ']' ? line.substr(1, line.size() - 2) : line;
  const auto it = std::find_if(allowed_.begin(), allowed_.end(),
                               [&](const IniSection& section) { return section.name == name; });
  if (it == allowed_.end()) {
    std::vector<std::string_view> names;
    for (const IniSection& section : allowed_) names.push_back(section.name);
    fail_at({&source_, number}, 1, "the section '" + echoed(line) + "'",
            "a section of SCALE-Sim: " + list_of(names));
  }
  section_ = &*it;
}

void IniFile::add_entry(std::string_view line, std::size_t delimiter, std::int64_t number) {
  const std::string_view word = without_blanks(line.substr(0, delimiter));
  const auto it =
      std::find_if(section_->keys.begin(), section_->keys.end(),
                   [&](std::string_view allowed) { return lower(allowed) == lower(word); });
  if (it == section_->keys.end()) {
    const std::string nearest(nearest_name(word, section_->keys));
    const std::string hint = nearest.empty() ? "." : "; did you mean '" + nearest + "'?";
    fail_at({&source_, number}, 1, "the key '" + echoed(word) + "'",
            "a key of [" + std::string(section_->name) + "]" + hint +
                " Its keys: " + list_of(section_->keys));
  }
  if (find(*it) != nullptr) {
    fail_at({&source_, number}, 1, "the key '" + echoed(word) + "' a second time",
            "every key once");
  }
  const std::string_view value = without_blanks(line.substr(delimiter + 1));
  const std::size_t column = value.empty() ? delimiter + 2 : line.find(value, delimiter + 1) + 1;
  entries_.push_back({*it, std::string(value), number, column});
}

}  // namespace qsim::formats
