// The predictions that `eval --out` has made, in a file that grows, so that an interrupted command
// goes on where it was. docs/reference/eval.md has the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "cli/session/eval/prediction.h"
#include "formats/files/growing_file.h"

namespace qsim::cli {

class KeptPredictions {
 public:
  // Reads what the file has. Throws Error (exit code 3) for a file that it cannot read or write,
  // and for a line that is none of its own.
  explicit KeptPredictions(const std::filesystem::path& path);

  // What is kept under `key`: the predictions of the first pictures of a set. Empty where there are
  // none, or none with so many classes.
  PredictionTable find(const std::string& key, std::int64_t classes) const;
  // Predictions of pictures `first` and up.
  void keep(const std::string& key, std::int64_t first, const PredictionTable& table);

 private:
  void take(const std::string& line, const std::string& place);

  formats::GrowingFile file_;
  std::map<std::string, PredictionTable> tables_;
};

}  // namespace qsim::cli
