#include "tests/rtl/axi4/axi4_core.h"

#include <algorithm>
#include <cstring>

#include <Vaccelerator_axi4.h>
#include <verilated.h>

#include "core/base/error.h"
#include "core/machine/dram_channel.h"

namespace qsim::test {
namespace {

constexpr std::size_t kPageBytes = 4096;

// All of the image, and what the unused end of a last beat may read.
std::size_t memory_bytes(const Program& program) {
  const auto bytes = static_cast<std::size_t>(program.dram_bytes());
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

template <typename T, typename Port>
T* port_at(Port& port) {
  return reinterpret_cast<T*>(&port);
}

}  // namespace

struct Axi4Core::Model {
  explicit Model(std::uint64_t seed) {
    context.threads(1);
    context.randSeed(static_cast<int>(seed));
    context.randReset(2);
    top = std::make_unique<Vaccelerator_axi4>(&context);
    top->clk_i = 1;
    // The harness does not know these inputs.
    top->axi_arready_i = top->axi_awready_i = top->axi_wready_i = 0;
    top->axi_rvalid_i = top->axi_bvalid_i = 0;
  }

  VerilatedContext context;
  std::unique_ptr<Vaccelerator_axi4> top;
  // The harness's DRAM port: no request ever, and nobody reads its inputs.
  std::uint8_t no_valid = 0;
  std::uint8_t no_size = 0;
  std::uint16_t no_beats = 0;
  std::uint32_t no_addr = 0;
  std::byte no_write_data{};
  std::uint8_t unread_ready = 0;
  std::uint8_t unread_valid = 0;
  std::byte unread_data{};
};

Axi4Core::Axi4Core(const Program& program, const DramMemory& dram, const AxiMemoryOptions& options,
                   std::uint64_t seed)
    : program_(program),
      bus_bytes_(options.bus_bytes),
      memory_(options, memory_bytes(program), seed),
      model_(std::make_unique<Model>(seed)),
      parameters_{QSIM_RTL_ARRAY_ROWS,   QSIM_RTL_ARRAY_COLS,     QSIM_RTL_ACT_WORDS,
                  QSIM_RTL_WEIGHT_WORDS, QSIM_RTL_ACC_HALF_WORDS, QSIM_RTL_OUT_WORDS,
                  QSIM_RTL_BUS_BYTES,    QSIM_RTL_BURST_BEATS,    QSIM_RTL_OUTSTANDING_BURSTS,
                  QSIM_RTL_DYADIC} {
  load_image(dram);
  set_ports();
}

Axi4Core::~Axi4Core() { model_->top->final(); }

void Axi4Core::load_image(const DramMemory& dram) {
  std::vector<std::uint8_t>& bytes = memory_.bytes();
  const auto writable = dram.read(0, program_.writable_bytes);
  std::memcpy(bytes.data(), writable.data(), writable.size());
  for (const DramSegment& segment : program_.segments) {
    std::memcpy(bytes.data() + segment.address, segment.bytes.data(), segment.bytes.size());
  }
  image_ = bytes;
}

void Axi4Core::set_ports() {
  Vaccelerator_axi4& top = *model_->top;
  ports_.rst_ni = &top.rst_ni;
  ports_.enable_i = &top.enable_i;
  ports_.semaphore_init_valid_i = &top.semaphore_init_valid_i;
  ports_.semaphore_init_i = port_at<std::uint64_t>(top.semaphore_init_i);
  ports_.command_valid_i = &top.command_valid_i;
  ports_.command_i = port_at<std::uint64_t>(top.command_i);
  ports_.command_ready_o = &top.command_ready_o;
  ports_.start_o = &start_;
  ports_.unit_ready_o = &unit_ready_;
  ports_.done_o = &done_;
  ports_.idle_o = &idle_;
  ports_.failed = &failed_;
  Model& model = *model_;
  ports_.read_request_ready_i = ports_.write_request_ready_i = &model.unread_ready;
  ports_.read_data_valid_i = ports_.write_done_i = &model.unread_valid;
  ports_.read_data_i = &model.unread_data;
  ports_.read_request_valid_o = ports_.write_request_valid_o = &model.no_valid;
  ports_.read_request_addr_o = ports_.write_request_addr_o = &model.no_addr;
  ports_.read_request_beats_o = ports_.write_request_beats_o = &model.no_beats;
  ports_.read_request_size_o = ports_.write_request_size_o = &model.no_size;
  ports_.write_data_valid_o = &model.no_valid;
  ports_.write_data_o = &model.no_write_data;
}

void Axi4Core::fail(const std::string& what) {
  if (!failed_) breach_ = what;
  failed_ = true;
}

void Axi4Core::settle() {
  model_->top->clk_i = 0;
  model_->top->eval();
}

// The memory sees what the manager drives from the begin of the cycle on.
void Axi4Core::eval_cycle() {
  Vaccelerator_axi4& top = *model_->top;
  const bool running = top.rst_ni != 0;
  const AxiManager manager = running ? read_manager() : AxiManager{};
  const AxiSubordinate* subordinate = nullptr;
  if (running) {
    subordinate = &memory_.drive(manager);
    write_subordinate(*subordinate);
  }
  settle();
  if (running && read_manager() != manager) {
    fail("an AXI4 output depends on an input of the same cycle");
  }
  start_ = top.start_o;
  unit_ready_ = top.unit_ready_o;
  done_ = top.done_o;
  idle_ = top.idle_o;
  if (running) {
    check_store_done();
    end_axi_cycle(manager, *subordinate);
    if (top.axi_error_o != 0) fail("axi_error_o is raised");
  }
  top.clk_i = 1;
  top.eval();
}

void Axi4Core::end_axi_cycle(const AxiManager& manager, const AxiSubordinate& subordinate) {
  traffic_.r_waits += open_read_beats_ > 0 && !subordinate.r_valid;
  traffic_.b_waits += open_responses_ > 0 && !subordinate.b_valid;
  traffic_.ar_waits += manager.ar.valid && !subordinate.ar_ready;
  traffic_.aw_waits += manager.aw.valid && !subordinate.aw_ready;
  traffic_.w_waits += manager.w.valid && !subordinate.w_ready;
  if (manager.ar.valid && subordinate.ar_ready) open_read_beats_ += manager.ar.len + 1;
  if (subordinate.r_valid && manager.r_ready) {
    ++traffic_.read_beats;
    --open_read_beats_;
  }
  if (manager.w.valid && subordinate.w_ready) {
    ++traffic_.written_beats;
    open_responses_ += manager.w.last;
  }
  if (subordinate.b_valid && manager.b_ready) --open_responses_;
  memory_.clock(manager);
  if (!memory_.breach().empty()) fail(memory_.breach());
}

// A STORE is done once the memory has answered all of its beats, and those of the STOREs before.
void Axi4Core::check_store_done() {
  constexpr auto kStore = static_cast<std::size_t>(Unit::kStore);
  if ((done_ >> kStore & 1) == 0) return;
  const CommandStream stores = program_.stream(Unit::kStore);
  if (stores_done_ == stores.size()) return fail("more STOREs are done than there are");
  const auto store = stores.fields<Store>(stores_done_++);
  const DramTransfer transfer = dram_transfer(store, program_.arch);
  stored_beats_ += transfer.runs * transfer.run_beats;
  if (memory_.answered_beats() < stored_beats_) {
    fail("STORE " + std::to_string(stores_done_ - 1) + " is done and " +
         std::to_string(stored_beats_ - memory_.answered_beats()) + " beats are not answered");
  }
}

AxiManager Axi4Core::read_manager() const {
  const Vaccelerator_axi4& top = *model_->top;
  AxiManager m;
  m.ar = {top.axi_arvalid_o != 0, top.axi_araddr_o, top.axi_arlen_o, top.axi_arsize_o,
          top.axi_arburst_o};
  m.aw = {top.axi_awvalid_o != 0, top.axi_awaddr_o, top.axi_awlen_o, top.axi_awsize_o,
          top.axi_awburst_o};
  m.r_ready = top.axi_rready_o != 0;
  m.b_ready = top.axi_bready_o != 0;
  m.w.valid = top.axi_wvalid_o != 0;
  if (!m.w.valid) return m;  // AXI4 leaves the rest of the channel open, and copies take time
  m.w.last = top.axi_wlast_o != 0;
  m.w.data.resize(bus_bytes_);
  std::memcpy(m.w.data.data(), &top.axi_wdata_o, bus_bytes_);
  m.w.strobes.resize(bus_bytes_);
  for (std::uint32_t lane = 0; lane < bus_bytes_; ++lane) {
    m.w.strobes[lane] = (top.axi_wstrb_o >> lane & 1) != 0;
  }
  return m;
}

void Axi4Core::write_subordinate(const AxiSubordinate& s) {
  Vaccelerator_axi4& top = *model_->top;
  top.axi_arready_i = s.ar_ready;
  top.axi_awready_i = s.aw_ready;
  top.axi_wready_i = s.w_ready;
  top.axi_rvalid_i = s.r_valid;
  top.axi_rlast_i = s.r_last;
  top.axi_rresp_i = static_cast<CData>(s.r_resp);
  std::memcpy(&top.axi_rdata_i, s.r_data.data(), bus_bytes_);
  top.axi_bvalid_i = s.b_valid;
  top.axi_bresp_i = static_cast<CData>(s.b_resp);
}

void Axi4Core::take_ofmaps(DramMemory& dram) {
  std::vector<std::uint8_t> expected = image_;
  for (const ProgramLayer& layer : program_.layers) {
    const std::span<std::byte> target = dram.write(layer.ofmap.address, layer.ofmap.size_bytes());
    const std::uint8_t* bytes = memory_.bytes().data() + layer.ofmap.address;
    std::memcpy(target.data(), bytes, target.size());
    std::memcpy(expected.data() + layer.ofmap.address, bytes, target.size());
  }
  const auto [is, was] =
      std::mismatch(memory_.bytes().begin(), memory_.bytes().end(), expected.begin());
  QSIM_CHECK(was == expected.end(), "the byte at " + std::to_string(was - expected.begin()) +
                                        " is in no ofmap and has changed");
}

}  // namespace qsim::test
