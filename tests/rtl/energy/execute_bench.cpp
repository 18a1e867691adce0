#include "tests/rtl/energy/execute_bench.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include <Vexecute4x4_5.h>
#include <Vexecute4x4_5___024root.h>
#include <Vexecute4x4_7.h>
#include <Vexecute4x4_7___024root.h>
#include <Vexecute4x8_7.h>
#include <Vexecute4x8_7___024root.h>
#include <Vexecute8x4_5.h>
#include <Vexecute8x4_5___024root.h>
#include <Vexecute8x4_7.h>
#include <Vexecute8x4_7___024root.h>
#include <verilated.h>

#include "core/machine/isa/command_codec.h"

namespace qsim::test {
namespace {

constexpr std::size_t kTooLong = 100'000;

// Positive and small, so that a changed operand changes every sum that it is part of.
std::uint8_t usual_byte(std::size_t word, std::size_t byte) {
  return static_cast<std::uint8_t>(1 + (7 * word + 3 * byte) % 5);
}

constexpr std::uint8_t kChange = 64;

std::vector<std::uint8_t> word_of(std::size_t word, std::size_t size, const Changed& changed,
                                  Changed::What memory) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t b = 0; b < size; ++b) bytes[b] = usual_byte(word, b);
  if (changed.what == memory && changed.word == word) {
    for (std::size_t b = 0; b < changed.bytes; ++b) {
      bytes[changed.first_byte + b] =
          static_cast<std::uint8_t>(bytes[changed.first_byte + b] + kChange);
    }
  }
  return bytes;
}

void set_port(IData& port, const std::vector<std::uint8_t>& bytes) {
  port = 0;
  for (std::size_t b = 0; b < bytes.size(); ++b) port |= IData{bytes[b]} << (8 * b);
}

void set_port(QData& port, const std::vector<std::uint8_t>& bytes) {
  port = 0;
  for (std::size_t b = 0; b < bytes.size(); ++b) port |= QData{bytes[b]} << (8 * b);
}

// A PE's registers have long names in the Verilated module, by which the bench finds them.
template <typename Array>
void append(std::vector<std::uint32_t>& values, const Array& array, std::size_t pes) {
  for (std::size_t i = 0; i < pes; ++i) values.push_back(static_cast<std::uint32_t>(array[i]));
}

template <typename Root>
Registers registers_of(const Root& root, std::size_t pes) {
  Registers now;
  append(now.operands, root.qsim_execute_unit__DOT__u_array__DOT__act_q, pes);
  append(now.operands, root.qsim_execute_unit__DOT__u_array__DOT__shadow_q, pes);
  append(now.operands, root.qsim_execute_unit__DOT__u_array__DOT__weight_q, pes);
  append(now.sums, root.qsim_execute_unit__DOT__u_array__DOT__sum_q, pes);
  append(now.psums, root.qsim_execute_unit__DOT__u_array__DOT__psum_q, pes);
  return now;
}

template <typename Model>
class Bench {
 public:
  Bench(ArrayShape shape, const Execute& execute, const Changed& changed)
      : shape_(shape), changed_(changed), model_(std::make_unique<Model>(&context_)) {
    Execute command = execute;
    if (changed.what == Changed::What::kPad) command.pad_value += kChange;
    const EncodedCommand bits = encode(Command{0, 0, command});
    for (std::size_t i = 0; i < bits.size(); ++i) {
      model_->command_i[2 * i] = static_cast<IData>(bits[i]);
      model_->command_i[2 * i + 1] = static_cast<IData>(bits[i] >> 32);
    }
    model_->rst_ni = 0;
    cycle();
    model_->rst_ni = 1;
  }
  ~Bench() { model_->final(); }

  Recorded run() {
    model_->start_i = 1;
    do {
      cycle();
      model_->start_i = 0;
      recorded_.cycles.push_back(registers_of(*model_->rootp, shape_.rows * shape_.cols));
      if (recorded_.cycles.size() > kTooLong) throw std::runtime_error("the unit does not end");
    } while (model_->idle_o == 0);
    return recorded_;
  }

 private:
  void cycle() {
    model_->clk_i = 0;
    model_->eval();
    const bool reads_activation = model_->act_read_o != 0;
    const bool reads_weight = model_->weight_read_o != 0;
    recorded_.accumulator_reads += model_->acc_read_o;
    recorded_.accumulator_writes += model_->acc_write_o;
    model_->clk_i = 1;
    model_->eval();
    // A word is at the scratchpad's output from the next cycle on.
    if (reads_activation) {
      set_port(model_->act_read_data_i, word_of(recorded_.activation_reads++, shape_.rows, changed_,
                                                Changed::What::kActivation));
    }
    if (reads_weight) {
      set_port(model_->weight_read_data_i,
               word_of(recorded_.weight_reads++, std::max(shape_.rows, shape_.cols), changed_,
                       Changed::What::kWeight));
    }
  }

  VerilatedContext context_;
  ArrayShape shape_;
  Changed changed_;
  std::unique_ptr<Model> model_;
  Recorded recorded_;
};

std::uint64_t count_taken(const std::vector<std::uint32_t>& usual,
                          const std::vector<std::uint32_t>& other, std::vector<bool>& held) {
  held.resize(usual.size());
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    const bool depends = usual[i] != other[i];
    if (depends && !held[i]) ++taken;
    held[i] = depends;
  }
  return taken;
}

template <typename Root>
std::uint64_t psum_bits() {
  return Root::qsim_execute_unit__DOT__u_array__DOT__PsumBits;
}

}  // namespace

Recorded record(ArrayShape shape, const Execute& execute, const Changed& changed) {
  if (shape.rows > shape.cols) return Bench<Vexecute8x4_7>(shape, execute, changed).run();
  if (shape.rows < shape.cols) return Bench<Vexecute4x8_7>(shape, execute, changed).run();
  return Bench<Vexecute4x4_7>(shape, execute, changed).run();
}

std::uint64_t psum_register_bits(ArrayShape shape, Dataflow dataflow) {
  const bool is_high = shape.rows > 4;  // the columns change no width
  if (dataflow == Dataflow::kOutputStationary) {
    return is_high ? psum_bits<Vexecute8x4_7___024root>() : psum_bits<Vexecute4x4_7___024root>();
  }
  return is_high ? psum_bits<Vexecute8x4_5___024root>() : psum_bits<Vexecute4x4_5___024root>();
}

TakenOver taken_over(const Recorded& usual, const Recorded& other) {
  if (usual.cycles.size() != other.cycles.size()) throw std::runtime_error("data change the times");
  TakenOver taken;
  std::vector<bool> operands;
  std::vector<bool> sums;
  std::vector<bool> psums;
  for (std::size_t t = 0; t < usual.cycles.size(); ++t) {
    taken.operands += count_taken(usual.cycles[t].operands, other.cycles[t].operands, operands);
    taken.sums += count_taken(usual.cycles[t].sums, other.cycles[t].sums, sums);
    taken.psums += count_taken(usual.cycles[t].psums, other.cycles[t].psums, psums);
  }
  return taken;
}

}  // namespace qsim::test
