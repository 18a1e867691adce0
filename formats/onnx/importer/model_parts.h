// How many messages, texts and numbers an ONNX file is made of, counted before protobuf makes them:
// an empty node is two bytes in the file and hundreds in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qsim::formats {

struct ModelParts {
  std::int64_t nodes = 0;         // of the graph
  std::int64_t initializers = 0;  // of the graph
  std::int64_t parts = 0;         // messages and texts of all levels
  std::int64_t memory_bytes = 0;  // at most, while protobuf makes them
  std::string not_utf8 = {};      // the first text that is not: "NodeProto.name '...'"
};

// Counts the parts of a ModelProto's bytes. Counts no less than protobuf makes of them where the
// bytes are not a ModelProto.
ModelParts count_model_parts(std::string_view message);

// Throws Error (exit code 4) when they are more than core/base/limits.h allows, or (3) than the
// memory holds. `source` opens it.
void check_model_parts(const ModelParts& parts, const std::string& source);

// Throws Error when a name is not UTF-8, as ONNX says that it is. `source` opens it.
void check_model_texts(const ModelParts& parts, const std::string& source);

}  // namespace qsim::formats
