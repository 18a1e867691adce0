// What the simulator and a Verilated core (a shared library of its own, see build_model.sh) know of
// each other: raw pointers to the core's ports, and one call a cycle. Includes the standard library
// alone, so that neither side sees the other's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qsim::rtl {

// Raised with every change of this file; a library of another version is refused.
inline constexpr std::uint32_t kRtlAbiVersion = 2;

// The ports of docs/reference/rtl.md, in place in the model. write_data_o and read_data_i use their
// first 8 * BusBytes bits, least significant byte first.
struct RtlPorts {
  // Inputs: set before a cycle ends.
  std::uint8_t* rst_ni;
  std::uint8_t* enable_i;
  std::uint8_t* semaphore_init_valid_i;
  std::uint64_t* semaphore_init_i;
  std::uint8_t* command_valid_i;
  std::uint64_t* command_i;  // unit u's command in words 4 u to 4 u + 3
  std::uint8_t* read_request_ready_i;
  std::uint8_t* read_data_valid_i;
  std::byte* read_data_i;
  std::uint8_t* write_request_ready_i;
  std::uint8_t* write_done_i;
  // Outputs that depend on no input of their cycle but enable_i: with it set as in the cycle
  // before, valid from the cycle's begin.
  const std::uint8_t* command_ready_o;
  const std::uint8_t* read_request_valid_o;
  const std::uint32_t* read_request_addr_o;
  const std::uint16_t* read_request_beats_o;
  const std::uint8_t* read_request_size_o;
  const std::uint8_t* write_request_valid_o;
  const std::uint32_t* write_request_addr_o;
  const std::uint16_t* write_request_beats_o;
  const std::uint8_t* write_request_size_o;
  const std::uint8_t* write_data_valid_o;
  const std::byte* write_data_o;
  // As sampled by eval_cycle() at the end of the cycle, with that cycle's inputs.
  const std::uint8_t* start_o;
  const std::uint8_t* unit_ready_o;
  const std::uint8_t* done_o;
  const std::uint8_t* idle_o;
  // Not a port: an assertion, $error or $fatal of the RTL has struck; see failure().
  const bool* failed;
};

// Parameters of qsim_accelerator that the library was built with.
struct RtlParameters {
  std::uint32_t array_rows;
  std::uint32_t array_cols;
  std::uint32_t act_words;
  std::uint32_t weight_words;
  std::uint32_t acc_half_words;
  std::uint32_t out_words;
  std::uint32_t bus_bytes;
  std::uint32_t burst_beats;
  std::uint32_t outstanding_bursts;
  std::uint32_t dyadic;  // 1: any scale; 0: a shift
  bool operator==(const RtlParameters&) const = default;
};

class RtlCore {
 public:
  virtual ~RtlCore() = default;

  virtual const RtlPorts& ports() const = 0;
  virtual const RtlParameters& parameters() const = 0;

  // Lets the inputs take effect on the core's signals without ending the cycle.
  virtual void settle() = 0;
  // Ends the cycle: settles the inputs, samples the outputs that say what happened, clocks.
  virtual void eval_cycle() = 0;
  // The next eval_cycle() is cycle 0 of a program: what a trace's window counts from.
  virtual void begin_cycles() = 0;

  // What the RTL printed so far, assertions and $fatal included.
  virtual const char* messages() const = 0;

  // Writes cycles [first, last) to an FST file, cycle c at c ns; call before begin_cycles().
  // False: this library is not built for traces.
  virtual bool open_trace(const char* path, std::uint64_t first, std::uint64_t last) = 0;
  virtual void close_trace() = 0;
  // Writes the coverage counters. False: this library does not count.
  virtual bool write_coverage(const char* path) = 0;
};

// How registers and memories start: zero, or random from a seed (1 and more).
struct RtlCoreOptions {
  std::uint32_t init_seed = 0;  // 0: all zero
};

}  // namespace qsim::rtl

extern "C" {
std::uint32_t qsim_rtl_abi_version();
// The caller deletes it before it closes the library.
qsim::rtl::RtlCore* qsim_rtl_create(const qsim::rtl::RtlCoreOptions* options);
}
