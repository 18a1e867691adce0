#include "compiler/importer/model_file.h"

#include <vector>

#include "core/error.h"
#include "core/io/files.h"
#include "core/io/memory.h"
#include "core/limits.h"

namespace qsim {
namespace {

// Without the large tensors; false for what is left to protobuf.
bool parse_outline(ModelFile& file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file.path, error);  // an error for a pipe
  if (error || bytes == 0 || bytes > static_cast<std::uintmax_t>(kMaxModelBytes)) return false;
  const std::optional<ModelOutline> outline = read_model_outline(file.path);
  if (!outline || !file.proto.ParseFromString(outline->message)) return false;
  const auto& tensors = file.proto.graph().initializer();
  if (tensors.size() != std::ssize(outline->initializers)) return false;
  for (int i = 0; i < tensors.size(); ++i) {
    const std::optional<FileRange>& range = outline->initializers[static_cast<std::size_t>(i)];
    if (range) file.raw_data[&tensors[i]] = *range;
  }
  return true;
}

void parse_whole(ModelFile& file) {
  const std::vector<std::byte> bytes = read_binary_file(file.path, kMaxModelBytes);
  if (bytes.empty()) throw_bad_input(file.path.string() + ": empty file; expected an ONNX model");
  require_memory(2 * std::ssize(bytes), file.path.string());  // protobuf's copy, and the tensors
  if (file.proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  throw_bad_input(file.path.string() + ": " + std::to_string(bytes.size()) +
                  " bytes that are not an ONNX model; the file is truncated or of another kind");
}

// The tensors are about as long as the file.
void require_memory_for_file(const std::filesystem::path& path) {
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  if (unknown || bytes > static_cast<std::uintmax_t>(kMaxModelBytes)) return;
  require_memory(static_cast<std::int64_t>(bytes), path.string());
}

}  // namespace

ModelFile read_model_file(const std::filesystem::path& path) {
  require_memory_for_file(path);
  ModelFile file;
  file.path = path;
  if (!parse_outline(file)) parse_whole(file);
  if (!file.proto.has_graph()) {
    throw_bad_input(path.string() + ": no graph in the file; expected an ONNX model");
  }
  return file;
}

}  // namespace qsim
