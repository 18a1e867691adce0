// The optimised quantization: spans of a row that fit the first cache go through the kernels of one
// instruction set, on several threads. Percentiles and stochastic rounding take plain loops.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "golden/kernels/convert/conversion_spans.h"
#include "golden/kernels/convert/group_scales.h"
#include "golden/kernels/convert/philox.h"

namespace qsim::golden {
namespace {

// The percentile of a group's magnitudes, by nearest rank (percentile_rank): of groups of any size
// by counting, of a span's by selection.

// Counts of each magnitude of 16-bit codes: percentiles of groups of any size.
class Magnitudes {
 public:
  // Codes from `infinity` on, without their sign, do not count.
  void add(const std::uint16_t* x, std::int64_t count, std::uint16_t infinity);
  // 0 if nothing was counted.
  std::uint16_t percentile(std::int64_t parts_per_million) const;

 private:
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(0x8000);
  std::int64_t total_ = 0;
};

void Magnitudes::add(const std::uint16_t* x, std::int64_t count, std::uint16_t infinity) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint16_t magnitude = x[i] & 0x7FFF;
    if (magnitude >= infinity) continue;
    ++counts_[magnitude];
    ++total_;
  }
}

std::uint16_t Magnitudes::percentile(std::int64_t parts_per_million) const {
  if (total_ == 0) return 0;
  std::int64_t left = percentile_rank(total_, parts_per_million);
  std::size_t magnitude = 0;
  while ((left -= counts_[magnitude]) > 0) ++magnitude;
  return static_cast<std::uint16_t>(magnitude);
}

// The same for at most kSpan elements in one place.
std::uint16_t small_percentile(const std::uint16_t* x, std::int64_t count, std::uint16_t infinity,
                               std::int64_t parts_per_million) {
  std::uint16_t found[kSpan];
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint16_t magnitude = x[i] & 0x7FFF;
    if (magnitude < infinity) found[total++] = magnitude;
  }
  if (total == 0) return 0;
  const std::int64_t rank = percentile_rank(total, parts_per_million) - 1;
  std::nth_element(found, found + rank, found + total);
  return found[rank];
}

Extent larger(Extent a, Extent b) {
  return {std::max(a.positive, b.positive), std::max(a.negative, b.negative)};
}

// The extents and scales of a span's groups.
struct SpanScales {
  Extent extents[kMostGroups] = {};
  float scales[kMostGroups];
  float reciprocals[kMostGroups];
  std::int32_t zero_points[kMostGroups];
  std::int32_t codes[kMostGroups];

  ScaleArrays arrays() { return {scales, reciprocals, zero_points, codes}; }
};

class Quantizer {
 public:
  Quantizer(const HalfTensor& x, ThreadTeam& team, VectorPath path, QuantizedTensor& out)
      : rows_(x),
        source_(x.format),
        infinity_(infinity_code(x.format)),
        how_(out.how),
        layout_(group_layout(x.shape, out.how)),
        spans_(layout_),
        team_(team),
        kernels_(conversion_kernels(path)),
        rule_(scale_rule(x.format, out.how)),
        out_(out) {}

  void run() {
    if (spans_.splits_groups() || how_.scales == ScaleFormat::kE4m3) {
      run_twice();
      return;
    }
    if (spans_.count() == 0 && layout_.per_tensor) store_scale(rule_.of({}), 0, out_);
    each_span(spans_, team_, [this](const Span& span) {
      std::uint16_t buffer[kSpan];
      const std::uint16_t* x = rows_.read(span.row, span.first, span.count, buffer);
      SpanScales scales;
      const bool finite = find_extents(span, x, scales.extents);
      make_scales(span, scales);
      encode_span(span, x, scales, finite);
    });
  }

 private:
  // visit(group of the row, its first element in the span, its elements in the span)
  template <typename Visit>
  void each_group(const Span& span, Visit visit) const {
    for (std::int64_t first = 0; first < span.count;) {
      const std::int64_t g = (span.first + first) / layout_.group;
      const std::int64_t count =
          std::min((g + 1) * layout_.group - span.first - first, span.count - first);
      visit(g, first, count);
      first += count;
    }
  }

  std::int64_t groups_of(const Span& span) const {
    return (span.count + layout_.group - 1) / layout_.group;
  }

