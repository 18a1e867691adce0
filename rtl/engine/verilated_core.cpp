// The adapter between core_abi.h and what Verilator makes of qsim_accelerator; the only source that
// sees Verilated headers. build_model.sh compiles it with each model; the macros QSIM_RTL_* give
// the model's parameters.
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <string>

#include <Vqsim_accelerator.h>
#include <verilated.h>
#if VM_TRACE
#include <verilated_fst_c.h>
#endif
#if VM_COVERAGE
#include <verilated_cov.h>
#endif

#include "rtl/engine/core_abi.h"

namespace {

// The messages of the core that this thread is evaluating.
struct Messages {
  std::string text;
  bool failed = false;
};
thread_local Messages* current_messages = nullptr;

constexpr std::size_t kMaxMessageBytes = 64 * 1024;  // a failing assertion may repeat every cycle

void add_message(const char* text) {
  if (current_messages == nullptr || current_messages->text.size() > kMaxMessageBytes) return;
  current_messages->text += text;
}

}  // namespace

// In place of the runtime's own functions, which print and end the process (-DVL_USER_*,
// -DVL_PRINTF).
extern "C" int qsim_rtl_printf(const char* format, ...) {
  char line[4096];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  add_message(line);
  return length;
}

static void note_failure(const char* what, const char* file, int line, const char* message) {
  const std::string place = std::string(what) + " at " + (file != nullptr ? file : "") + ":" +
                            std::to_string(line) + (*message != '\0' ? ": " : "") + message + "\n";
  add_message(place.c_str());
  if (current_messages != nullptr) current_messages->failed = true;
}

void vl_finish(const char* file, int line, const char*) { note_failure("$finish", file, line, ""); }
void vl_stop(const char* file, int line, const char*) { note_failure("stopped", file, line, ""); }
void vl_fatal(const char* file, int line, const char*, const char* message) {
  note_failure("fatal", file, line, message);
}

namespace {

template <typename T, typename Port>
T* port_at(Port& port) {
  return reinterpret_cast<T*>(&port);
}

class VerilatedCore final : public qsim::rtl::RtlCore {
 public:
  explicit VerilatedCore(const qsim::rtl::RtlCoreOptions& options) {
    enter();
    context_.threads(1);
    context_.fatalOnError(false);
    context_.randReset(options.init_seed == 0 ? 0 : 2);
    if (options.init_seed != 0) context_.randSeed(static_cast<int>(options.init_seed));
#if VM_TRACE
    context_.traceEverOn(true);
#endif
    top_ = std::make_unique<Vqsim_accelerator>(&context_);
    top_->clk_i = 1;
    set_ports();
  }
  ~VerilatedCore() override {
    enter();
    close_trace();
    top_.reset();
    current_messages = nullptr;
    Verilated::threadContextp(nullptr);
  }
  VerilatedCore(const VerilatedCore&) = delete;
  VerilatedCore& operator=(const VerilatedCore&) = delete;

  const qsim::rtl::RtlPorts& ports() const override { return ports_; }
  const qsim::rtl::RtlParameters& parameters() const override { return parameters_; }
  const char* messages() const override { return messages_.text.c_str(); }

  void settle() override {
    enter();
    top_->clk_i = 0;
    top_->eval();
  }

  void eval_cycle() override {
    settle();
    start_ = top_->start_o;
    unit_ready_ = top_->unit_ready_o;
    done_ = top_->done_o;
    idle_ = top_->idle_o;
    dump(1);
    top_->clk_i = 1;
    top_->eval();
    ++cycle_;
    dump(0);
  }

  void begin_cycles() override {
    cycle_ = 0;
    counting_ = true;
    dump(0);
  }

  bool open_trace(const char* path, std::uint64_t first, std::uint64_t last) override;
  void close_trace() override;
  bool write_coverage(const char* path) override;

 private:
  void set_ports();

  // Makes this thread's messages and Verilator's context, which evaluation and the destructors of
  // the model's scopes take from the thread, this core's: other cores may have come and gone.
  void enter() {
    if (current_messages == &messages_) return;
    current_messages = &messages_;
    Verilated::threadContextp(&context_);
  }

