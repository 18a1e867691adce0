// An ONNX file parsed as protobuf, nothing more: no name is resolved and no shape is checked here.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include <onnx/onnx_pb.h>

#include "formats/files/file_beneath.h"
#include "formats/files/held_file.h"
#include "formats/onnx/importer/model_outline.h"

namespace qsim::formats {

// Told of a file of external data before it is read; may throw Error.
using OnExternalFile = std::function<void(const std::filesystem::path&)>;

// SHA-1 of the external files whose checksum was asked for: each is read for it once, however many
// tensors name it, and by whatever name.
using FileChecksums = std::map<FileBeneath::Identity, std::string>;

struct ModelFile {
  ModelFile() = default;
  // `raw_data` points into `proto`; a copy would point into the first one's.
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  const std::filesystem::path& path() const { return held->path(); }

  std::shared_ptr<const HeldFile> held;  // all bytes are read through it
  onnx::ModelProto proto;
  // The initializers whose raw_data was left in the file, and where; their `proto` has none.
  std::map<const onnx::TensorProto*, FileRange> raw_data;
  OnExternalFile on_external;
  std::shared_ptr<FileChecksums> checksums = std::make_shared<FileChecksums>();
};

// Throws Error (exit code 3) when the file is unreadable, longer than kMaxModelBytes, a git-LFS
// pointer, not a whole protobuf message with a graph, or more than the memory holds; exit code 4
// when it has more nodes, initializers or other parts than core/base/limits.h allows.
std::unique_ptr<const ModelFile> read_model_file(std::shared_ptr<const HeldFile> held,
                                                 OnExternalFile on_external = {});

}  // namespace qsim::formats
