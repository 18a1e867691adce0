// --resume: the points of a profile that are finished, in a file, so that an interrupted profile
// goes on where it was. docs/reference/output.md has the format.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "formats/files/growing_file.h"
#include "report/results/network_result.h"

namespace qsim::cli {

// The key of all that a result depends on: this executable, the model's bytes, the configuration,
// the options of the compiler, the energy table.
std::string point_key(const std::vector<std::string>& parts);

class KeptPoints {
 public:
  // Reads what the file has. Throws Error (exit code 3) for a file that it cannot read or write,
  // and for a line that is not a point.
  explicit KeptPoints(const std::filesystem::path& path);

  std::optional<report::NetworkResult> find(const std::string& key) const;
  void keep(const std::string& key, const report::NetworkResult& result);

 private:
  formats::GrowingFile file_;
  std::map<std::string, report::NetworkResult> results_;
};

}  // namespace qsim::cli
