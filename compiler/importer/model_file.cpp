#include "compiler/importer/model_file.h"

#include <vector>

#include "core/error.h"
#include "core/io/files.h"

namespace qsim {

ModelFile read_model_file(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_binary_file(path, kMaxModelBytes);
  if (bytes.empty()) throw_bad_input(path.string() + ": empty file; expected an ONNX model");
  ModelFile file;
  file.path = path;
  if (!file.proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw_bad_input(path.string() + ": " + std::to_string(bytes.size()) +
                    " bytes that are not an ONNX model; the file is truncated or of another kind");
  }
  if (!file.proto.has_graph()) {
    throw_bad_input(path.string() + ": no graph in the file; expected an ONNX model");
  }
  return file;
}

}  // namespace qsim
