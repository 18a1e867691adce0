// Files of `[section]` and `key : value` lines, as Python's ConfigParser reads them, with the place
// of everything. Keys count without case. A value is one line.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qsim::formats {

struct IniSection {
  std::string_view name;
  std::span<const std::string_view> keys;  // that the section may have
};

class IniFile {
 public:
  struct Entry {
    std::string_view key;  // as IniSection spells it
    std::string value;     // without blanks around it
    std::int64_t line = 0;
    std::size_t column = 0;  // of the value
  };

  // Throws Error with file:line:column for a line of another form, for a section or key that
  // `allowed` does not have, and for a key that comes twice. `allowed` must outlive the file.
  IniFile(const std::filesystem::path& path, std::span<const IniSection> allowed);

  // Null where the file has no such key in any section.
  const Entry* find(std::string_view key) const;
  // Throws Error, "file:line:column: found KEY 'VALUE'; expected ...".
  [[noreturn]] void fail(const Entry& entry, const std::string& expected) const;

  const std::string& source() const { return source_; }

 private:
  void read_line(std::string_view line, std::int64_t number);
  void open_section(std::string_view line, std::int64_t number);
  void add_entry(std::string_view line, std::size_t delimiter, std::int64_t number);

  std::string source_;
  std::span<const IniSection> allowed_;
  const IniSection* section_ = nullptr;
  std::vector<Entry> entries_;
};

}  // namespace qsim::formats
