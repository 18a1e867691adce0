#include "formats/settings/graph_words.h"

#include <charconv>

namespace qsim::formats {

std::string scale_text(Scale scale) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), scale.real());
  QSIM_CHECK(error == std::errc{}, "a float32 is at most 15 characters");
  return {text.data(), end};
}

std::string requantizer_scale_text(const Requantizer& requantizer) {
  if (!is_tflite(requantizer.rounding)) return scale_text(*Scale::of(real_scale(requantizer)));
  std::array<char, 32> text;
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), exact_scale(requantizer));
  QSIM_CHECK(error == std::errc{}, "a double is at most 24 characters");
  return {text.data(), end};
}

}  // namespace qsim::formats
