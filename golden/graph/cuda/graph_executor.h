// Executes a Graph on a GPU with golden/graph/cpu's bytes, fast: weights stay on the device, each
// layer is one kernel on tensor cores, and a whole batch is one replay of a CUDA graph. Needs no
// CUDA header.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/graph.h"

namespace qsim::golden {

enum class CudaPath : std::uint8_t {
  kAuto,      // the fastest kernels that the device has
  kHopper,    // wgmma and TMA where they take the layer; compute capability 9.0
  kPortable,  // mma.sync: compute capability 8.0 and later
  kDirect,    // plain loops, one output a thread: an independent witness on the device
};

// "auto", "hopper", "portable", "direct"
std::string_view cuda_path_name(CudaPath path);

// Which ofmaps run() returns.
enum class CudaKeep : std::uint8_t {
  kEvery,   // one a layer; nothing is fused across layers
  kStored,  // those that the fused execution writes to memory; the others are tensors of no bytes
  kLast,    // the last one; the others are tensors of no bytes
};

// What a caller chooses in place of the executor. Tests do, so that small layers meet every kernel;
// the bytes are the same.
struct CudaChoices {
  int multiprocessors = 0;  // tiles are chosen as for a device with so many; 0: as for this one
  // The tile of the Hopper convolution, where a layer can have it; else another family takes the
  // layer. 0: the fastest of its tiles.
  int tile_rows = 0;
  int tile_columns = 0;
  int tile_split = 1;
};

struct CudaOptions {
  int device = 0;
  CudaPath path = CudaPath::kAuto;
  CudaKeep keep = CudaKeep::kEvery;
  CudaChoices choices = {};
};

// One kernel of a network, timed by itself.
struct CudaKernelTime {
  std::string layer;   // the graph layers it computes: "conv1+relu+pool1"
  std::string kernel;  // "conv_wgmma 256x128"
  std::int64_t macs = 0;
  std::int64_t bytes = 0;  // read and written once each: input, weights, output
  double seconds = 0;      // median
};

class CudaGraphExecutor {
 public:
  // Compiles and uploads. The graph must outlive the executor. Throws Error: exit code 3 without a
  // usable device or with too little device memory; as GraphExecutor for a graph that validate()
  // refuses.
  explicit CudaGraphExecutor(const Graph& graph, const CudaOptions& options = {});
  CudaGraphExecutor(Graph&&, const CudaOptions& = {}) = delete;
  ~CudaGraphExecutor();
  CudaGraphExecutor(const CudaGraphExecutor&) = delete;
  CudaGraphExecutor& operator=(const CudaGraphExecutor&) = delete;

  // `input` is NHWC in the graph's input dtype and batch. One tensor per layer, as options.keep
  // says. Not for several threads at once.
  std::vector<Tensor> run(const Tensor& input);

  // Medians over `runs` of one replay of the whole network on the input of the last run(), by CUDA
  // events, in seconds; without copies to and from the host.
  double time_network(int runs);
  // Each kernel by itself, `runs` times; medians.
  std::vector<CudaKernelTime> time_kernels(int runs);

  // The name of every kernel of one run, in order: "conv_wgmma 256x128".
  std::vector<std::string> kernels() const;

  // Bytes of device memory held.
  std::int64_t device_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace qsim::golden
