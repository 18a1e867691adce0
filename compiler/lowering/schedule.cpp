#include "compiler/lowering/schedule.h"

#include <algorithm>

#include "core/dram_channel.h"
#include "core/timing_model.h"

namespace qsim {
namespace {

constexpr std::uint16_t mask(Token token) {
  return static_cast<std::uint16_t>(1u << static_cast<unsigned>(token));
}

std::uint32_t slot_address(std::int64_t count, std::int64_t slots, std::int64_t slot_words) {
  return static_cast<std::uint32_t>(count % slots * slot_words);
}

template <typename Fields>
Command command(const Fields& fields, int wait_mask, int signal_mask) {
  Command c;
  c.wait_mask = static_cast<std::uint16_t>(wait_mask);
  c.signal_mask = static_cast<std::uint16_t>(signal_mask);
  c.fields = fields;
  return c;
}

}  // namespace

std::array<Semaphore, kSemaphores> token_semaphores(const ArchConfig& arch) {
  std::array<Semaphore, kSemaphores> semaphores;
  const auto set = [&](Token token, const char* name, std::int64_t initial) {
    semaphores[static_cast<std::size_t>(token)] = {name, static_cast<std::uint8_t>(initial)};
  };
  set(Token::kActReady, "act_ready", 0);
  set(Token::kActFree, "act_free", arch.act_slots);
  set(Token::kWeightReady, "weight_ready", 0);
  set(Token::kWeightFree, "weight_free", arch.weight_slots);
  set(Token::kParamReady, "param_ready", 0);
  set(Token::kParamFree, "param_free", kParamSlots);
  set(Token::kAccReady, "acc_ready", 0);
  set(Token::kAccFree, "acc_free", kAccumulatorHalves);
  set(Token::kOutReady, "out_ready", 0);
  set(Token::kOutFree, "out_free", kOutputHalves);
  set(Token::kOfmapDone, "ofmap_done", 0);
  return semaphores;
}

void Schedule::add(Step step) {
  if (steps_ == 0) early_weights_ = early_weights(step);
  assign_slots(step);
  if (steps_ < early_weights_) append_weight(step);
  ++steps_;
  held_.push_back(std::move(step));
  // One at least is held, because the last one's STORE says that the ofmap is done.
  if (held_.size() > std::max(early_weights_, std::size_t{1})) append_first_held(false);
}

void Schedule::end_layer(bool is_last) {
  while (!held_.empty()) append_first_held(held_.size() == 1 && !is_last);
  append_pending_params();
  steps_ = appended_ = 0;
  ++layers_;
}

void Schedule::append_first_held(bool announces) {
  const Step& step = held_.front();
  append_loads(step);
  append_execute(step);
  if (step.group_end) append_group_end(step, announces);
  held_.pop_front();
  ++appended_;
}

void Schedule::assign_slots(Step& step) {
  if (step.act) {
    step.act->local_addr = slot_address(acts_, arch_.act_slots, arch_.act_slot_words());
    ++acts_;
  }
  // The chunk that this EXECUTE reads is the one loaded last.
  step.execute.act_addr += slot_address(acts_ - 1, arch_.act_slots, arch_.act_slot_words());
  step.weight.local_addr = slot_address(weights_, arch_.weight_slots, arch_.weight_slot_words());
  step.execute.weight_addr = step.weight.local_addr;
  ++weights_;
  step.execute.acc_half = static_cast<std::uint32_t>(groups_ % kAccumulatorHalves);
  if (!step.group_end) return;
  GroupEnd& end = *step.group_end;
  end.param.local_addr = end.post.param_slot = static_cast<std::uint32_t>(groups_ % kParamSlots);
  end.post.acc_half = step.execute.acc_half;
  end.post.out_addr = slot_address(groups_, kOutputHalves, arch_.output_half_words());
  end.store.out_addr = end.post.out_addr;
  ++groups_;
}

void Schedule::append_execute(const Step& step) {
  int wait = mask(Token::kWeightReady);
  int signal = mask(Token::kWeightFree);
  if (step.act) wait |= mask(Token::kActReady);
  if (step.last_use_of_act) signal |= mask(Token::kActFree);
  if (step.starts_group) wait |= mask(Token::kAccFree);
  if (step.group_end) signal |= mask(Token::kAccReady);
  append(command(step.execute, wait, signal), step.origin);
}

void Schedule::append_group_end(const Step& step, bool announces) {
  append(command(step.group_end->post,
                 mask(Token::kAccReady) | mask(Token::kParamReady) | mask(Token::kOutFree),
                 mask(Token::kAccFree) | mask(Token::kParamFree) | mask(Token::kOutReady)),
         step.origin);
  append(command(step.group_end->store, mask(Token::kOutReady),
                 mask(Token::kOutFree) | (announces ? mask(Token::kOfmapDone) : 0)),
         step.origin);
}

// The order of the LOADs is that of the steps: a step's activations, then its weights; the
// parameters of a group after the first weights of the next group, late enough that they do not
// hold up weights, early enough that POST has them (its psums are complete an EXECUTE later).
//
// A layer's first activations wait for the ofmap before it. So that this wait is used, the first
// weights are loaded before it, and more of them (as many as there are slots) where weights take
// the bus about as long as the array. Their slots are freed by EXECUTEs of the layer before, which
// need no further LOAD.
//
// No deadlock: every LOAD waits only for slots whose EXECUTE or POST has all its own LOADs in
// front of it in this order. (The verifier and a test run every program's tokens to show it.)
void Schedule::append_loads(const Step& step) {
  if (step.act) {
    const bool waits_for_ofmap = appended_ == 0 && layers_ > 0;
    append(
        command(*step.act, mask(Token::kActFree) | (waits_for_ofmap ? mask(Token::kOfmapDone) : 0),
                mask(Token::kActReady)),
        step.origin);
  }
  if (appended_ >= early_weights_) append_weight(step);
  if (step.starts_group) append_pending_params();
  if (step.group_end) pending_params_.push_back({step.group_end->param, step.origin});
}

std::size_t Schedule::early_weights(const Step& first) const {
  if (layers_ == 0) return 0;
  const std::uint64_t load_cycles = dram_transfer(first.weight, arch_).run_beats;
  const std::uint64_t array_cycles = execute_terms(first.execute, arch_).stream();
  return 2 * load_cycles < array_cycles ? 1 : static_cast<std::size_t>(arch_.weight_slots);
}

void Schedule::append_weight(const Step& step) {
  append(command(step.weight, mask(Token::kWeightFree), mask(Token::kWeightReady)), step.origin);
}

void Schedule::append_pending_params() {
  for (const PendingParam& param : pending_params_) {
    append(command(param.load, mask(Token::kParamFree), mask(Token::kParamReady)), param.origin);
  }
  pending_params_.clear();
}

// A command must fit its 256 bits; what does not is beyond the accelerator.
void Schedule::append(const Command& command, const Origin& origin) {
  try {
    program_.streams.append(command, origin);
  } catch (const Error& error) {
    throw_unsupported(origin_text(program_, origin) + ": " + error.what());
  }
}

}  // namespace qsim
