// The optimised conversions of quantized tensors, span by span: to 16 bits, and INT4 to FP8.
#include "golden/kernels/convert/conversion_spans.h"
#include "golden/kernels/convert/group_scales.h"

namespace qsim::golden {
namespace {

// The scale of each code, of scales that have codes.
std::vector<float> scale_table(const QuantizedTensor& q) {
  std::vector<float> table;
  if (q.how.scales == ScaleFormat::kFp32) return table;
  for (std::uint32_t code = 0; code < 256; ++code) {
    table.push_back(q.how.scales == ScaleFormat::kUe8m0 ? float_of(ue8m0_decode(code))
                                                        : e4m3_scale_number(code, q.global_scale));
  }
  return table;
}

// Decodes q span by span: call(job, first element of the span in row-major order).
template <typename Call>
void decode_spans(const QuantizedTensor& q, ThreadTeam& team, bool with_scale, Call call) {
  const Spans spans(group_layout(q.shape, q.how));
  const GroupLayout& layout = spans.layout;
  std::vector<float> table;
  team.run(1, [&](std::size_t) { table = scale_table(q); });  // in golden's floating-point mode
  const std::int64_t group = std::min(layout.group, kSpan);
  each_span(spans, team, [&](const Span& span) {
    float factors[kSlots] = {};
    std::int32_t zero_points[kSlots] = {};
    bool finite = true;
    for (std::int64_t first = 0; first < span.count; first += group) {
      const std::size_t index = layout.scale_index(span.row, (span.first + first) / layout.group);
      float scale = 1;
      if (with_scale) scale = table.empty() ? q.scales[index] : table[q.scale_codes[index]];
      const std::int32_t zero_point = q.how.zero_point ? q.zero_points[index] : 0;
      finite = finite && (bits_of(scale) & kFp32Magnitude) < kFp32Infinity;
      const std::int64_t end = std::min(first + group, span.count);
      for (std::int64_t slot = first / 16; slot * 16 < end; ++slot) {
        factors[slot] = scale;
        zero_points[slot] = zero_point;
      }
    }
    const std::int64_t place = is_packed(q.how.format) ? span.first / 2 : span.first;
    const std::uint8_t* values =
        q.values.data() + static_cast<std::size_t>(span.row * layout.row_bytes + place);
    call(DecodeJob{values, static_cast<std::size_t>(span.count), static_cast<std::size_t>(group),
                   finite, factors, zero_points, nullptr},
         static_cast<std::size_t>(span.row * layout.cols + span.first));
  });
}

}  // namespace

void dequantize(const QuantizedTensor& q, ElementFormat target, ThreadTeam& team, VectorPath path,
                std::vector<std::uint16_t>& out) {
  check(q);
  check_half_target(target);
  const ConversionKernels& kernels = conversion_kernels(path);
  out.resize(static_cast<std::size_t>(element_count(q.shape)));
  decode_spans(q, team, true, [&](DecodeJob job, std::size_t first) {
    job.out = out.data() + first;
    kernels.decode(q.how.format, target, job);
  });
}

void int4_to_fp8(const QuantizedTensor& q, ElementFormat target, Int4ToFp8 what, ThreadTeam& team,
                 VectorPath path, std::vector<std::uint8_t>& out) {
  check(q);
  check_int4_to_fp8(q.how, target, what);
  const ConversionKernels& kernels = conversion_kernels(path);
  out.resize(static_cast<std::size_t>(element_count(q.shape)));
  decode_spans(q, team, what == Int4ToFp8::kProduct, [&](DecodeJob job, std::size_t first) {
    job.out = out.data() + first;
    kernels.int4_to_fp8(target, job);
  });
}

}  // namespace qsim::golden
