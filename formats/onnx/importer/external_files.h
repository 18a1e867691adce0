// The files that hold an ONNX model's external data, by the model's word alone: none is opened.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "formats/files/held_file.h"

namespace qsim::formats {

// Each once, in the model's folder as the importer looks for them; also of tensors that the
// importer leaves out. Throws Error for a file that read_model_file() refuses.
std::vector<std::filesystem::path> external_files(std::shared_ptr<const HeldFile> held);

}  // namespace qsim::formats
