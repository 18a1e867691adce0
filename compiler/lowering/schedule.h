// Turns the loop nest of a layer into commands: gives every piece of data a slot, orders the units
// with tokens, and orders the LOADs so that the array finds its data ready. A layer starts at a
// boundary: its first command is a LOAD that waits until the layer before it has stored its ofmap,
// so it finds every unit idle and every part of every memory free.
#pragma once

#include <array>
#include <vector>

#include "compiler/lowering/layer_commands.h"

namespace qsim::compiler {

// The compiler's use of the semaphores; docs/reference/isa.md lists which unit raises and lowers
// each.
enum class Token : std::uint8_t {
  kActReady,     // LOAD -> EXECUTE: an activation slot is filled
  kActFree,      // EXECUTE -> LOAD: it has been read for the last time
  kWeightReady,  // LOAD -> EXECUTE
  kWeightFree,   // EXECUTE -> LOAD
  kParamReady,   // LOAD -> POST
  kParamFree,    // POST -> LOAD
  kAccReady,     // EXECUTE -> POST: an accumulator half holds complete psums
  kAccFree,      // POST -> EXECUTE
  kOutReady,     // POST -> STORE: an output half is filled
  kOutFree,      // STORE -> POST
  kOfmapDone,    // STORE -> LOAD: a layer's ofmap is in DRAM
};

// Names of the semaphores that the tokens use. All of them begin and end at 0: within a layer the
// first use of each part of a memory waits for no token, and the last one signals none.
std::array<Semaphore, kSemaphores> token_semaphores();

// Semaphores that a command waits for and signals.
struct Tokens {
  std::uint16_t wait = 0;
  std::uint16_t signal = 0;
};

// What a command works for: a psum tile by its number in the layer (of several, the first), and
// column blocks.
struct CommandPlace {
  std::int64_t tile = 0;
  std::int64_t first_block = 0;
  std::int64_t blocks = 1;
  const PostPart* part = nullptr;  // where a tile has several POSTs: the part of it
};

// Takes a layer's commands, in an order in which every token is signalled before it is taken; those
// of a unit are in its program order.
class CommandSink {
 public:
  virtual ~CommandSink() = default;
  virtual void add(const Load& load, const Tokens& tokens, const CommandPlace& place) = 0;
  virtual void add(const Execute& execute, const Tokens& tokens, const CommandPlace& place) = 0;
  virtual void add(const Post& post, const Tokens& tokens, const CommandPlace& place) = 0;
  virtual void add(const Store& store, const Tokens& tokens, const CommandPlace& place) = 0;
  // Whether it needs no more commands.
  virtual bool is_full() const { return false; }
};

// Where a layer is in its network.
struct Boundary {
  bool waits = false;      // a layer before it announces its ofmap
  bool announces = false;  // a layer after it waits for this one's
};

class Schedule {
 public:
  // `planned.mapping` is not read; `mapping` must be valid. All must outlive the object.
  Schedule(const PlannedLayer& planned, const Mapping& mapping, const ArchConfig& arch,
           const Boundary& boundary, CommandSink& sink);

  // Hands all commands of the layer to the sink, or the first of them when it is full before; then
  // false.
  bool run();

 private:
  // A use of an accumulator half whose psums are complete: its POSTs and STOREs come next.
  struct EndedTurn {
    std::int64_t number = 0;
    std::int64_t first_tile = 0;  // of the layer
    std::int64_t end_tile = 0;
    std::int64_t first_block = 0;
    std::int64_t blocks = 0;
    bool next_has_other_params = true;  // or the next turn is of the same single block
  };

  // What a POST does with what others wait for.
  struct PostUse {
    bool waits_for_params = false;  // it is the first to use them
    bool frees_params = false;      // and the last
    bool is_first_of_turn = false;
    bool is_last_of_turn = false;
  };

  void enter_set(const Pass& pass);
  void add_step(const Step& step);
  void end_turn(const Step& step);
  void add_execute(const Step& step);
  void add_loads_for(std::int64_t step);
  void add_first_loads();
  void add_released_loads(const Step& step);
  void add_act_load();
  void add_weight_load();
  void add_ended_turns();
  void add_turn(const EndedTurn& turn);
  void add_param_load(std::int64_t block, const CommandPlace& place);
  bool needs_params(std::int64_t block) const;
  bool has_params(std::int64_t block) const;
  void add_parts(const EndedTurn& turn, const Tile& tile, CommandPlace place);
  void add_post(const EndedTurn& turn, const Tile& tile, const PostPart& part,
                const CommandPlace& place, const PostUse& use);
  void add_store(Tile tile, const PostPart& part, const CommandPlace& place,
                 std::uint32_t out_addr);

  const PlannedLayer& planned_;
  Boundary boundary_;
  CommandSink& sink_;
  LoopNest nest_;
  CommandCounts counts_;
  MemoryParts parts_;
  LayerCommands commands_;
  ActLoads acts_;  // the next LOAD of each kind
  WeightLoads weights_;
  std::vector<Tile> tiles_;        // of the present set
  std::vector<Execute> executes_;  // of its psum tiles, under the present activation chunk
  std::int64_t set_ = -1;
  std::int64_t set_first_tile_ = 0;
  std::vector<EndedTurn> ended_;    // whose POSTs have not come yet
  std::int64_t params_ = 0;         // LOADs of parameters so far
  std::int64_t params_block_ = -1;  // of the last of them
  std::int64_t posts_ = 0;          // so far
  std::int64_t posts_block_ = -1;   // of the last of them
};

}  // namespace qsim::compiler
