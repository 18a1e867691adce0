// What the two halves of `qsim golden convert`, from 16-bit tensors and from quantized ones, share:
// their options, the quantization that these say, and files.
#pragma once

#include <cstring>

#include "cli/terminal/context.h"
#include "cli/terminal/shared_options.h"
#include "formats/traces/npy.h"
#include "golden/kernels/convert/conversion.h"

namespace qsim::cli {

struct ConvertOptions : ConfigOption {
  std::string from = "fp16";
  std::string to;             // "": E4M3, or the preset's
  std::string preset;         // "": none
  std::string group = "128";  // a number, "token", "tensor"
  std::string scales = "fp32";
  std::string scale_rounding = "floor";
  std::string scale_order = "row";
  bool zero_point = false;
  bool stochastic = false;
  bool bench = false;
  std::optional<double> clip;
  std::optional<double> clip_percentile;
  std::string input;  // "": seeded Gaussian numbers
  std::int64_t rows = 1024;
  std::int64_t cols = 4096;
  std::int64_t threads = 0;  // 0: one for each processor
  std::int64_t runs = 21;
  std::string vector = "auto";
  std::string out_scales, out_zero_points, out_back;  // files; "": none
  // For quantized input.
  std::string in_scales, in_zero_points;  // files; "": none
  std::optional<float> in_global_scale;
  bool odd_cols = false;  // the last nibble of a row is not an element
  bool product = false;   // INT4 to FP8: q times scale
  std::string backend = "auto";
  std::uint64_t seed = 0;
  std::string out;  // a file; "": none
};

// Throws Error for what the definition does not have.
golden::Quantization quantization_of(const ConvertOptions& options);
golden::VectorPath path_of(const std::string& name);

// No file where the name is empty.
template <typename T>
void write_array(const std::string& file, const formats::NpyType& type, Shape shape,
                 const std::vector<T>& elements) {
  if (file.empty()) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(elements.data());
  const std::size_t size = elements.size() * sizeof(T);
  formats::write_npy_array(file,
                           {std::string(type.descr), std::move(shape), {bytes, bytes + size}});
}

// The shape of the scales and zero_points in their files.
Shape scale_shape(const golden::QuantizedTensor& q);
// --out-scales and --out-zero-points.
void write_scales(const ConvertOptions& options, const golden::QuantizedTensor& q);

// `qsim golden convert` from a quantized tensor.
ExitCode convert_codes(Context& context, const ConvertOptions& convert, bool on_gpu);

}  // namespace qsim::cli
