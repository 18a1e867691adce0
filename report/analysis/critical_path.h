// The critical path through the commands of a layer: what would have to be faster for the layer to
// end earlier. It leads back from the done of the layer's last STORE. Before the start of a command
// it goes on with the command that the start waited for: the unit's previous command (from its
// free, at a change of the dataflow from its done), or the one that raised the token that came last
// (report/analysis/start_causes.h). So a wait for a token is never a reason by itself: the path
// leads through it to what was at work meanwhile.
#pragma once

#include <string_view>
#include <vector>

#include "report/analysis/start_causes.h"

namespace qsim::report {

// What a cycle of the path is spent on.
enum class PathPart : std::uint8_t {
  kArray,         // an EXECUTE streams pixels
  kFoldBubbles,   // an EXECUTE occupies the array, and no pixel streams
  kWeights,       // beats of a LOAD of weights
  kActivations,   // beats of a LOAD of activations
  kParameters,    // beats of a LOAD of parameters
  kWriteBus,      // beats of a STORE
  kPost,          // a POST reads psums
  kDramLatency,   // a burst is in flight, and the path waits for it
  kArrayLatency,  // fill and drain of an EXECUTE, after its unit is free
  kPostLatency,   // pipeline of a POST
};

inline constexpr std::size_t kPathParts = 10;
// The names in JSON and CSV, by PathPart.
inline constexpr std::array<std::string_view, kPathParts> kPathPartNames = {
    "array",     "fold_bubbles", "weights",      "activations",   "parameters",
    "write_bus", "post",         "dram_latency", "array_latency", "post_latency"};

using PathCycles = std::array<std::uint64_t, kPathParts>;  // by PathPart

struct LayerPath {
  PathCycles cycles{};  // add up to the layer's window
  PathCycles waits{};   // of these, the cycles in which no EXECUTE occupies the array
};

// Where several causes explain a command's start, the path takes the unit's previous command before
// a token, and the token of the lowest semaphore.
// `windows` are the ends of the layers' windows, ascending: the done of each layer's last STORE. A
// layer's path is cut where its window begins. Throws InternalError when the parts do not add up.
std::vector<LayerPath> critical_paths(const Program& program, const CommandTimes& times,
                                      const StartCauses& causes,
                                      const std::vector<std::uint64_t>& windows);

// What limits a layer: the unit with the largest share of its critical path.
enum class Limiter : std::uint8_t { kArray, kReadBus, kWriteBus, kPost, kDependence };

inline constexpr std::size_t kLimiters = 5;

struct LimitedBy {
  Limiter limiter = Limiter::kArray;
  // The limiter's name, or a more exact one where one kind of its work is more than half of its
  // cycles: "array" or "bubbles", "read_bus" or "weights", "write_bus", "post", "dependence".
  std::string_view name;
  std::uint64_t path_cycles = 0;  // of the limiter
};

// The first limiter wins among equal shares; an empty path is limited by the array.
LimitedBy limited_by(const PathCycles& path);

}  // namespace qsim::report