  // The extents of whole groups. Returns whether all elements are finite.
  bool find_extents(const Span& span, const std::uint16_t* x, Extent* extents) const {
    const bool finite = kernels_.extents(x, static_cast<std::size_t>(span.count),
                                         static_cast<std::size_t>(layout_.group), infinity_,
                                         how_.zero_point, extents);
    if (how_.clip_percentile == kWhole) return finite;
    each_group(span, [&](std::int64_t, std::int64_t first, std::int64_t count) {
      Extent& extent = extents[first / layout_.group];
      extent = clipped(extent, small_percentile(x + first, count, infinity_, how_.clip_percentile));
    });
    return finite;
  }

  static Extent clipped(Extent extent, std::uint16_t bound) {
    return {std::min(extent.positive, bound), std::min(extent.negative, bound)};
  }

  // The scales of a span's extents, which are stored.
  void make_scales(const Span& span, SpanScales& scales) {
    const auto groups = static_cast<std::size_t>(groups_of(span));
    kernels_.scales(rule_, scales.extents, groups, scales.arrays());
    const std::int64_t first = span.first / layout_.group;
    const std::size_t index = layout_.scale_index(span.row, first);
    if (layout_.order == ScaleOrder::kRowMajor && how_.scales == ScaleFormat::kFp32) {
      std::copy_n(scales.scales, groups, out_.scales.data() + index);
      for (std::size_t g = 0; how_.zero_point && g < groups; ++g) {
        out_.zero_points[index + g] = static_cast<std::int8_t>(scales.zero_points[g]);
      }
      return;
    }
    for (std::size_t g = 0; g < groups; ++g) {
      store_scale(
          {scales.scales[g], scales.zero_points[g], static_cast<std::uint8_t>(scales.codes[g])},
          layout_.scale_index(span.row, first + static_cast<std::int64_t>(g)), out_);
    }
  }

  // First all extents, then all codes.
  void run_twice() {
    std::vector<Extent> extents(
        static_cast<std::size_t>(std::max<std::int64_t>(layout_.scale_count, 1)));
    std::atomic<bool> finite = true;
    if (spans_.splits_groups()) {
      finite = find_split_extents(extents);
    } else {
      each_span(spans_, team_, [&](const Span& span) {
        std::uint16_t buffer[kSpan];
        const std::uint16_t* x = rows_.read(span.row, span.first, span.count, buffer);
        Extent found[kMostGroups];
        if (!find_extents(span, x, found)) finite = false;
        for (std::int64_t g = 0; g < groups_of(span); ++g) {
          extents[layout_.scale_index(span.row, span.first / layout_.group + g)] = found[g];
        }
      });
    }
    Extent whole;
    for (const Extent& extent : extents) whole = larger(whole, extent);
    if (how_.scales == ScaleFormat::kE4m3) rule_.set_global(whole);
    out_.global_scale = rule_.global;
    const bool kept = layout_.scale_count == 1 && layout_.per_tensor && spans_.count() == 0;
    if (kept) store_scale(rule_.of(whole), 0, out_);
    each_span(spans_, team_, [&](const Span& span) {
      std::uint16_t buffer[kSpan];
      const std::uint16_t* x = rows_.read(span.row, span.first, span.count, buffer);
      SpanScales scales;
      const std::int64_t first = span.first / layout_.group;
      for (std::int64_t g = 0; g < groups_of(span); ++g) {
        scales.extents[g] = extents[layout_.scale_index(span.row, first + g)];
      }
      make_scales(span, scales);
      encode_span(span, x, scales, finite);
    });
  }

  // Joins the extents of spans for groups that are longer than a span. Returns whether all elements
  // are finite.
  bool find_split_extents(std::vector<Extent>& extents) {
    std::atomic<bool> finite = true;
    std::vector<Extent> of_spans(static_cast<std::size_t>(spans_.count()));
    each_span(spans_, team_, [&](const Span& span) {
      std::uint16_t buffer[kSpan];
      const std::uint16_t* x = rows_.read(span.row, span.first, span.count, buffer);
      const auto count = static_cast<std::size_t>(span.count);
      Extent& extent = of_spans[static_cast<std::size_t>(span.index)];
      if (!kernels_.extents(x, count, count, infinity_, how_.zero_point, &extent)) finite = false;
    });
    for (std::size_t i = 0; i < of_spans.size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / spans_.per_row;
      Extent& extent = extents[layout_.scale_index(row, 0)];
      extent = larger(extent, of_spans[i]);
    }
    if (how_.clip_percentile != kWhole && spans_.count() > 0) clip_split_extents(extents);
    return finite;
  }

