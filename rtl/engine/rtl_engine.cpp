#include "rtl/engine/rtl_engine.h"

#include <chrono>
#include <map>

#include "core/base/engine_names.h"
#include "core/base/error.h"

namespace qsim::rtl {
namespace {

namespace fs = std::filesystem;

// A loaded model, and the core that run after run uses.
struct Hardware {
  RtlModel model;
  std::unique_ptr<RtlCore> core;
};

RtlEngineOptions with_trace_variant(RtlEngineOptions options) {
  if (options.trace) options.model.variant = "trace";
  return options;
}

class RtlEngine : public Engine {
 public:
  explicit RtlEngine(const RtlEngineOptions& options) : options_(with_trace_variant(options)) {}
  ~RtlEngine() override;

  std::string_view name() const override { return kRtlEngine; }
  bool has_time() const override { return true; }
  RunResult run(const Program& program, const Tensor& input, const RunOptions& options) override;

 private:
  void check_program(const Program& program) const;
  Hardware& hardware_for(const ArchConfig& arch);
  void keep_coverage(Hardware& hardware);
  void open_trace(RtlCore& core) const;

  RtlEngineOptions options_;
  std::map<std::string, Hardware> hardware_;  // by the parameters' texts
  int coverage_files_ = 0;
};

RtlEngine::~RtlEngine() {
  for (auto& [name, hardware] : hardware_) keep_coverage(hardware);
}

void RtlEngine::keep_coverage(Hardware& hardware) {
  if (options_.coverage_folder.empty() || hardware.core == nullptr) return;
  const std::string file =
      hardware.model.library().stem().string() + "-" + std::to_string(coverage_files_++) + ".dat";
  hardware.core->write_coverage((fs::path(options_.coverage_folder) / file).c_str());
}

void RtlEngine::check_program(const Program& program) const {
  if (!options_.arch) return;
  const std::string difference =
      rtl_parameter_difference(rtl_parameters(program.arch), rtl_parameters(*options_.arch));
  if (difference.empty()) return;
  throw_bad_input("program '" + program.name + "' is compiled for other hardware than '" +
                  options_.arch->name + "': " + difference);
}

Hardware& RtlEngine::hardware_for(const ArchConfig& arch) {
  const RtlParameters parameters = rtl_parameters(arch);
  std::string name;
  for (const std::string& text : rtl_parameter_texts(parameters)) name += text + " ";
  const auto known = hardware_.find(name);
  if (known != hardware_.end()) return known->second;
  const fs::path library = find_or_build_rtl_model(arch, options_.model);
  return hardware_.emplace(name, Hardware{RtlModel(library, parameters), nullptr}).first->second;
}

void RtlEngine::open_trace(RtlCore& core) const {
  if (!options_.trace) return;
  const RtlTrace& trace = *options_.trace;
  if (!core.open_trace(trace.path.c_str(), trace.first, trace.last)) {
    throw_bad_input(trace.path + ": the trace cannot be written");
  }
}

RunResult RtlEngine::run(const Program& program, const Tensor& input, const RunOptions& options) {
  using Clock = std::chrono::steady_clock;
  if (!options.move_data) {
    throw Error(ExitCode::kUsage,
                "the rtl engine cannot run without data: it always computes the data");
  }
  validate(program.arch);
  check_program(program);
  Hardware& hardware = hardware_for(program.arch);
  DramMemory dram(program, input);
  const TimedTake timed(options.take_ofmap);
  if (options.take_ofmap) dram.hand_over_overwritten(timed.take());
  if (options_.init_seed != 0 || options_.trace) {
    keep_coverage(hardware);
    hardware.core.reset();
  }
  std::unique_ptr<RtlCore> core = std::move(hardware.core);  // gone when this run fails
  if (core == nullptr) core = hardware.model.make_core({options_.init_seed});
  open_trace(*core);
  const Clock::time_point begin = Clock::now();
  RtlHarness harness(*core, program, dram, {options_.dram_seed, options_.cycle_limit});
  while (!harness.finished()) harness.step();
  RunResult result;
  result.times = harness.finish();
  result.wall_seconds =
      std::chrono::duration<double>(Clock::now() - begin).count() - timed.seconds();
  hardware.core = std::move(core);
  deliver_ofmaps(program, dram, options, result);
  return result;
}

}  // namespace

std::unique_ptr<Engine> make_rtl_engine(const RtlEngineOptions& options) {
  return std::make_unique<RtlEngine>(options);
}

}  // namespace qsim::rtl
