// What an engine says of one picture: its best classes, and a fingerprint of its output's bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qsim::cli {

inline constexpr std::size_t kBestClasses = 5;

struct Prediction {
  std::array<std::int32_t, kBestClasses> best{};  // best first; -1 where there are fewer classes
  std::uint64_t bytes = 0;  // of an integer engine: FNV-1a of the output's bytes; else 0

  std::int32_t top1() const { return best[0]; }
  bool has_in_best(int label) const;
  bool operator==(const Prediction&) const = default;
};

// What an engine fills for pictures one after the other.
struct PredictionRows {
  std::span<Prediction> predictions;
  std::span<float> outputs;  // [predictions][classes]: the real numbers that the classes have

  std::size_t size() const { return predictions.size(); }
  PredictionRows part(std::size_t first, std::size_t count) const;
};

// Rows with memory of their own.
struct PredictionTable {
  PredictionTable() = default;
  PredictionTable(std::int64_t pictures, std::int64_t classes);

  std::vector<Prediction> predictions;
  std::vector<float> outputs;

  PredictionRows rows() { return {predictions, outputs}; }
  void append(const PredictionTable& other);
  // Keeps the first `pictures` rows, where there are more.
  void cut(std::size_t pictures);
};

// The lower class is the better one of equal scores; what is not a number is the worst.
Prediction prediction_of(std::span<const float> scores);
// The same for 8-bit levels, uint8 or int8 as `is_unsigned` says.
Prediction prediction_of(std::span<const std::byte> levels, bool is_unsigned);

}  // namespace qsim::cli
