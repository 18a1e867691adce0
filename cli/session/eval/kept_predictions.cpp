#include "cli/session/eval/kept_predictions.h"

#include <charconv>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace qsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHeader = R"({"schema":"qsim.kept-predictions/1"})";
constexpr std::size_t kHashDigits = 16;

std::string hex_text(std::uint64_t number) {
  char buffer[kHashDigits + 1];
  std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(number));
  return buffer;
}

bool is_index(const Json& json) {
  return json.is_number_integer() && json.get<std::int64_t>() >= -1 &&
         json.get<std::int64_t>() < (std::int64_t{1} << 31);
}

// Whether [[best, ...], "hash"] was read into `prediction`.
bool read_prediction(const Json& json, Prediction& prediction) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_array() || !json[1].is_string()) {
    return false;
  }
  if (json[0].size() != kBestClasses) return false;
  for (std::size_t i = 0; i < kBestClasses; ++i) {
    if (!is_index(json[0][i])) return false;
    prediction.best[i] = json[0][i].get<std::int32_t>();
  }
  const std::string digits = json[1].get<std::string>();
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, prediction.bytes, 16);
  return digits.size() == kHashDigits && error == std::errc() && last == end;
}

bool has_fields(const Json& json) {
  return json.is_object() && json.contains("key") && json["key"].is_string() &&
         json.contains("first") && is_index(json["first"]) && json.contains("predictions") &&
         json["predictions"].is_array();
}

}  // namespace

KeptPredictions::KeptPredictions(const std::filesystem::path& path) : file_(path, kHeader) {
  for (std::size_t i = 0; i < file_.lines().size(); ++i) {
    take(file_.lines()[i], path.string() + ":" + std::to_string(i + 2));
  }
}

void KeptPredictions::take(const std::string& line, const std::string& place) {
  const Json json = Json::parse(line, nullptr, false);
  std::vector<Prediction> read;
  bool is_whole = has_fields(json);
  if (is_whole) {
    for (const Json& one : json["predictions"]) {
      is_whole = is_whole && read_prediction(one, read.emplace_back());
    }
  }
  if (!is_whole) {
    throw_bad_input(place + ": is not a prediction that was kept; remove the line, or the file");
  }
  std::vector<Prediction>& all = predictions_[json["key"].get<std::string>()];
  if (json["first"].get<std::int64_t>() != std::ssize(all)) return;  // of another run at its side
  all.insert(all.end(), read.begin(), read.end());
}

std::vector<Prediction> KeptPredictions::find(const std::string& key) const {
  const auto found = predictions_.find(key);
  return found == predictions_.end() ? std::vector<Prediction>{} : found->second;
}

void KeptPredictions::keep(const std::string& key, std::int64_t first,
                           std::span<const Prediction> predictions) {
  Json list = Json::array();
  for (const Prediction& prediction : predictions) {
    list.push_back(Json::array({prediction.best, hex_text(prediction.bytes)}));
  }
  file_.append(Json({{"key", key}, {"first", first}, {"predictions", std::move(list)}}).dump());
}

}  // namespace qsim
