// A file that must be inside a folder, even through links. So a model that names files cannot make
// qsim read others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "formats/files/descriptor.h"

namespace qsim::formats {

class FileBeneath {
 public:
  // Opens `name`, a path that is relative and has no "..", from `folder`. What was opened, and not
  // what the name says, is then checked against the folder, so that nobody can exchange a link in
  // between. Pipes and devices are not opened. Throws Error, which `where` begins: "WHERE: external
  // data file '...' ...".
  FileBeneath(const std::filesystem::path& folder, const std::string& name,
              const std::string& where);

  // Tells files apart, by whatever names they were opened: device and inode.
  using Identity = std::pair<std::uint64_t, std::uint64_t>;
  Identity identity() const { return identity_; }

  std::int64_t bytes() const { return bytes_; }
  // Bytes [offset, offset + to.size()), which must lie in the file.
  void read(std::int64_t offset, std::span<std::byte> to) const;

 private:
  std::filesystem::path path_;  // as messages name it
  std::string where_;
  Descriptor file_;
  std::int64_t bytes_ = 0;
  Identity identity_;
};

}  // namespace qsim::formats
