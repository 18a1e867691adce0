// Owners of what CUDA counts out: a stream, events, a captured graph, pinned host memory. Errors
// are thrown as cuda_error.h says.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <cuda_runtime.h>

namespace qsim::golden::cuda {

// A stream that does not wait for the default one.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  // Waits until it is idle. `what` names the work in the error.
  void synchronize(const char* what) const;

 private:
  cudaStream_t stream_ = nullptr;
};

// Work enqueued once and replayed by one call.
class CapturedGraph {
 public:
  CapturedGraph() = default;
  // Captures what `enqueue` puts on `stream`, which nobody else may use meanwhile.
  CapturedGraph(const Stream& stream, const std::function<void()>& enqueue);
  ~CapturedGraph();
  CapturedGraph(CapturedGraph&& other) noexcept;
  CapturedGraph& operator=(CapturedGraph&& other) noexcept;

  bool is_empty() const { return executable_ == nullptr; }
  void replay(const Stream& stream) const;

 private:
  cudaGraphExec_t executable_ = nullptr;
};

// Host memory that the copy engines reach without a detour.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// The seconds that each of `runs` replays takes on the device. They are enqueued back to back, so
// that no launch is waited for.
std::vector<double> time_replays(const Stream& stream, const CapturedGraph& graph, int runs);

}  // namespace qsim::golden::cuda
