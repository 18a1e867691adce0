// The layers of core/graph.h as plain loops, to be read beside the definition. No folding of zero
// points, no packing, no vector instructions: an independent witness of all of these. Shapes,
// layout and dtypes are those of the values.
#pragma once

#include <span>

#include "core/graph.h"

namespace qsim::golden {

Tensor reference_conv2d(const Conv2d& conv, const Value& input_value, const Value& output_value,
                        const Tensor& input);
Tensor reference_fully_connected(const FullyConnected& fc, const Value& input_value,
                                 const Value& output_value, const Tensor& input);
Tensor reference_max_pool(const MaxPool& pool, const Value& input_value, const Value& output_value,
                          const Tensor& input);
Tensor reference_relu(const Value& output_value, const Tensor& input);
Tensor reference_flatten(const Flatten& flatten, const Value& input_value,
                         const Value& output_value, const Tensor& input);

Tensor reference_average_pool(const AveragePool& pool, const Value& input_value,
                              const Value& output_value, const Tensor& input);
Tensor reference_add(const Add& add, const Value& a_value, const Value& b_value,
                     const Value& output_value, const Tensor& a, const Tensor& b);
// The operands one after the other.
Tensor reference_concat(const Value& output_value, std::span<const Tensor* const> inputs);
Tensor reference_lookup_table(const LookupTable& table, const Value& output_value,
                              const Tensor& input);
Tensor reference_prelu(const PRelu& prelu, const Value& input_value, const Value& output_value,
                       const Tensor& input);

}  // namespace qsim::golden
