// What the two halves of `qsim golden convert`, from 16-bit tensors and from quantized ones, share:
// the quantization that the options say, and files.
#pragma once

#include <cstring>

#include "cli/commands/commands.h"
#include "files/npy.h"
#include "golden/convert/conversion.h"

namespace qsim {

// Throws Error for what the definition does not have.
golden::Quantization quantization_of(const Options& all);
golden::VectorPath path_of(const std::string& name);

// No file where the name is empty.
template <typename T>
void write_array(const std::string& file, const NpyType& type, Shape shape,
                 const std::vector<T>& elements) {
  if (file.empty()) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(elements.data());
  const std::size_t size = elements.size() * sizeof(T);
  write_npy_array(file, {std::string(type.descr), std::move(shape), {bytes, bytes + size}});
}

// Of the files of the scales and the zero_points.
Shape scale_shape(const golden::QuantizedTensor& q);
// --out-scales and --out-zero-points.
void write_scales(const ConvertOptions& options, const golden::QuantizedTensor& q);

// `qsim golden convert` from a quantized tensor.
ExitCode convert_codes(Context& context, bool on_gpu);

}  // namespace qsim
