#include "cli/session/profile/kept_points.h"

#include <nlohmann/json.hpp>

#include "cli/session/inputs/file_hash.h"
#include "formats/text/shallow_json.h"
#include "report/results/result_json.h"

namespace qsim::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPointsHeader = R"({"schema":"qsim.kept-points/1"})";

// The JSON on one line. A byte that is not UTF-8 becomes U+FFFD, as in every JSON of qsim.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

std::string point_key(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += std::to_string(part.size()) + ":" + part + "\n";
  }
  return text_hash(text);
}

KeptPoints::KeptPoints(const std::filesystem::path& path) : file_(path, kPointsHeader) {
  for (std::size_t i = 0; i < file_.lines().size(); ++i) {
    const std::string place = path.string() + ":" + std::to_string(i + 2);
    const report::ReadJson json = formats::parse_shallow<report::ReadJson>(file_.lines()[i]);
    const bool has_both = json.is_object() && json.contains("key") && json["key"].is_string() &&
                          json.contains("point");
    if (!has_both) {
      throw_bad_input(place + ": is not a point that was kept; remove the line, or the file");
    }
    results_.insert_or_assign(json["key"].get<std::string>(),
                              report::result_of_json(json["point"], place));
  }
}

std::optional<report::NetworkResult> KeptPoints::find(const std::string& key) const {
  const auto found = results_.find(key);
  if (found == results_.end()) return std::nullopt;
  return found->second;
}

void KeptPoints::keep(const std::string& key, const report::NetworkResult& result) {
  file_.append(line_of({{"key", key}, {"point", report::result_json(result)}}));
}

}  // namespace qsim::cli
