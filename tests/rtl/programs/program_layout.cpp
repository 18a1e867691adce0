#include "tests/rtl/programs/program_layout.h"

#include <algorithm>
#include <set>

#include "core/base/random.h"
#include "tests/rtl/programs/field_numbers.h"
#include "tests/rtl/programs/turn_transfers.h"
#include "tests/rtl/programs/word_spans.h"

namespace qsim {
namespace {

using compiler::verifier::Memory;

class Placement {
 public:
  explicit Placement(const ProgramPlan& plan) : plan_(plan), arch_(plan.arch) {}

  ProgramLayout place() {
    for (layer_ = 0; layer_ < plan_.layers.size(); ++layer_) {
      begins_layer_.fill(true);
      layout_.ofmap_words.push_back(0);
      tile_ = 0;
      place_turns(plan_.layers[layer_].turns);
      close_out_turn();
    }
    return std::move(layout_);
  }

 private:
  // A turn of the accumulator whose EXECUTEs and POSTs are being placed.
  struct OpenTurn {
    std::size_t turn = 0;
    std::size_t executes = 0;
    std::size_t first_post = 0;
    std::vector<std::size_t> owners;  // of each psum: the last EXECUTE that wrote it
    std::set<std::size_t> left;       // EXECUTEs of whose psums nobody has used one yet
  };
  MemoryTurn& acc(const OpenTurn& open_turn) {
    return layout_.of(Memory::kAccumulator)[open_turn.turn];
  }

  MemoryTurn& last(Memory m) { return layout_.of(m).back(); }

  // Whether a turn of `m` is open in this layer.
  bool is_open(Memory m) const { return !begins_layer_[number(m)]; }

  void open(Memory m) {
    MemoryTurn turn;
    turn.layer = layer_;
    choose_part(plan_, number(m), layout_.of(m), turn);
    layout_.of(m).push_back(turn);
    begins_layer_[number(m)] = false;
  }

  void join_readers(Memory m, PlacedCommand& placed, std::size_t index, bool is_first) {
    MemoryTurn& turn = last(m);
    if (is_first) turn.first_reader = index;
    turn.last_reader = index;
    placed.turn[number(m)] = layout_.of(m).size() - 1;
  }

  void place_turns(const std::vector<TurnPlan>& turns) {
    const bool two_at_once = plan_.flights[number(Memory::kAccumulator)].turns > 1;
    for (std::size_t t = 0; t < turns.size(); ++t) {
      begin_turn(first_);
      const bool is_pair = two_at_once && t + 1 < turns.size() && turns[t + 1].interleaves;
      if (is_pair) begin_turn(second_);
      place_executes(turns[t].executes, is_pair ? &turns[t + 1].executes : nullptr);
      place_posts(turns[t], first_);
      if (!is_pair) continue;
      place_posts(turns[++t], second_);
      add_across_halves();
    }
  }

  void begin_turn(OpenTurn& open_turn) {
    open(Memory::kAccumulator);
    open_turn = {};
    open_turn.turn = layout_.of(Memory::kAccumulator).size() - 1;
  }

  // Those of two turns by turns; the second turn's last comes last, so that turns end in order.
  void place_executes(const std::vector<ExecutePlan>& first,
                      const std::vector<ExecutePlan>* second) {
    std::size_t next = 0;
    for (const ExecutePlan& plan : first) {
      place_execute(plan, first_);
      if (second != nullptr && next + 1 < second->size()) {
        place_execute((*second)[next++], second_);
      }
    }
    while (second != nullptr && next < second->size()) place_execute((*second)[next++], second_);
  }

  void place_posts(const TurnPlan& turn, OpenTurn& open_turn) {
    current_ = &open_turn;
    open_turn.first_post = layout_.posts.size();
    for (const PostPlan& plan : turn.posts) place_post(plan);
    post_what_is_left(turn);
    ++tile_;
  }

