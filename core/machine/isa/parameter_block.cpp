#include "core/machine/isa/parameter_block.h"

#include "core/base/error.h"
#include "core/machine/isa/little_endian.h"

namespace qsim {
namespace {

constexpr std::size_t kBiasBytes = 4;
constexpr std::size_t kDyadicBytes = 8;
constexpr int kMultiplierAt = 32;  // bits of a dyadic channel
constexpr int kShiftAt = 56;

std::int32_t bias_of(std::uint64_t bits) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
}

}  // namespace

void write_channel(std::span<std::byte> block, const ArchConfig& arch, std::int64_t column,
                   const ChannelParameters& parameters) {
  const auto c = static_cast<std::size_t>(column);
  const Requantizer& r = parameters.requantizer;
  const std::uint64_t bias = static_cast<std::uint32_t>(parameters.bias);
  if (arch.is_dyadic()) {
    const std::uint64_t scale = std::uint64_t{r.multiplier} << kMultiplierAt |
                                static_cast<std::uint64_t>(r.shift) << kShiftAt;
    return write_bytes(bias | scale, block.subspan(kDyadicBytes * c, kDyadicBytes));
  }
  const std::optional<int> shift = as_shift(r);
  QSIM_CHECK(shift.has_value(), "a scale that is no power of two on a machine that shifts");
  write_bytes(bias, block.subspan(kBiasBytes * c, kBiasBytes));
  block[kBiasBytes * static_cast<std::size_t>(arch.array_cols) + c] =
      static_cast<std::byte>(*shift);
}

ChannelParameters read_channel(std::span<const std::byte> block, const ArchConfig& arch,
                               std::int64_t column, RequantizerRounding rounding) {
  const auto c = static_cast<std::size_t>(column);
  if (arch.is_dyadic()) {
    const std::uint64_t bits = read_bytes(block.subspan(kDyadicBytes * c, kDyadicBytes));
    return {bias_of(bits),
            {static_cast<std::uint32_t>(bits >> kMultiplierAt) & kMostMultiplier,
             static_cast<int>(bits >> kShiftAt) & kMostRequantizerShift, rounding}};
  }
  const std::byte shift = block[kBiasBytes * static_cast<std::size_t>(arch.array_cols) + c];
  return {bias_of(read_bytes(block.subspan(kBiasBytes * c, kBiasBytes))),
          requantizer_of_shift(std::to_integer<int>(shift) & kMaxShift, rounding)};
}

std::string rounding_fault(std::uint32_t rounding, const ArchConfig& arch) {
  const int roundings = post_roundings(arch);
  if (rounding < static_cast<std::uint32_t>(roundings)) return "";
  const bool is_float32 = rounding == static_cast<std::uint32_t>(RequantizerRounding::kFloat32);
  return "rounding is " + std::to_string(rounding) +
         (is_float32 ? " (float32), which needs requantizer: dyadic" : "") + "; allowed: 0 to " +
         std::to_string(roundings - 1);
}

std::string add_fault(const Post& post, const ArchConfig& arch) {
  return post.add == 0 || arch.is_dyadic() ? "" : "add is 1, which needs requantizer: dyadic";
}

std::string lookup_fault(const Post& post, const ArchConfig& arch) {
  return post.lookup == 0 || arch.is_dyadic() ? "" : "lookup is 1, which needs requantizer: dyadic";
}

}  // namespace qsim
