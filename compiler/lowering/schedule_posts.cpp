// The end of a schedule's turns: LOADs of parameters, POSTs and STOREs.
#include <algorithm>

#include "compiler/lowering/command_field.h"
#include "compiler/lowering/schedule.h"
#include "compiler/lowering/schedule_tokens.h"

namespace qsim::compiler {

// The parameters, POSTs and STOREs of the turns that have ended come after the LOADs of the next
// step: late enough that parameters do not hold up weights, early enough that POST has them.
void Schedule::add_ended_turns() {
  for (const EndedTurn& turn : ended_) add_turn(turn);
  ended_.clear();
}

void Schedule::add_turn(const EndedTurn& turn) {
  for (std::int64_t block = turn.first_block; block < turn.first_block + turn.blocks; ++block) {
    for (std::int64_t index = turn.first_tile; index < turn.end_tile; ++index) {
      const Tile& tile = tiles_[static_cast<std::size_t>(index - set_first_tile_)];
      const CommandPlace place = {index, block, 1};
      if (planned_.geometry.param_blocks() > 1) {
        add_parts(turn, tile, place);
        continue;
      }
      if (needs_params(block)) add_param_load(block, place);
      const bool is_last = index + 1 == turn.end_tile;
      add_post(turn, tile, {tile.out_y, tile.out_x}, place,
               {!has_params(block), is_last && turn.next_has_other_params,
                index == turn.first_tile && block == turn.first_block,
                is_last && block + 1 == turn.first_block + turn.blocks});
      posts_block_ = std::max(block, nest_.params_stay() ? posts_block_ : block);
    }
  }
}

// Of a tile whose windows count several numbers: the parameters of each number come before the
// POSTs that divide by it.
void Schedule::add_parts(const EndedTurn& turn, const Tile& tile, CommandPlace place) {
  const std::int64_t block = place.first_block;
  const std::vector<PostPart> parts = post_parts(planned_.geometry, tile.out_y, tile.out_x);
  for (const PostPart& part : parts) {
    place.part = &part;
    if (part.is_first_of_number) add_param_load(block, place);
    const bool is_first = place.tile == turn.first_tile && block == turn.first_block;
    const bool is_last =
        place.tile + 1 == turn.end_tile && block + 1 == turn.first_block + turn.blocks;
    add_post(turn, tile, part, place,
             {part.is_first_of_number, part.is_last_of_number, is_first && &part == &parts.front(),
              is_last && &part == &parts.back()});
  }
}

// Whether the parameters of `block` are not in the parameter memory. One block's stay while turn
// after turn uses them; where each block has a slot of its own, they stay for the layer.
bool Schedule::needs_params(std::int64_t block) const {
  if (planned_.geometry.param_blocks() > 1) return false;  // each tile loads its own
  return nest_.params_stay() ? block >= params_ : block != params_block_;
}

void Schedule::add_param_load(std::int64_t block, const CommandPlace& place) {
  Load load =
      commands_.transfers().param_load(block, place.part == nullptr ? 0 : place.part->number);
  load.local_addr = static_cast<std::uint32_t>(params_ % kParamSlots);
  const unsigned waits = wait(Token::kParamFree, params_, kParamSlots);
  if (planned_.geometry.tables > 0) {  // it shares the parameters' tokens
    sink_.add(load, tokens(waits, 0), place);
    Load table = commands_.transfers().table_load();
    table.local_addr = load.local_addr;
    sink_.add(table, tokens(0, mask(Token::kParamReady)), place);
  } else {
    sink_.add(load, tokens(waits, mask(Token::kParamReady)), place);
  }
  params_block_ = block;
  ++params_;
}

void Schedule::add_post(const EndedTurn& turn, const Tile& tile, const PostPart& part,
                        const CommandPlace& place, const PostUse& use) {
  const std::int64_t block = place.first_block;
  const std::int64_t params = nest_.params_stay() ? block : params_ - 1;
  const std::int64_t psums = tile.psums();
  Post post = commands_.post(tile, part);
  post.acc_half = static_cast<std::uint32_t>(turn.number % kAccumulatorHalves);
  post.acc_addr = command_field(post.acc_addr + (place.tile - turn.first_tile) * parts_.psum_words +
                                (block - turn.first_block) * psums);
  if (planned_.geometry.traits().tiles_of_post > 1) {  // operand a, then b
    post.second_half = post.acc_half;
    post.second_addr = post.acc_addr;
    post.acc_addr = command_field(post.acc_addr + psums);
  }
  post.out_addr = command_field(posts_ % kOutputHalves * parts_.output_words);
  post.param_slot = static_cast<std::uint32_t>(params % kParamSlots);
  unsigned waits = wait(Token::kOutFree, posts_, kOutputHalves);
  unsigned signals = mask(Token::kOutReady);
  if (use.is_first_of_turn) waits |= mask(Token::kAccReady);
  if (use.is_last_of_turn) {
    signals |= signal(Token::kAccFree, turn.number, counts_.turns, kAccumulatorHalves);
  }
  if (use.waits_for_params) waits |= mask(Token::kParamReady);
  if (use.frees_params) {
    signals |= signal(Token::kParamFree, params, counts_.param_loads, kParamSlots);
  }
  sink_.add(post, tokens(waits, signals), place);
  add_store(tile, part, place, post.out_addr);
  ++posts_;
}

// Whether an earlier POST has waited for these parameters.
bool Schedule::has_params(std::int64_t block) const {
  return nest_.params_stay() ? block <= posts_block_ : block == posts_block_;
}

void Schedule::add_store(Tile tile, const PostPart& part, const CommandPlace& place,
                         std::uint32_t out_addr) {
  tile.out_y = part.out_y;
  tile.out_x = part.out_x;
  Store store = commands_.transfers().store(tile, place.first_block);
  store.out_addr = out_addr;
  unsigned signals = signal(Token::kOutFree, posts_, counts_.posts, kOutputHalves);
  if (boundary_.announces && posts_ + 1 == counts_.posts) signals |= mask(Token::kOfmapDone);
  sink_.add(store, tokens(mask(Token::kOutReady), signals), place);
}

}  // namespace qsim::compiler
