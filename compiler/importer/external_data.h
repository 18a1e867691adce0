// Tensor data that ONNX keeps in files of its own, beside the model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <onnx/onnx_pb.h>

#include "compiler/importer/model_file.h"
#include "compiler/importer/stored_bytes.h"

namespace qsim {

struct ExternalFiles {
  std::filesystem::path folder;  // the model's
  FileChecksums& checksums;
  const OnExternalFile& on_file;
};

// The `expected` bytes that proto.external_data points to. The location must be a relative path
// without '..' that ends, links followed, beneath the folder: a model cannot make qsim read other
// files. Where the model gives the file's checksum, the file must have it. `where` opens every
// error. `files.on_file`, unless empty, is told of the file before it is read.
ReadBytes open_external_data(const onnx::TensorProto& proto, std::int64_t expected,
                             const ExternalFiles& files, const std::string& where);

}  // namespace qsim