  void place_execute(const ExecutePlan& plan, OpenTurn& open_turn) {
    current_ = &open_turn;
    Random random(plan.seed);
    PlacedCommand placed;
    placed.layer = layer_;
    placed.tile = tile_;
    Execute e = plan.shape;
    if (!place_psums(e, random)) return;
    const std::size_t index = layout_.executes.size();
    placed.turn[number(Memory::kAccumulator)] = open_turn.turn;
    bool is_first = place_activations(e, plan.new_act_turn, random);
    join_readers(Memory::kActivation, placed, index, is_first);
    is_first = place_weights(e, plan.new_weight_turn, random);
    join_readers(Memory::kWeight, placed, index, is_first);
    if (open_turn.executes++ == 0) acc(open_turn).first_writer = index;
    acc(open_turn).last_writer = index;
    placed.command.fields = e;
    layout_.executes.push_back(placed);
  }

  // Addresses are kept as two's complement until set_addresses() adds the turn's first word.
  bool place_psums(Execute& e, Random& random) {
    MemoryTurn& turn = acc(*current_);
    const std::int64_t pixels = std::int64_t{e.blocks} * e.out_rows * e.out_cols;
    const std::size_t index = layout_.executes.size();
    if (pixels > turn.words) e.accumulate = 0;
    if (e.accumulate == 0 && turn.words + pixels > arch_.accumulator_half_words()) return false;
    std::int64_t at = turn.words;
    if (e.accumulate != 0) {
      // At the low end there is room for others after this one.
      const std::int64_t most = plan_.back_to_back ? arch_.array_rows / 2 : turn.words - pixels;
      at = random.uniform(0, std::min(most, turn.words - pixels));
      // Right after an EXECUTE that ends there, in this half or the other.
      const std::int64_t apart = random.uniform(0, 2);
      const std::int64_t near =
          last_psum_ - first_psum(e, arch_) + (drains_backwards(e) ? apart : -apart);
      const bool wanted = random.chance(plan_.back_to_back ? 0.9 : 0.5);
      if (near >= 0 && near + pixels <= turn.words && wanted) at = near;
    } else {
      turn.words += pixels;
      current_->owners.resize(static_cast<std::size_t>(turn.words), index);
    }
    for (std::int64_t w = at; w < at + pixels; ++w) {
      std::size_t& owner = current_->owners[static_cast<std::size_t>(w)];
      current_->left.erase(owner);
      owner = index;
    }
    current_->left.insert(index);
    last_psum_ = at + last_psum(e, arch_);
    e.acc_addr = u32(at);
    turn.reach_words = std::max(turn.reach_words, turn.words);
    return true;
  }

  // Where a reader of `words` words, of which the turn has some already, is put; -1: not here.
  std::int64_t draw_place(const MemoryTurn& turn, std::int64_t words, std::int64_t lead,
                          std::int64_t limit, Random& random) const {
    const bool within = words <= turn.words && random.chance(0.5);
    const std::int64_t at = random.uniform(0, within ? turn.words - words : turn.words);
    const std::int64_t leads = std::max(turn.lead_words, lead - at);
    return leads + std::max(turn.words, at + words) <= limit ? at : -1;
  }

  static void use(MemoryTurn& turn, std::int64_t begin, std::int64_t end) {
    turn.words = std::max(turn.words, end);
    turn.used.resize(static_cast<std::size_t>(turn.words), false);
    std::fill(turn.used.begin() + begin, turn.used.begin() + end, true);
  }

  bool place_activations(Execute& e, bool wants_new, Random& random) {
    const std::vector<WordSpan> spans = words_of(e, arch_);
    const WordSpan all = span_of(spans);
    const std::int64_t words = std::max<std::int64_t>(all.size(), 1);
    std::int64_t at = -1;
    bool is_first = false;
    if (!wants_new && is_open(Memory::kActivation)) {
      at = draw_place(last(Memory::kActivation), words, all.begin, arch_.act_slot_words() / 2,
                      random);
    }
    if (at < 0) {
      open(Memory::kActivation);
      is_first = true;
      at = 0;
    }
    MemoryTurn& turn = last(Memory::kActivation);
    if (spans.empty()) use(turn, at, at + 1);
    for (const WordSpan& span : spans) {
      use(turn, at + span.begin - all.begin, at + span.end - all.begin);
    }
    turn.lead_words = std::max(turn.lead_words, all.begin - at);
    e.act_addr = u32(at - all.begin);
    return is_first;
  }

