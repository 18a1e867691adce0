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

// Where those of a tensor of the model are.
TensorFiles files_of(const ModelFile& file, const onnx::TensorProto& proto);

// A tensor of int8, uint8, int32 or float32; other types are refused. `where` opens every error.
StoredTensor store_tensor(const onnx::TensorProto& proto, const TensorFiles& files,
                          const std::string& where);

// What a tensor of that onnx::TensorProto::DataType is to a host: its own type, or one that holds
// all its numbers: float32 for float16 and bfloat16, int8 for int4, int64 for uint32. Nothing for
// text, complex numbers and 8-bit floats.
std::optional<DType> host_dtype(int data_type);
// Whether that is another type than the file's.
bool is_wider_on_host(int data_type);
// All elements of a tensor of such a type.
Tensor decode_host_tensor(const onnx::TensorProto& proto, const TensorFiles& files,
                          const std::string& where);

// The elements of a tensor of int64, of any shape.
std::vector<std::int64_t> decode_int64_elements(const onnx::TensorProto& proto,
                                                const TensorFiles& files, const std::string& where);
// The same for at most one dimension: the shapes that Reshape reads.
std::vector<std::int64_t> decode_int64s(const onnx::TensorProto& proto, const TensorFiles& files,
                                        const std::string& where);

}  // namespace qsim::formats
