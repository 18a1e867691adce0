// One qsim_axi4_shim, Verilated as `Top`, between random core traffic and an AXI4 memory.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <verilated.h>

#include "tests/rtl/leaf/axi4_memory.h"
#include "tests/rtl/leaf/core_traffic.h"

namespace qsim::test {

template <class Top>
class Axi4ShimBench {
 public:
  Axi4ShimBench(const AxiMemoryOptions& memory, const CoreTrafficOptions& core, std::size_t bytes,
                std::uint64_t seed)
      : bus_bytes_(memory.bus_bytes),
        memory_(memory, bytes, seed),
        traffic_(core, memory_.bytes(), seed + 1),
        top_(make_top(context_, seed)) {
    top_->rst_ni = 0;
    for (int clk : {0, 1, 0}) {
      top_->clk_i = static_cast<CData>(clk);
      top_->eval();
    }
    top_->rst_ni = 1;
  }

  ~Axi4ShimBench() { top_->final(); }

  // Read beats and write responses that nothing asked for, one each a cycle, before any traffic.
  void send_unasked(int cycles) {
    top_->read_request_valid_i = 0;
    top_->write_request_valid_i = 0;
    top_->write_data_valid_i = 0;
    top_->axi_rvalid_i = 1;
    top_->axi_bvalid_i = 1;
    top_->axi_rresp_i = 0;
    top_->axi_bresp_i = 0;
    for (int i = 0; i < cycles; ++i) {
      top_->clk_i = 0;
      top_->eval();
      top_->clk_i = 1;
      top_->eval();
    }
  }

  // Runs until all traffic is answered; returns "" or what went wrong.
  std::string run(std::uint64_t cycle_limit) {
    for (cycles_ = 0; cycles_ < cycle_limit && !traffic_.finished(); ++cycles_) {
      if (const std::string breach = cycle(); !breach.empty()) {
        return "cycle " + std::to_string(cycles_) + ": " + breach;
      }
    }
    if (!traffic_.finished()) return "no end after " + std::to_string(cycle_limit) + " cycles";
    return memory_.bytes() == traffic_.expected() ? "" : "a written byte is wrong";
  }

  const Axi4Memory& memory() const { return memory_; }
  const CoreTraffic& traffic() const { return traffic_; }
  std::uint64_t cycles() const { return cycles_; }
  bool error() const { return top_->error_o != 0; }

 private:
  // Registers and memories begin random, so that what reset forgets shows.
  static std::unique_ptr<Top> make_top(VerilatedContext& context, std::uint64_t seed) {
    context.threads(1);
    context.randSeed(static_cast<int>(seed));
    context.randReset(2);
    return std::make_unique<Top>(&context);
  }

  std::string cycle() {
    top_->clk_i = 0;
    top_->eval();
    const AxiManager manager = read_manager();
    const CoreInputs inputs = read_core();
    const std::uint64_t answered_beats = memory_.answered_beats();
    write_core(traffic_.drive());
    write_subordinate(memory_.drive(manager));
    top_->eval();
    if (read_manager() != manager || read_core() != inputs) {
      return "an output depends on an input of the same cycle";
    }
    memory_.clock(manager);
    traffic_.clock(inputs, answered_beats);
    top_->clk_i = 1;
    top_->eval();
    return memory_.breach() + traffic_.breach();
  }

  template <class Signal>
  std::vector<std::uint8_t> bytes_of(const Signal& signal) const {
    std::vector<std::uint8_t> bytes(bus_bytes_);
    std::memcpy(bytes.data(), &signal, bus_bytes_);
    return bytes;
  }

  AxiManager read_manager() const {
    AxiManager m;
    m.ar = {top_->axi_arvalid_o != 0, top_->axi_araddr_o, top_->axi_arlen_o, top_->axi_arsize_o,
            top_->axi_arburst_o};
    m.aw = {top_->axi_awvalid_o != 0, top_->axi_awaddr_o, top_->axi_awlen_o, top_->axi_awsize_o,
            top_->axi_awburst_o};
    m.w = {top_->axi_wvalid_o != 0, top_->axi_wlast_o != 0, bytes_of(top_->axi_wdata_o), {}};
    std::vector<std::uint8_t> strobes((bus_bytes_ + 7) / 8);
    std::memcpy(strobes.data(), &top_->axi_wstrb_o, strobes.size());
    for (std::uint32_t lane = 0; lane < bus_bytes_; ++lane) {
      m.w.strobes.push_back((strobes[lane / 8] >> (lane % 8) & 1) != 0);
    }
    m.r_ready = top_->axi_rready_o != 0;
    m.b_ready = top_->axi_bready_o != 0;
    return m;
  }

  CoreInputs read_core() const {
    return {top_->read_request_ready_o != 0, top_->read_data_valid_o != 0,
            bytes_of(top_->read_data_o), top_->write_request_ready_o != 0, top_->write_done_o != 0};
  }

  void write_core(const CoreOutputs& core) {
    top_->read_request_valid_i = core.read_valid;
    top_->read_request_addr_i = core.read.addr;
    top_->read_request_beats_i = static_cast<SData>(core.read.beats);
    top_->read_request_size_i = static_cast<CData>(core.read.size);
    top_->write_request_valid_i = core.write_valid;
    top_->write_request_addr_i = core.write.addr;
    top_->write_request_beats_i = static_cast<SData>(core.write.beats);
    top_->write_request_size_i = static_cast<CData>(core.write.size);
    top_->write_data_valid_i = core.write_data_valid;
    std::memcpy(&top_->write_data_i, core.write_data.data(), bus_bytes_);
  }

  void write_subordinate(const AxiSubordinate& s) {
    top_->axi_arready_i = s.ar_ready;
    top_->axi_awready_i = s.aw_ready;
    top_->axi_wready_i = s.w_ready;
    top_->axi_rvalid_i = s.r_valid;
    top_->axi_rlast_i = s.r_last;
    top_->axi_rresp_i = static_cast<CData>(s.r_resp);
    std::memcpy(&top_->axi_rdata_i, s.r_data.data(), bus_bytes_);
    top_->axi_bvalid_i = s.b_valid;
    top_->axi_bresp_i = static_cast<CData>(s.b_resp);
  }

  std::uint32_t bus_bytes_;
  Axi4Memory memory_;
  CoreTraffic traffic_;
  VerilatedContext context_;
  std::unique_ptr<Top> top_;
  std::uint64_t cycles_ = 0;
};

}  // namespace qsim::test
