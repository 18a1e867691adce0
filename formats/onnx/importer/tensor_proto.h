// From an ONNX TensorProto to values: raw bytes, typed fields, or a file beside the model. The
// stored element count must be what the dimensions say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/model_outline.h"
#include "formats/onnx/importer/stored_bytes.h"

namespace qsim::formats {

// "int8", "float16", ... of onnx::TensorProto::DataType.
std::string onnx_dtype_name(int data_type);

// Where bytes may lie that are not in the TensorProto.
struct TensorFiles {
  std::filesystem::path folder;  // the model's: external data is looked for beneath it
  std::shared_ptr<const HeldFile> model = {};  // the file of `raw_data`
  std::optional<FileRange> raw_data = {};      // where that was left in the file
  OnExternalFile on_external = {};             // of external data, before it is read
  std::shared_ptr<FileChecksums> checksums = std::make_shared<FileChecksums>();
};

// A tensor of int8, uint8, int32 or float32; other types are refused. `where` opens every error.
StoredTensor store_tensor(const onnx::TensorProto& proto, const TensorFiles& files,
                          const std::string& where);

// The elements of a tensor of int64, of any shape.
std::vector<std::int64_t> decode_int64_elements(const onnx::TensorProto& proto,
                                                const TensorFiles& files, const std::string& where);
// The same for at most one dimension: the shapes that Reshape reads.
std::vector<std::int64_t> decode_int64s(const onnx::TensorProto& proto, const TensorFiles& files,
                                        const std::string& where);

}  // namespace qsim::formats
