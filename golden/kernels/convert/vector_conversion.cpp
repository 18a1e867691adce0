// The conversions without vector instructions, and the choice of kernels.
#include "golden/kernels/convert/vector_conversion.h"

#include <algorithm>

namespace qsim::golden {
namespace {

template <ElementFormat source>
float half_number(std::uint16_t code) {
  return source == ElementFormat::kHalf ? float_from_half(code) : float_from_bfloat16(code);
}

bool extents(const std::uint16_t* x, std::size_t count, std::size_t group, std::uint16_t infinity,
             bool both, Extent* out) {
  bool finite = true;
  for (std::size_t begin = 0; begin < count; begin += group) {
    Extent found;
    for (std::size_t i = begin; i < std::min(begin + group, count); ++i) {
      const auto magnitude = static_cast<std::uint16_t>(x[i] & 0x7FFF);
      finite = finite && magnitude < infinity;
      if (magnitude >= infinity) continue;
      std::uint16_t& side = both && x[i] != magnitude ? found.negative : found.positive;
      side = std::max(side, magnitude);
    }
    *out++ = found;
  }
  return finite;
}

void scales(const ScaleRule& rule, const Extent* extents, std::size_t count,
            const ScaleArrays& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const GroupScale scale = rule.of(extents[i]);
    out.scales[i] = scale.scale;
    out.reciprocals[i] = 1 / scale.scale;
    out.zero_points[i] = scale.zero_point;
    out.codes[i] = scale.code;
  }
}

template <ElementFormat source, ElementFormat target>
void encode_all(const EncodeJob& job) {
  for (std::size_t i = 0; i < job.count; ++i) {
    const std::size_t slot = i / kSlot;
    const auto code =
        static_cast<std::uint8_t>(quantized<target>(half_number<source>(job.x[i]), job.scales[slot],
                                                    job.zero_points[slot], job.range, HalfEven()));
    if (target < ElementFormat::kInt4) {
      job.out[i] = code;
    } else if (i % 2 == 0) {
      job.out[i / 2] = code;
    } else {
      job.out[i / 2] = static_cast<std::uint8_t>(job.out[i / 2] | code << 4);
    }
  }
}

void encode_job(ElementFormat source, ElementFormat target, const EncodeJob& job) {
  visit_half(source, [&](auto from) {
    visit_target(target,
                 [&](auto to) { encode_all<decltype(from)::value, decltype(to)::value>(job); });
  });
}

template <ElementFormat source>
float scaled_number(const DecodeJob& job, std::size_t i) {
  const bool packed = source >= ElementFormat::kInt4;
  const int code = packed ? job.q[i / 2] >> (i % 2 * 4) & 15 : job.q[i];
  return product(number_of<source>(static_cast<std::uint32_t>(code), job.zero_points[i / kSlot]),
                 job.factors[i / kSlot]);
}

void decode_job(ElementFormat source, ElementFormat target, const DecodeJob& job) {
  auto* out = static_cast<std::uint16_t*>(job.out);
  visit_target(source, [&](auto from) {
    for (std::size_t i = 0; i < job.count; ++i) {
      const float number = scaled_number<decltype(from)::value>(job, i);
      out[i] =
          target == ElementFormat::kHalf ? half_from_float(number) : bfloat16_from_float(number);
    }
  });
}

void int4_job(ElementFormat target, const DecodeJob& job) {
  auto* out = static_cast<std::uint8_t*>(job.out);
  for (std::size_t i = 0; i < job.count; ++i) {
    const std::uint32_t bits = bits_of(scaled_number<ElementFormat::kInt4>(job, i));
    out[i] = static_cast<std::uint8_t>(target == ElementFormat::kE4m3 ? encode<kFp8E4m3>(bits)
                                                                      : encode<kFp8E5m2>(bits));
  }
}

}  // namespace

const ConversionKernels kPortableConversions = {extents, scales, encode_job, decode_job, int4_job};

const ConversionKernels& conversion_kernels(VectorPath path) {
  require_available(path);
  switch (resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return kAvx512Conversions;
    case VectorPath::kAvxVnni:
    case VectorPath::kAvx2:
      return kAvx2Conversions;
#endif
    default:
      return kPortableConversions;
  }
}

}  // namespace qsim::golden