  // A cycle begins at its clock's rise, `half` 0, and has its inputs from `half` 1 on.
#if VM_TRACE
  void dump(std::uint64_t half) {
    if (trace_ == nullptr || !counting_ || cycle_ < first_ || cycle_ >= last_) return;
    trace_->dump(cycle_ * 1000 + half * 500);  // ps
  }
  std::unique_ptr<VerilatedFstC> trace_;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
#else
  void dump(std::uint64_t) {}
#endif

  Messages messages_;
  VerilatedContext context_;
  std::unique_ptr<Vqsim_accelerator> top_;
  std::uint64_t cycle_ = 0;
  bool counting_ = false;
  std::uint8_t start_ = 0;
  std::uint8_t unit_ready_ = 0;
  std::uint8_t done_ = 0;
  std::uint8_t idle_ = 0;
  qsim::rtl::RtlPorts ports_{};
  qsim::rtl::RtlParameters parameters_{
      QSIM_RTL_ARRAY_ROWS,         QSIM_RTL_ARRAY_COLS, QSIM_RTL_ACT_WORDS, QSIM_RTL_WEIGHT_WORDS,
      QSIM_RTL_ACC_HALF_WORDS,     QSIM_RTL_OUT_WORDS,  QSIM_RTL_BUS_BYTES, QSIM_RTL_BURST_BEATS,
      QSIM_RTL_OUTSTANDING_BURSTS, QSIM_RTL_DYADIC};
};

void VerilatedCore::set_ports() {
  ports_.rst_ni = &top_->rst_ni;
  ports_.enable_i = &top_->enable_i;
  ports_.semaphore_init_valid_i = &top_->semaphore_init_valid_i;
  ports_.semaphore_init_i = port_at<std::uint64_t>(top_->semaphore_init_i);
  ports_.command_valid_i = &top_->command_valid_i;
  ports_.command_i = port_at<std::uint64_t>(top_->command_i);
  ports_.read_request_ready_i = &top_->read_request_ready_i;
  ports_.read_data_valid_i = &top_->read_data_valid_i;
  ports_.read_data_i = port_at<std::byte>(top_->read_data_i);
  ports_.write_request_ready_i = &top_->write_request_ready_i;
  ports_.write_done_i = &top_->write_done_i;
  ports_.command_ready_o = &top_->command_ready_o;
  ports_.read_request_valid_o = &top_->read_request_valid_o;
  ports_.read_request_addr_o = &top_->read_request_addr_o;
  ports_.read_request_beats_o = &top_->read_request_beats_o;
  ports_.read_request_size_o = &top_->read_request_size_o;
  ports_.write_request_valid_o = &top_->write_request_valid_o;
  ports_.write_request_addr_o = &top_->write_request_addr_o;
  ports_.write_request_beats_o = &top_->write_request_beats_o;
  ports_.write_request_size_o = &top_->write_request_size_o;
  ports_.write_data_valid_o = &top_->write_data_valid_o;
  ports_.write_data_o = port_at<const std::byte>(top_->write_data_o);
  ports_.start_o = &start_;
  ports_.unit_ready_o = &unit_ready_;
  ports_.done_o = &done_;
  ports_.idle_o = &idle_;
  ports_.failed = &messages_.failed;
}

#if VM_TRACE
bool VerilatedCore::open_trace(const char* path, std::uint64_t first, std::uint64_t last) {
  enter();
  first_ = first;
  last_ = last;
  trace_ = std::make_unique<VerilatedFstC>();
  top_->trace(trace_.get(), 99);
  trace_->open(path);
  return trace_->isOpen();
}

void VerilatedCore::close_trace() {
  if (trace_ != nullptr) trace_->close();
  trace_.reset();
}
#else
bool VerilatedCore::open_trace(const char*, std::uint64_t, std::uint64_t) { return false; }
void VerilatedCore::close_trace() {}
#endif

#if VM_COVERAGE
bool VerilatedCore::write_coverage(const char* path) {
  context_.coveragep()->write(path);
  return true;
}
#else
bool VerilatedCore::write_coverage(const char*) { return false; }
#endif

}  // namespace

extern "C" {
__attribute__((visibility("default"))) std::uint32_t qsim_rtl_abi_version() {
  return qsim::rtl::kRtlAbiVersion;
}
__attribute__((visibility("default"))) qsim::rtl::RtlCore* qsim_rtl_create(
    const qsim::rtl::RtlCoreOptions* options) {
  return new VerilatedCore(*options);
}
}
