// Which golden gives the trusted bytes, the CPU's or a GPU's, and one object that runs either.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/network/graph.h"
#include "golden/device/devices.h"

namespace qsim::cli {

enum class GoldenBackend : std::uint8_t { kCpu, kCuda };

std::string_view golden_backend_name(GoldenBackend backend);  // "cpu", "cuda"

// QSIM_GOLDEN, "auto" without it. Throws Error (exit code 2) for what is none of cpu, cuda, auto.
std::string golden_variable();

// The GPU that golden runs on: the first that it can use. There must be one.
const golden::CudaDevice& golden_device();

enum class GoldenKeep : std::uint8_t { kEveryLayer, kLastLayer };

// Executes one graph, which must outlive it, on inputs one after the other.
class GoldenRunner {
 public:
  virtual ~GoldenRunner() = default;
  virtual GoldenBackend backend() const = 0;
  // `input` is NHWC in the graph's input dtype and batch. Leaves one tensor a layer, or the last
  // layer's alone, in `outputs`, whose memory is used again.
  void run(const Tensor& input, std::vector<Tensor>& outputs) { execute(input, outputs); }
  std::vector<Tensor> run(const Tensor& input);

 private:
  virtual void execute(const Tensor& input, std::vector<Tensor>& outputs) = 0;
};

// Throws the Error of that backend's executor.
std::unique_ptr<GoldenRunner> make_golden_runner(GoldenBackend backend, const Graph& graph,
                                                 GoldenKeep keep = GoldenKeep::kEveryLayer);

// What the user asked for, settled by what this machine has:
//
//   cpu, cuda, both      as the option says; cuda without a usable device is an Error (exit code 3)
//   auto                 as QSIM_GOLDEN says; its cuda falls back to the CPU with a note
//   auto, no variable    a GPU where one is usable, else the CPU, without a word
//
// What was not asked for by the option also falls back, with a note, where CUDA cannot take a graph
// (too little device memory); from then on the CPU is used.
class GoldenSelection {
 public:
  using Note = std::function<void(const std::string&)>;

  // `option` ("--golden") is named in errors; `wanted` is its value. Throws Error (exit code 2) for
  // a QSIM_GOLDEN that is none of cpu, cuda, auto.
  GoldenSelection(const std::string& option, const std::string& wanted, Note note);

  // Engines are compared with the first.
  const std::vector<GoldenBackend>& backends() const { return backends_; }
  std::string name() const;  // "cpu", "cuda", "cpu,cuda"

  // A runner on the first backend.
  std::unique_ptr<GoldenRunner> runner(const Graph& graph,
                                       GoldenKeep keep = GoldenKeep::kEveryLayer);
  // One run of the first backend that leaves little in memory: the tensors of the graph layers that
  // `kept` says, the others with no bytes. (On a GPU the host holds all of them for a moment.)
  std::vector<Tensor> run_once(const Graph& graph, const Tensor& input,
                               const std::vector<bool>& kept);
  // One runner for each backend; each keeps every layer.
  std::vector<std::unique_ptr<GoldenRunner>> runners(const Graph& graph);

  // runner()'s fall-back, for a caller that makes an executor of its own: whether the CPU may take
  // what the GPU has refused, and the switch to it, with the note.
  bool cpu_may_stand_in() const;
  void use_cpu_for(const std::string& network, const Error& reason);

 private:
  std::vector<GoldenBackend> backends_;
  bool may_fall_back_ = false;
  Note note_;
};

}  // namespace qsim::cli
