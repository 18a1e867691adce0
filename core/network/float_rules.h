// What ONNX Runtime computes for functions of one quantized number, in float32: each operation
// rounds once, half to even, and no two are contracted to one. docs/reference/onnx.md has
// the rules, tools/ort/table_rules.py has them in Python. The importer makes tables by them, the
// quantizer the same ones, and the exporter checks them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/network/graph.h"

namespace qsim {

// Real numbers by the byte of a tensor's element, taken as unsigned.
using ByteFunction = std::array<float, 256>;
using ByteTable = std::array<std::uint8_t, 256>;
using RealFunction = std::function<float(float)>;

// The level that `byte` is in a tensor of `dtype`: -128..127 or 0..255.
std::int32_t level_of_byte(std::size_t byte, DType dtype);

// saturate(rint(real / scale) + zero_point); rint rounds half to even. What is not a number gives
// the zero_point. An absent scale is 1, here and below.
std::int32_t quantized(float real, const Value& output);

// float32(level - zero_point) * scale of every byte.
ByteFunction dequantized_bytes(const Value& input);
ByteFunction mapped(const ByteFunction& values, const RealFunction& function);
ByteTable quantized_bytes(const ByteFunction& values, const Value& output);

float relu(float x);
// x where it is at least 0, else alpha * x.
float leaky_relu(float x, float alpha);
// max(0, min(1, alpha * x + beta)), two roundings.
float hard_sigmoid(float x, float alpha, float beta);
// x * hard_sigmoid(x, 1/6, 1/2), as ONNX defines HardSwish.
float hard_swish(float x);
// A rational function in x * x by Horner's rule, with fused multiply-adds, of x clamped to
// +-kSigmoidBound. Numerator and denominator of the logistic function less 1/2: Eigen's rational
// approximation, powers from the highest (ONNX Runtime, core/mlas/lib/logistic.cpp).
inline constexpr std::array kSigmoidOdd = {4.37031012579801e-11F, 1.15627324459942e-07F,
                                           6.08574864600143e-05F, 8.51377133304701e-03F,
                                           2.48287947061529e-01F};
inline constexpr std::array kSigmoidEven = {6.10247389755681e-13F, 5.76102136993427e-09F,
                                            6.29106785017040e-06F, 1.70198817374094e-03F,
                                            1.16817656904453e-01F, 9.93151921023180e-01F};
inline constexpr float kSigmoidBound = 18.0F;
float sigmoid(float x);
float clip(float x, float lo, float hi);

// What the activation makes of x.
float activated(const Activation& activation, float x);
// The LookupTable of an activation from one Value to another.
ByteTable table_of(const Activation& activation, const Value& input, const Value& output);
// Those of a PRelu: one for each of its slopes, or one where these are equal.
std::vector<ByteTable> tables_of(const PRelu& prelu, const Value& input, const Value& output);
// The one that only changes the quantization: "requantize".
ByteTable requantizing_table(const Value& input, const Value& output);

}  // namespace qsim
