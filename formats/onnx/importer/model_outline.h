// An ONNX file without its large tensors: the protobuf message with the raw_data of initializers
// left out, and where in the file they are. So a model is never in memory as file, as protobuf and
// as Graph at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/files/held_file.h"

namespace qsim::formats {

// [offset, offset + bytes) of the model's file.
struct FileRange {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

struct ModelOutline {
  std::string message;                                 // a ModelProto
  std::vector<std::optional<FileRange>> initializers;  // one per graph.initializer of `message`
};

// raw_data shorter than this stays in the message.
inline constexpr std::int64_t kLargeRawData = 64 << 10;

// Reads no more of the file than the outline. Nothing when the file is not made of plain fields as
// every exporter writes them: it is protobuf's to take or to refuse then. Throws Error when it
// cannot be read or is more than the memory holds.
std::optional<ModelOutline> read_model_outline(const HeldFile& file);

}  // namespace qsim::formats