  bool place_weights(Execute& e, bool wants_new, Random& random) {
    const std::int64_t folds = std::int64_t{e.planes} * e.kernel_h * e.kernel_w;
    const std::int64_t words = folds * e.blocks * arch_.fold_words();
    std::int64_t at = -1;
    bool is_first = false;
    if (!wants_new && is_open(Memory::kWeight)) {
      at = draw_place(last(Memory::kWeight), words, 0, arch_.weight_slot_words(), random);
    }
    if (at < 0) {
      open(Memory::kWeight);
      is_first = true;
      at = 0;
    }
    use(last(Memory::kWeight), at, at + words);
    e.weight_addr = u32(at);
    return is_first;
  }

  void place_post(const PostPlan& plan) {
    Random random(plan.seed);
    const MemoryTurn& psums = acc(*current_);
    const std::vector<WordSpan> spans = words_of(plan.shape, arch_);
    const WordSpan all = span_of(spans);
    if (all.size() > psums.words) return;
    const std::int64_t at = random.uniform(0, psums.words - all.size()) - all.begin;
    const std::int64_t area = std::int64_t{plan.shape.in_rows} * plan.shape.in_cols;
    // Operand a of an addition; else the same place.
    const bool adds = plan.shape.add != 0;
    const std::int64_t second = adds ? random.uniform(0, psums.words - all.size()) - all.begin : at;
    const std::int64_t lead = std::max(psums.lead_words, -std::min(at, second));
    const std::int64_t reach = std::max(psums.reach_words, std::max(at, second) + area);
    if (lead + reach > arch_.accumulator_half_words()) return;
    for (const std::int64_t first : {at, second}) {
      for (const WordSpan& span : spans) {
        for (std::int64_t w = first + span.begin; w < first + span.end; ++w) {
          current_->left.erase(current_->owners[static_cast<std::size_t>(w)]);
        }
      }
    }
    append_post(plan, at, second, lead, reach);
  }

  // The first POST of the second of two turns, if it adds nothing, may take an operand a from the
  // first turn, which it frees. It must not be the one that frees its own turn: a command signals a
  // semaphore once.
  void add_across_halves() {
    MemoryTurn& turn = acc(first_);
    const MemoryTurn& own = acc(second_);
    if (!arch_.is_dyadic() || own.last_reader == own.first_reader) return;
    PlacedCommand& placed = layout_.posts[own.first_reader];
    Post& post = std::get<Post>(placed.command.fields);
    Random random(plan_.seed + 53 * own.first_reader);
    Post at_zero = post;
    at_zero.acc_addr = 0;
    const WordSpan all = span_of(words_of(at_zero, arch_));
    if (post.add != 0 || all.size() > turn.words || random.chance(0.3)) return;
    const std::int64_t at = random.uniform(0, turn.words - all.size()) - all.begin;
    const std::int64_t lead = std::max(turn.lead_words, -at);
    const std::int64_t area = std::int64_t{post.in_rows} * post.in_cols;
    const std::int64_t reach = std::max(turn.reach_words, at + area);
    if (lead + reach > arch_.accumulator_half_words()) return;
    turn.lead_words = lead;
    turn.reach_words = reach;
    turn.last_reader = own.first_reader;
    placed.second_turn = first_.turn;
    post.add = 1;
    post.second_addr = u32(at);
  }

