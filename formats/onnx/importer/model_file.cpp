#include "formats/onnx/importer/model_file.h"

#include <string>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "formats/files/files.h"
#include "formats/files/memory.h"
#include "formats/onnx/importer/model_parts.h"

namespace qsim::formats {
namespace {

// Counts before protobuf makes what a small file may have very many of.
bool parse(const std::string& message, ModelFile& file) {
  const ModelParts parts = count_model_parts(message);
  check_model_parts(parts, file.path().string());
  if (!file.proto.ParseFromString(message)) return false;
  check_model_texts(parts, file.path().string());
  return true;
}

// Parses the file without its large tensors; false for what is left to protobuf.
bool parse_outline(ModelFile& file) {
  const std::optional<ModelOutline> outline = read_model_outline(*file.held);
  if (!outline || !parse(outline->message, file)) return false;
  const auto& tensors = file.proto.graph().initializer();
  if (tensors.size() != std::ssize(outline->initializers)) return false;
  for (int i = 0; i < tensors.size(); ++i) {
    const std::optional<FileRange>& range = outline->initializers[static_cast<std::size_t>(i)];
    if (range) file.raw_data[&tensors[i]] = *range;
  }
  return true;
}

void parse_whole(ModelFile& file) {
  const std::string path = file.path().string();
  require_memory(file.held->bytes(), path);
  std::string bytes(static_cast<std::size_t>(file.held->bytes()), '\0');
  file.held->read(0, std::as_writable_bytes(std::span(bytes)));
  refuse_lfs_pointer(file.path(), bytes);
  if (parse(bytes, file)) return;
  throw_bad_input(path + ": " + std::to_string(bytes.size()) +
                  " bytes that are not an ONNX model; the file is truncated or of another kind");
}

void check_bytes(const HeldFile& file) {
  const std::string path = file.path().string();
  if (file.bytes() == 0) throw_bad_input(path + ": empty file; expected an ONNX model");
  if (file.bytes() > kMaxModelBytes) {
    throw_bad_input(path + ": is longer than the " + std::to_string(kMaxModelBytes) +
                    " bytes that are allowed");
  }
  require_memory(file.bytes(), path);  // its tensors are about as long
}

}  // namespace

std::unique_ptr<const ModelFile> read_model_file(std::shared_ptr<const HeldFile> held,
                                                 OnExternalFile on_external) {
  check_bytes(*held);
  auto file = std::make_unique<ModelFile>();
  file->on_external = std::move(on_external);
  file->held = std::move(held);
  if (!parse_outline(*file)) parse_whole(*file);
  if (!file->proto.has_graph()) {
    throw_bad_input(file->path().string() + ": no graph in the file; expected an ONNX model");
  }
  return file;
}

}  // namespace qsim::formats
