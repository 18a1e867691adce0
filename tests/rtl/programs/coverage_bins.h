// The bins of the functional coverage cross: what an EXECUTE and the POST that takes its psums can
// be, coarse enough to be filled and fine enough to be worth it.
//
//   kernel    longer side 1 | 2-3 | 4-7 | 8-15
//   stride    larger of the two 1 | 2 | 3-7
//   padding   none, some, or all of the positions under the window lie outside the resident tile
//   pool      none: a 1x1 window | disjoint: windows that share no psum | overlapping |
//             padded: some position of some window lies outside the tile
//   rounding  floor | half_even, or float32 | half_up
//   shift     0 | 1-7 | 8-30 | 31: each that occurs among the channels of the parameter slot; of a
//             multiplier's shift what is beyond 23, and the first and the last bin take all others
//   stall     none | load | execute | post | store: which of the commands on the psums' way started
//             later than its unit was free (coverage.h says which commands those are)
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/machine/isa/commands.h"

namespace qsim {

inline constexpr std::size_t kKernelBins = 4;
inline constexpr std::size_t kStrideBins = 3;
inline constexpr std::size_t kPadBins = 3;
inline constexpr std::size_t kPoolBins = 4;
inline constexpr std::size_t kRoundingBins = 3;
inline constexpr std::size_t kShiftBins = 4;
inline constexpr std::size_t kStallBins = 5;

inline constexpr std::array<std::string_view, kKernelBins> kKernelBinNames = {"1", "2-3", "4-7",
                                                                              "8-15"};
inline constexpr std::array<std::string_view, kStrideBins> kStrideBinNames = {"1", "2", "3-7"};
inline constexpr std::array<std::string_view, kPadBins> kPadBinNames = {"none", "some", "all"};
inline constexpr std::array<std::string_view, kPoolBins> kPoolBinNames = {"none", "disjoint",
                                                                          "overlapping", "padded"};
inline constexpr std::array<std::string_view, kRoundingBins> kRoundingBinNames = {
    "floor", "half_even", "half_up"};
inline constexpr std::array<std::string_view, kShiftBins> kShiftBinNames = {"0", "1-7", "8-30",
                                                                            "31"};
inline constexpr std::array<std::string_view, kStallBins> kStallBinNames = {
    "none", "load", "execute", "post", "store"};

enum class PadBin : std::uint8_t { kNone, kSome, kAll };
enum class PoolBin : std::uint8_t { kNone, kDisjoint, kOverlapping, kPadded };

struct ExecuteBins {
  std::size_t kernel = 0;
  std::size_t stride = 0;
  PadBin pad = PadBin::kNone;
  bool operator==(const ExecuteBins&) const = default;
};

ExecuteBins bins_of(const Execute& execute);
PoolBin pool_bin_of(const Post& post);
std::size_t rounding_bin_of(const Post& post);
std::size_t shift_bin_of(int shift);

}  // namespace qsim
