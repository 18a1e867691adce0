#include "cli/session/quantize/scales_file.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/files/files.h"
#include "formats/text/shallow_json.h"

namespace qsim::cli {
namespace {

using ScalesJson = nlohmann::json;

constexpr const char* kScalesSchema = "qsim.scales/1";

// A value of the file, and where it is.
class Field {
 public:
  Field(const ScalesJson& value, std::string place) : value_(value), place_(std::move(place)) {}

  [[noreturn]] void demand(const std::string& expected) const {
    std::string found = value_.dump(-1, ' ', true, ScalesJson::error_handler_t::replace);
    if (found.size() > 40) found.replace(40, std::string::npos, "...");
    throw_bad_input(place_ + ": found " + found + " in a file of scales; expected " + expected);
  }

  Field at(const std::string& key) const {
    require_object();
    const auto found = value_.find(key);
    if (found == value_.end()) throw_bad_input(place_ + ": has no '" + key + "'; expected one");
    return {*found, place_ + "." + echoed(key)};
  }
  bool has(const std::string& key) const {
    require_object();
    return value_.contains(key);
  }
  void require_keys(const std::vector<std::string>& allowed) const {
    require_object();
    for (const auto& [key, value] : value_.items()) {
      if (std::ranges::find(allowed, key) != allowed.end()) continue;
      std::string list;
      for (const std::string& each : allowed) list += (list.empty() ? "" : ", ") + each;
      throw_bad_input(place_ + ": found the field '" + echoed(key) + "'; allowed: " + list);
    }
  }
  template <typename Each>
  void for_each(Each each) const {
    require_object();
    for (const auto& [key, value] : value_.items()) {
      each(key, Field(value, place_ + "." + echoed(key)));
    }
  }
  std::vector<Field> items() const {
    if (!value_.is_array() || value_.empty()) demand("a list of numbers");
    std::vector<Field> items;
    for (std::size_t i = 0; i < value_.size(); ++i) {
      items.emplace_back(value_[i], place_ + "[" + std::to_string(i) + "]");
    }
    return items;
  }
  float scale() const {
    const double number = value_.is_number() ? value_.get<double>() : 0.0;
    if (!(std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max()))) {
      demand("a positive float32 number");
    }
    const auto scale = static_cast<float>(number);
    if (!std::isnormal(scale) || scale < 0) demand("a positive float32 number");
    return scale;
  }
  std::int32_t integer(std::int32_t least, std::int32_t most) const {
    // Above the most of int64 it would become a negative number.
    const bool is_huge = value_.is_number_unsigned() && value_.get<std::uint64_t>() > INT64_MAX;
    const std::int64_t number =
        value_.is_number_integer() && !is_huge ? value_.get<std::int64_t>() : most + 1LL;
    if (number < least || number > most) {
      demand("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return static_cast<std::int32_t>(number);
  }
  std::string text() const { return value_.is_string() ? value_.get<std::string>() : ""; }

 private:
  void require_object() const {
    if (!value_.is_object()) demand("an object");
  }

  const ScalesJson& value_;
  std::string place_;
};

quantize::Quantization quantization_of(const Field& field) {
  field.require_keys({"scale", "zero_point", "lo", "hi"});
  quantize::Quantization result;
  result.scale = field.at("scale").scale();
  result.lo = field.at("lo").integer(-128, 254);
  result.hi = field.at("hi").integer(result.lo + 1, result.lo < 0 ? 127 : 255);
  result.zero_point = field.at("zero_point").integer(result.lo, result.hi);
  return result;
}

quantize::GivenWeights weights_of(const Field& field) {
  field.require_keys({"scales", "bits"});
  quantize::GivenWeights result;
  for (const Field& scale : field.at("scales").items()) result.scales.push_back(scale.scale());
  result.bits = field.at("bits").integer(2, 8);
  return result;
}

ScalesJson parsed(const std::filesystem::path& path) {
  const std::string text = formats::read_text_file(path);
  if (formats::is_nested_too_deep(text)) {
    throw_bad_input(path.string() + ": has lists in lists beyond " +
                    std::to_string(formats::kMaxJsonDepth) +
                    " levels; expected a file of scales, " + kScalesSchema);
  }
  try {
    return ScalesJson::parse(text);
  } catch (const ScalesJson::parse_error& error) {
    throw_bad_input(path.string() + ": no JSON at byte " + std::to_string(error.byte) +
                    "; expected a file of scales, " + kScalesSchema);
  } catch (const ScalesJson::out_of_range&) {
    throw_bad_input(path.string() +
                    ": has a number beyond float64; expected scales that are float32 numbers");
  }
}

}  // namespace

quantize::GivenScales read_scales_file(const std::filesystem::path& path) {
  const ScalesJson document = parsed(path);
  const Field file(document, path.string());
  file.require_keys({"schema", "input", "tensors", "weights"});
  if (file.at("schema").text() != kScalesSchema) {
    file.at("schema").demand("\"" + std::string(kScalesSchema) + "\"");
  }
  quantize::GivenScales result;
  if (file.has("input")) result.input = quantization_of(file.at("input"));
  file.at("tensors").for_each([&](const std::string& name, const Field& field) {
    result.tensors[name] = quantization_of(field);
  });
  if (!file.has("weights")) return result;
  file.at("weights").for_each([&](const std::string& name, const Field& field) {
    result.weights[name] = weights_of(field);
  });
  return result;
}

bool has_unsigned_levels(const quantize::GivenScales& scales, const std::string& file) {
  std::optional<bool> is_unsigned;
  const auto add = [&](const quantize::Quantization& quantization) {
    const bool own = quantization.lo >= 0;
    if (is_unsigned.value_or(own) != own) {
      throw_bad_input(
          file +
          ": some tensors have negative levels and others have not; expected one type for all");
    }
    is_unsigned = own;
  };
  if (scales.input) add(*scales.input);
  for (const auto& [name, quantization] : scales.tensors) add(quantization);
  return is_unsigned.value_or(true);
}

}  // namespace qsim::cli
