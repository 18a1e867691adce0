#include "sim/systemc/systemc_engine.h"

#include <chrono>
#include <cstdlib>
#include <string>

#include "core/base/engine_names.h"
#include "core/base/error.h"
#include "sim/systemc/accelerator.h"

namespace qsim::sim {
namespace {

constexpr const char* kAcceleratorName = "accelerator";

// Before the first SystemC object: no banner on stderr, and warnings are failures.
VectorPath prepare_systemc(const SystemcEngineOptions& options) {
  const VectorPath path = options.vector_path.value_or(best_vector_path());
  QSIM_CHECK(is_supported(path), "this processor has no " + std::string(vector_path_name(path)));
  QSIM_CHECK(sc_core::sc_get_status() == sc_core::SC_ELABORATION &&
                 sc_core::sc_find_object(kAcceleratorName) == nullptr,
             "a process can have one SystemC engine only (SystemC elaborates once); run the same "
             "engine again, or start another process");
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_THROW);
  return path;
}

template <typename T>
T* pointer_to(std::optional<T>& part) {
  return part ? &*part : nullptr;
}

class SystemcEngine : public Engine {
 public:
  explicit SystemcEngine(const SystemcEngineOptions& options)
      : accelerator_(kAcceleratorName, prepare_systemc(options)) {}

  std::string_view name() const override { return kSystemcEngine; }
  bool has_time() const override { return true; }
  RunResult run(const Program& program, const Tensor& input, const RunOptions& options) override;

 private:
  Accelerator accelerator_;
};

RunResult SystemcEngine::run(const Program& program, const Tensor& input,
                             const RunOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  validate(program.arch);
  std::optional<DramMemory> dram;
  std::optional<Scratchpads> scratchpads;
  std::optional<OfmapHandover> handover;
  if (options.move_data) {
    dram.emplace(program, input);
    scratchpads.emplace(program.arch);
    if (options.take_ofmap) handover.emplace(program, *dram, options.take_ofmap);
  }
  RunResult result;
  result.times =
      accelerator_.run(program, pointer_to(scratchpads), pointer_to(dram), pointer_to(handover));
  if (handover) handover->finish();
  result.wall_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (handover) result.wall_seconds -= handover->seconds();
  if (dram) result.dram_traffic = dram->traffic();
  if (dram && !handover) result.ofmaps = dram->take_ofmaps();
  return result;
}

}  // namespace

std::unique_ptr<Engine> make_systemc_engine(const SystemcEngineOptions& options) {
  return std::make_unique<SystemcEngine>(options);
}

}  // namespace qsim::sim