  void clip_split_extents(std::vector<Extent>& extents) {
    const std::int64_t rows_per_group = layout_.per_tensor ? layout_.rows : 1;
    team_.run(extents.size(), [&](std::size_t i) {
      Magnitudes magnitudes;
      std::uint16_t buffer[kSpan];
      for (std::int64_t r = 0; r < rows_per_group; ++r) {
        const std::int64_t row = static_cast<std::int64_t>(i) * rows_per_group + r;
        for (std::int64_t first = 0; first < layout_.cols; first += kSpan) {
          const std::int64_t count = std::min(kSpan, layout_.cols - first);
          magnitudes.add(rows_.read(row, first, count, buffer), count, infinity_);
        }
      }
      Extent& extent =
          extents[layout_.per_tensor ? 0 : layout_.scale_index(static_cast<std::int64_t>(i), 0)];
      extent = clipped(extent, magnitudes.percentile(how_.clip_percentile));
    });
  }

  // How the elements of a span are divided by its scales.
  Division division_of(const Span& span, const SpanScales& scales, bool finite) const {
    const bool is_clipped =
        how_.clip_percentile != kWhole || how_.clip_value < float_of(kFp32Infinity);
    if (!finite || is_clipped) return Division::kQuotient;
    if (how_.scales == ScaleFormat::kUe8m0) return Division::kPower;
    const std::int64_t groups = groups_of(span);
    const bool is_lifted = source_ == ElementFormat::kBfloat16 &&
                           *std::min_element(scales.scales, scales.scales + groups) < kLeastDivisor;
    return is_lifted ? Division::kQuotient : Division::kReciprocal;
  }

  void encode_span(const Span& span, const std::uint16_t* x, const SpanScales& scales,
                   bool finite) {
    float factors[kSlots];
    float reciprocals[kSlots];
    std::int32_t zero_points[kSlots];
    const auto slots_of = [](std::int64_t count) {
      return (count + static_cast<std::int64_t>(kSlot) - 1) / static_cast<std::int64_t>(kSlot);
    };
    const std::int64_t used = slots_of(span.count);
    const std::int64_t of_group = std::min(slots_of(layout_.group), used);
    for (std::int64_t slot = 0, g = 0; slot < used; slot += of_group, ++g) {
      const std::int64_t end = std::min(slot + of_group, used);
      for (std::int64_t i = slot; i < end; ++i) {
        factors[i] = scales.scales[g];
        reciprocals[i] = scales.reciprocals[g];
        zero_points[i] = scales.zero_points[g];
      }
    }
    std::fill_n(factors + used, kSpareSlots, 1.0F);
    std::fill_n(reciprocals + used, kSpareSlots, 1.0F);
    std::fill_n(zero_points + used, kSpareSlots, 0);
    const std::int64_t place = is_packed(how_.format) ? span.first / 2 : span.first;
    std::uint8_t* out =
        out_.values.data() + static_cast<std::size_t>(span.row * layout_.row_bytes + place);
    const EncodeJob job{x,
                        static_cast<std::size_t>(span.count),
                        division_of(span, scales, finite),
                        factors,
                        reciprocals,
                        zero_points,
                        integer_range(how_.format, how_.zero_point),
                        out};
    if (how_.stochastic) {
      encode_stochastic(job, static_cast<std::uint64_t>(span.row * layout_.cols + span.first));
    } else {
      kernels_.encode(source_, how_.format, job);
    }
  }

  void encode_stochastic(const EncodeJob& job, std::uint64_t index) const {
    visit_target(how_.format, [&](auto constant) {
      constexpr ElementFormat kTarget = decltype(constant)::value;
      for (std::size_t i = 0; i < job.count; ++i) {
        const std::uint32_t code = quantized<kTarget>(
            half_number(source_, job.x[i]), job.scales[i / kSlot], job.zero_points[i / kSlot],
            job.range, Stochastic{random_word(how_.seed, index + i)});
        const bool high = kTarget >= ElementFormat::kInt4 && i % 2 == 1;
        std::uint8_t& byte = job.out[kTarget >= ElementFormat::kInt4 ? i / 2 : i];
        byte = static_cast<std::uint8_t>(high ? byte | code << 4 : code);
      }
    });
  }

  Rows rows_;
  ElementFormat source_;
  std::uint16_t infinity_;
  const Quantization& how_;
  GroupLayout layout_;
  Spans spans_;
  ThreadTeam& team_;
  const ConversionKernels& kernels_;
  ScaleRule rule_;
  QuantizedTensor& out_;
};

}  // namespace

void quantize(const HalfTensor& x, const Quantization& how, ThreadTeam& team, VectorPath path,
              QuantizedTensor& out) {
  check(x);
  check(how);
  size_parts(x.shape, how, out);
  Quantizer(x, team, path, out).run();
}

}  // namespace qsim::golden
