#include "cli/session/eval/kept_predictions.h"

#include <bit>
#include <charconv>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "formats/text/shallow_json.h"

namespace qsim::cli {
namespace {

using SortedJson = nlohmann::json;  // finds a member without a look at all the others
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kPredictionsHeader = R"({"schema":"qsim.kept-predictions/2"})";
constexpr std::size_t kHashDigits = 16;
constexpr std::size_t kFloatDigits = 8;

void add_hex(std::string& text, std::uint64_t number, std::size_t digits) {
  for (std::size_t i = digits; i-- > 0;) text += "0123456789abcdef"[number >> (4 * i) & 15];
}

// Whether all of `digits` was a number, which is then in `number`.
template <typename Number>
bool read_hex(std::string_view digits, Number& number) {
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, number, 16);
  return error == std::errc() && last == end;
}

bool is_index(const SortedJson& json) {
  constexpr std::int64_t kEnd = std::int64_t{1} << 31;
  if (json.is_number_unsigned()) return json.get<std::uint64_t>() < std::uint64_t{kEnd};
  return json.is_number_integer() && json.get<std::int64_t>() >= -1 &&
         json.get<std::int64_t>() < kEnd;
}

bool read_best(const SortedJson& json, Prediction& prediction) {
  if (!json.is_array() || json.size() != kBestClasses) return false;
  for (std::size_t i = 0; i < kBestClasses; ++i) {
    if (!is_index(json[i])) return false;
    prediction.best[i] = json[i].get<std::int32_t>();
  }
  return true;
}

bool read_outputs(std::string_view digits, std::vector<float>& outputs) {
  if (digits.empty() || digits.size() % kFloatDigits != 0) return false;
  for (std::size_t at = 0; at < digits.size(); at += kFloatDigits) {
    std::uint32_t bits = 0;
    if (!read_hex(digits.substr(at, kFloatDigits), bits)) return false;
    outputs.push_back(std::bit_cast<float>(bits));
  }
  return true;
}

// Whether [[best, ...], "hash", "outputs"] was read, with as many outputs as the rows before.
bool read_row(const SortedJson& json, PredictionTable& table) {
  if (!json.is_array() || json.size() != 3 || !json[1].is_string() || !json[2].is_string()) {
    return false;
  }
  const std::string hash = json[1].get<std::string>();
  const std::size_t before = table.outputs.size();
  const std::size_t rows_before = table.predictions.size();
  Prediction& prediction = table.predictions.emplace_back();
  return read_best(json[0], prediction) && hash.size() == kHashDigits &&
         read_hex(hash, prediction.bytes) &&
         read_outputs(json[2].get_ref<const std::string&>(), table.outputs) &&
         (table.outputs.size() - before) * rows_before == before;
}

bool has_fields(const SortedJson& json) {
  return json.is_object() && json.contains("key") && json["key"].is_string() &&
         json.contains("first") && is_index(json["first"]) && json.contains("predictions") &&
         json["predictions"].is_array();
}

}  // namespace

KeptPredictions::KeptPredictions(const std::filesystem::path& path)
    : file_(path, kPredictionsHeader) {
  for (std::size_t i = 0; i < file_.lines().size(); ++i) {
    take(file_.lines()[i], path.string() + ":" + std::to_string(i + 2));
  }
}

void KeptPredictions::take(const std::string& line, const std::string& place) {
  const SortedJson json = formats::parse_shallow<SortedJson>(line);
  PredictionTable read;
  bool is_whole = has_fields(json);
  if (is_whole) {
    for (const SortedJson& row : json["predictions"]) is_whole = is_whole && read_row(row, read);
  }
  if (!is_whole) {
    throw_bad_input(place + ": is not a prediction that was kept; remove the line, or the file");
  }
  PredictionTable& all = tables_[json["key"].get<std::string>()];
  // Another process may have worked at the same time.
  if (json["first"].get<std::int64_t>() == std::ssize(all.predictions)) all.append(read);
}

PredictionTable KeptPredictions::find(const std::string& key, std::int64_t classes) const {
  const auto found = tables_.find(key);
  if (found == tables_.end()) return {};
  const PredictionTable& table = found->second;
  const bool fits = std::ssize(table.outputs) == std::ssize(table.predictions) * classes;
  return fits ? table : PredictionTable{};
}

void KeptPredictions::keep(const std::string& key, std::int64_t first,
                           const PredictionTable& table) {
  OrderedJson list = OrderedJson::array();
  const std::size_t classes = table.outputs.size() / table.predictions.size();
  for (std::size_t i = 0; i < table.predictions.size(); ++i) {
    const Prediction& prediction = table.predictions[i];
    std::string hash;
    add_hex(hash, prediction.bytes, kHashDigits);
    std::string outputs;
    for (std::size_t c = i * classes; c < (i + 1) * classes; ++c) {
      add_hex(outputs, std::bit_cast<std::uint32_t>(table.outputs[c]), kFloatDigits);
    }
    list.push_back(OrderedJson::array({prediction.best, hash, outputs}));
  }
  file_.append(
      OrderedJson({{"key", key}, {"first", first}, {"predictions", std::move(list)}}).dump());
}

}  // namespace qsim::cli
