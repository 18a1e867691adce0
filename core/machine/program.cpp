#include "core/machine/program.h"

#include <algorithm>

#include "core/base/printable.h"

namespace qsim {
namespace {

std::string range_text(const char* axis, std::int32_t begin, std::int32_t end) {
  return std::string(", ") + axis + " " + std::to_string(begin) + ".." + std::to_string(end);
}

}  // namespace

std::size_t Program::command_count() const {
  std::size_t count = 0;
  for (const CommandStream& stream : streams.all()) count += stream.size();
  return count;
}

std::int64_t Program::dram_bytes() const {
  std::int64_t end = writable_bytes;
  for (const DramSegment& segment : segments) {
    end = std::max(end, segment.address + static_cast<std::int64_t>(segment.bytes.size()));
  }
  return end;
}

std::string semaphore_name(const Program& program, std::size_t semaphore) {
  const std::string& name = program.semaphores[semaphore].name;
  return name.empty() ? "semaphore " + std::to_string(semaphore) : name;
}

std::string origin_text(const Program& program, const Origin& origin) {
  const auto layer = static_cast<std::size_t>(origin.layer);
  const std::string name = layer < program.layers.size() ? echoed(program.layers[layer].name)
                                                         : "layer " + std::to_string(origin.layer);
  return name + " tile " + std::to_string(origin.tile) + range_text("n", origin.n0, origin.n1) +
         range_text("y", origin.y0, origin.y1) + range_text("x", origin.x0, origin.x1) +
         range_text("c", origin.c0, origin.c1);
}

}  // namespace qsim
