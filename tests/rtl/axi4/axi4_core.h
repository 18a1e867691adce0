// qsim_accelerator_axi4, Verilated, with an AXI4 memory behind it that holds a program's image, as
// the RtlCore that rtl_engine's harness feeds with commands. The harness's own DRAM port stays
// silent: the bytes travel on AXI4. What breaks a rule makes the harness's next step() throw.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/machine/dram_memory.h"
#include "rtl/engine/core_abi.h"
#include "tests/rtl/leaf/axi4_memory.h"

namespace qsim::test {

// What passed the AXI4 port, and in how many cycles a channel had something that did not move. R
// and B count from the cycle after the burst's address or last beat was taken.
struct Axi4Traffic {
  std::uint64_t read_beats = 0;
  std::uint64_t written_beats = 0;
  std::uint64_t ar_waits = 0;
  std::uint64_t r_waits = 0;
  std::uint64_t aw_waits = 0;
  std::uint64_t w_waits = 0;
  std::uint64_t b_waits = 0;
};

class Axi4Core final : public rtl::RtlCore {
 public:
  // `dram` is the image to begin with; between its regions the memory holds noise. Registers and
  // memories of the core begin random. `program` must outlive this object.
  Axi4Core(const Program& program, const DramMemory& dram, const AxiMemoryOptions& options,
           std::uint64_t seed);
  ~Axi4Core() override;

  const rtl::RtlPorts& ports() const override { return ports_; }
  const rtl::RtlParameters& parameters() const override { return parameters_; }
  void settle() override;
  void eval_cycle() override;
  void begin_cycles() override {}
  const char* messages() const override { return breach_.c_str(); }
  bool open_trace(const char*, std::uint64_t, std::uint64_t) override { return false; }
  void close_trace() override {}
  bool write_coverage(const char*) override { return false; }

  // After the run: puts the ofmaps' bytes into `dram`. Throws InternalError when a byte outside
  // them has changed.
  void take_ofmaps(DramMemory& dram);

  const Axi4Traffic& traffic() const { return traffic_; }
  const Axi4Memory& memory() const { return memory_; }

 private:
  struct Model;  // the Verilated class; its header stays out of this one

  void load_image(const DramMemory& dram);
  void set_ports();
  AxiManager read_manager() const;
  void write_subordinate(const AxiSubordinate& subordinate);
  void end_axi_cycle(const AxiManager& manager, const AxiSubordinate& subordinate);
  void check_store_done();
  void fail(const std::string& what);

  const Program& program_;
  std::uint32_t bus_bytes_;
  Axi4Memory memory_;
  std::vector<std::uint8_t> image_;  // the memory at the begin
  std::unique_ptr<Model> model_;
  rtl::RtlPorts ports_{};
  rtl::RtlParameters parameters_;
  std::uint8_t start_ = 0;
  std::uint8_t unit_ready_ = 0;
  std::uint8_t done_ = 0;
  std::uint8_t idle_ = 0;
  Axi4Traffic traffic_;
  std::uint64_t open_read_beats_ = 0;
  std::uint64_t open_responses_ = 0;
  std::size_t stores_done_ = 0;
  std::uint64_t stored_beats_ = 0;  // of the STOREs that are done
  std::string breach_;
  bool failed_ = false;
};

}  // namespace qsim::test
