// The files of `qsim export-vectors`: NumPy arrays, and hexadecimal text for $readmemh.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/session/vectors/vectors.h"
#include "cli/terminal/context.h"
#include "core/machine/isa/command_codec.h"

namespace qsim::cli {

// A row of the manifest.
struct VectorFile {
  std::string name;
  std::string format;  // "npy", "readmemh", "systemverilog", ...
  std::string dtype;   // "uint64"; of hexadecimal text "bits256"
  Shape shape;
  std::string holds;
};

class VectorFolder {
 public:
  VectorFolder(Context& context, std::filesystem::path folder)
      : context_(context), folder_(std::move(folder)) {}

  // A file that is not an array; a `.npy` with the elements' bytes, row-major; lines for $readmemh.
  void add_text(const VectorFile& file, std::string_view content);
  void add_npy(const VectorFile& file, std::span<const std::byte> elements);

  const std::vector<VectorFile>& files() const { return files_; }

 private:
  Context& context_;
  std::filesystem::path folder_;
  std::vector<VectorFile> files_;
};

// One command a line, 256 bits.
std::string commands_hex(std::span<const EncodedCommand> commands);
// One command a line, 192 bits: start, free, done, 64 each from the left.
std::string times_hex(std::span<const CommandTime> times);
// One bus word a line, the byte at the lowest address rightmost. Words that are zero are left out;
// `@` and the word's number come before the next that is not.
std::string image_hex(std::span<const std::byte> image, std::int64_t bus_bytes);

// Every command, time and byte of the vectors as files of the folder.
void add_commands(VectorFolder& folder, const Program& program);
void add_times(VectorFolder& folder, const Vectors& vectors);
void add_semaphores(VectorFolder& folder, const Program& program);
void add_images(VectorFolder& folder, const Program& program, const Vectors& vectors);
// The name of the file that holds layer `index`'s ofmap.
std::string ofmap_file(std::size_t index);
void add_ofmaps(VectorFolder& folder, const Program& program, const Vectors& vectors);
// What a test bench needs as numbers: parameters, sizes, latency, semaphores.
void add_header(VectorFolder& folder, const Program& program, const Vectors& vectors);

}  // namespace qsim::cli
