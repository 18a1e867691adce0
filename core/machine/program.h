// What the compiler makes and every engine runs: four command streams, a DRAM image, and the map
// from each command back to the layer, tile and coordinates it works on. Plain data; verified by
// compiler/verifier, printed and parsed by core/machine/program_text.h.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/machine/arch_config.h"
#include "core/machine/command_streams.h"
#include "core/machine/dram_layout.h"

namespace qsim {

struct Semaphore {
  std::string name;          // "act_ready": reports name a stall after it; "" when unused
  std::uint8_t initial = 0;  // 0..15, also its value once a program has run
  bool operator==(const Semaphore&) const = default;
};

// Constant bytes of the DRAM image: weights or parameters of one layer.
struct DramSegment {
  std::string name;
  std::int64_t address = 0;
  std::vector<std::byte> bytes;
  bool operator==(const DramSegment&) const = default;
};

// One or more graph layers that run as one: a convolution with its ReLU and pooling, say.
struct ProgramLayer {
  std::string name;              // the first graph layer's
  std::string operation;         // "conv2d+relu+max_pool"
  std::string mapping;           // the tile sizes chosen, for people
  std::int32_t graph_layer = 0;  // its ofmap is this graph layer's output
  std::int64_t macs = 0;         // useful multiply-accumulates: of psums that the ofmap needs
  DramTensor ofmap;
  bool operator==(const ProgramLayer&) const = default;
};

struct Program {
  std::string name;
  ArchConfig arch;  // an engine refuses a program of another fingerprint
  std::array<Semaphore, kSemaphores> semaphores;
  std::int64_t writable_bytes = 0;  // DRAM [0, writable_bytes): input and ofmaps, zero at start
  HostInput input;
  std::vector<DramSegment> segments;  // ascending, beyond writable_bytes, not overlapping
  std::vector<ProgramLayer> layers;
  CommandStreams streams;  // indexed by Unit

  CommandStream stream(Unit unit) const& { return streams[static_cast<std::size_t>(unit)]; }
  CommandStream stream(Unit unit) const&& = delete;  // would look at what is gone
  std::size_t command_count() const;
  std::int64_t dram_bytes() const;  // end of the last region
  bool operator==(const Program&) const = default;
};

// "act_ready", or "semaphore 3" where the program gives no name.
std::string semaphore_name(const Program& program, std::size_t semaphore);

// "conv2 tile 3, n 0..1, y 0..8, x 0..16, c 32..48"
std::string origin_text(const Program& program, const Origin& origin);

}  // namespace qsim
