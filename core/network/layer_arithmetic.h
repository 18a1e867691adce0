// The arithmetic of operations whose numbers follow from the scales of the tensors around them.
#pragma once

#include <optional>

#include "core/network/graph.h"
#include "core/numerics/adder.h"
#include "core/numerics/tflite_adder.h"

namespace qsim {

// The requantizer of a layer with weights: the scale x_scale * w_scale / y_scale, each operation in
// float32; `product` is x_scale * w_scale exactly. Nothing where that is not positive and finite,
// and for TensorFlow Lite's roundings, which divide in double.
std::optional<Requantizer> product_requantizer(double product, float y_scale,
                                               RequantizerRounding rounding);

// The int32 of a real bias: bias / float32(product), rounded half to even. Nothing beyond int32.
std::optional<std::int32_t> bias_level(float bias, double product);

// The requantizer of an average over `count` positions: the scale x_scale / (y_scale * count), both
// operations in float32. Nothing where that is zero or not finite, or a Value has no scale.
std::optional<Requantizer> average_requantizer(const AveragePool& pool, const Value& input,
                                               const Value& output, std::int64_t count);

// The positions over which window (oy, ox) of `pool` averages: those inside the picture, or with
// count_include_pad those inside picture and pads (a last window may hang over both).
std::int64_t average_count(const AveragePool& pool, const ImageShape& input, std::int64_t oy,
                           std::int64_t ox);
// Of these the rows, which depend on oy alone, and the columns; the count is their product.
std::int64_t average_rows(const AveragePool& pool, const ImageShape& input, std::int64_t oy);
std::int64_t average_cols(const AveragePool& pool, const ImageShape& input, std::int64_t ox);

// Nothing where a ratio of scales is out of range (core/numerics/adder.h), or a Value has no scale.
std::optional<Adder> adder_of(const Add& add, const Value& a, const Value& b, const Value& output);

// The same with a rounding of TensorFlow Lite's; all three Values have a scale.
TfliteAdder tflite_adder_of(const Add& add, const Value& a, const Value& b, const Value& output);

}  // namespace qsim