  void append_post(const PostPlan& plan, std::int64_t at, std::int64_t second, std::int64_t lead,
                   std::int64_t reach) {
    PlacedCommand placed;
    placed.layer = layer_;
    placed.tile = tile_;
    Post post = plan.shape;
    const std::size_t index = layout_.posts.size();
    MemoryTurn& psums = acc(*current_);
    psums.lead_words = lead;
    psums.reach_words = reach;
    psums.last_reader = index;
    if (index == current_->first_post) psums.first_reader = index;
    placed.turn[number(Memory::kAccumulator)] = current_->turn;
    placed.second_turn = current_->turn;
    post.acc_addr = u32(at);
    if (post.add != 0) post.second_addr = u32(second);
    const bool new_params = plan.new_param_turn || !is_open(Memory::kParameter);
    if (new_params) open(Memory::kParameter);
    last(Memory::kParameter).words = 1;
    if (post.lookup != 0) last(Memory::kParameter).has_table = true;
    join_readers(Memory::kParameter, placed, index, new_params);
    const std::int64_t words = std::int64_t{post.out_rows} * post.out_cols;
    const bool fits = is_open(Memory::kOutput) &&
                      last(Memory::kOutput).words + words <= arch_.output_half_words();
    if (plan.new_out_turn || !fits) {
      close_out_turn();
      open(Memory::kOutput);
      last(Memory::kOutput).first_writer = index;
    }
    MemoryTurn& out = last(Memory::kOutput);
    post.out_addr = u32(out.words);
    out.words += words;
    out.last_writer = index;
    placed.turn[number(Memory::kOutput)] = layout_.of(Memory::kOutput).size() - 1;
    placed.command.fields = post;
    layout_.posts.push_back(placed);
  }

  // Every EXECUTE's psums are taken by somebody: what no POST has read gets a POST of its own.
  void post_what_is_left(const TurnPlan& turn) {
    const std::vector<std::size_t>& owners = current_->owners;
    for (const std::size_t execute : current_->left) {
      const auto begin = std::find(owners.begin(), owners.end(), execute);
      auto end = begin;
      const std::int64_t most = std::min<std::int64_t>(40, arch_.output_half_words());
      while (end != owners.end() && *end == execute && end - begin < most) ++end;
      PostPlan plan;
      if (!turn.posts.empty()) plan = turn.posts.back();
      Post& p = plan.shape;
      p.pool_h = p.pool_w = p.pool_stride_h = p.pool_stride_w = p.in_rows = p.out_rows = 1;
      p.in_cols = p.out_cols = u32(end - begin);
      p.origin_row = p.origin_col = 0;
      p.add = 0;
      plan.new_out_turn = plan.new_param_turn = false;
      const MemoryTurn& psums = acc(*current_);
      const std::int64_t at = begin - owners.begin();
      append_post(plan, at, at, psums.lead_words, psums.reach_words);
    }
  }

  void close_out_turn() {
    if (!is_open(Memory::kOutput)) return;
    begins_layer_[number(Memory::kOutput)] = true;
    MemoryTurn& out = last(Memory::kOutput);
    const std::size_t turn = layout_.of(Memory::kOutput).size() - 1;
    Random random(plan_.seed + 977 * turn);
    std::int64_t& ofmap = layout_.ofmap_words.back();
    out.first_reader = layout_.stores.size();
    for (const TurnStore& part : cut_stores(random, out.words, arch_)) {
      PlacedCommand placed;
      placed.layer = layer_;
      placed.tile = tile_;
      placed.turn[number(Memory::kOutput)] = turn;
      placed.command.fields = part.store;
      placed.ofmap_word = ofmap + part.ofmap_word;
      layout_.stores.push_back(placed);
    }
    out.last_reader = layout_.stores.size() - 1;
    ofmap += out.words;
  }

  const ProgramPlan& plan_;
  const ArchConfig& arch_;
  ProgramLayout layout_;
  std::array<bool, kTurnMemories> begins_layer_{};
  std::size_t layer_ = 0;
  std::size_t tile_ = 0;
  OpenTurn first_, second_;
  OpenTurn* current_ = &first_;
  std::int64_t last_psum_ =
      0;  // which the EXECUTE placed last writes last, counted from its turn's first word
};

}  // namespace

ProgramLayout lay_out(const ProgramPlan& plan) {
  ProgramLayout layout = Placement(plan).place();
  set_addresses(plan, layout);
  return layout;
}

}  // namespace qsim
