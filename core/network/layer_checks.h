// What layers of a Graph and of a Graph have in common when they are checked: windows, shapes
// and the sizes of constants. Each throws Error (exit code 3) whose message begins with `place`.
#pragma once

#include <string>
#include <string_view>

#include "core/network/graph.h"

namespace qsim {

// "PLACE: MESSAGE"
[[noreturn]] void fail_at(const std::string& place, const std::string& message);
// The place is what errors call the layer.
[[noreturn]] void fail_at(const Layer& layer, const std::string& message);

// A constant of that dtype and shape; its bytes, where it has any, fill the shape.
void check_constant(const std::string& place, const Tensor& tensor, std::string_view what,
                    DType dtype, const Shape& shape);
// Each size is 1 or more, and their product at most kMaxTensorElems.
void check_tensor_shape(const std::string& place, const ImageShape& shape);
void check_output_shape(const std::string& place, const ImageShape& output,
                        const ImageShape& expected);
void check_operand_shape(const std::string& place, const ImageShape& operand,
                         const ImageShape& expected);
void check_window(const std::string& place, const Window& window);
void check_groups(const std::string& place, std::int64_t groups, std::int64_t in_channels,
                  std::int64_t out_channels);
// The output of a convolution of so many channels.
void check_convolution_shape(const std::string& place, const Window& window,
                             const ImageShape& input, const ImageShape& output);
// The output of a pool over `input`; the last windows may hang over the end or not.
void check_pool(const std::string& place, const Window& window, const ImageShape& input,
                const ImageShape& output);
// Average pools take no dilation.
void check_no_dilation(const std::string& place, const Window& window);
// What a fully connected layer reads.
void check_is_vector(const std::string& place, const ImageShape& input);
// The output of a Flatten.
void check_flat_shape(const std::string& place, const ImageShape& input, const ImageShape& output);

}  // namespace qsim
