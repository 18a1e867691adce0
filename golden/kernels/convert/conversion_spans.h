// A tensor as spans of a row that fit the first cache, which a team's threads work on.
#pragma once

#include <algorithm>

#include "golden/kernels/convert/conversion.h"
#include "golden/kernels/convert/vector_conversion.h"

namespace qsim::golden {

inline constexpr std::int64_t kSpan = 4096;        // elements of a row at a time
inline constexpr std::int64_t kPartElems = 65536;  // elements of a thread's piece of work
inline constexpr std::size_t kSlots = kSpan / kSlot + kSpareSlots;
inline constexpr std::size_t kMostGroups = kSpan / kLeastGroup + kSpareScales;  // of a span

// A tensor as spans: whole groups of a row, or parts of a longer one.
struct Spans {
  GroupLayout layout;
  std::int64_t length;
  std::int64_t per_row;
  std::int64_t per_part;

  explicit Spans(const GroupLayout& of) : layout(of) {
    length = layout.group <= kMostGroup ? kSpan / layout.group * layout.group : kSpan;
    per_row = (layout.cols + length - 1) / length;
    per_part = std::max<std::int64_t>(
        1, kPartElems / std::max<std::int64_t>(std::min(length, layout.cols), 1));
  }
  std::int64_t count() const { return layout.rows * per_row; }
  // A group that no span has whole.
  bool splits_groups() const { return layout.per_tensor ? count() > 1 : layout.group > length; }
};

struct Span {
  std::int64_t index, row, first, count;
};

// Calls work(span) for all spans, on the team's threads.
template <typename Work>
void each_span(const Spans& spans, ThreadTeam& team, Work work) {
  const auto parts =
      static_cast<std::size_t>((spans.count() + spans.per_part - 1) / spans.per_part);
  team.run(parts, [&](std::size_t part) {
    const std::int64_t begin = static_cast<std::int64_t>(part) * spans.per_part;
    const std::int64_t end = std::min(begin + spans.per_part, spans.count());
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % spans.per_row * spans.length;
      work(Span{i, i / spans.per_row, first, std::min(spans.length, spans.layout.cols - first)});
    }
  });
}

}  // namespace qsim::golden
