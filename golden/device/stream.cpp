#include "golden/device/stream.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "golden/device/cuda_error.h"

namespace qsim::golden::cuda {
namespace {

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "making an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream) {
    check(cudaEventRecord(event_, stream.get()), "recording an event");
  }
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading an event");
    return double{milliseconds} * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}

Stream::~Stream() { cudaStreamDestroy(stream_); }

void Stream::synchronize(const char* what) const { check(cudaStreamSynchronize(stream_), what); }

CapturedGraph::CapturedGraph(const Stream& stream, const std::function<void()>& enqueue) {
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
        "starting a capture");
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream.get(), &graph);  // or the stream would stay in capture mode
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(stream.get(), &graph), "ending a capture");
  const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "instantiating a CUDA graph");
}

CapturedGraph::~CapturedGraph() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

CapturedGraph::CapturedGraph(CapturedGraph&& other) noexcept
    : executable_(std::exchange(other.executable_, nullptr)) {}

CapturedGraph& CapturedGraph::operator=(CapturedGraph&& other) noexcept {
  std::swap(executable_, other.executable_);
  return *this;
}

void CapturedGraph::replay(const Stream& stream) const {
  QSIM_CHECK(!is_empty(), "a replay of no graph");
  check(cudaGraphLaunch(executable_, stream.get()), "replaying a CUDA graph");
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes > 0) check(cudaMallocHost(&data_, bytes), "allocating pinned host memory");
}

PinnedBuffer::~PinnedBuffer() { cudaFreeHost(data_); }

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::vector<double> time_replays(const Stream& stream, const CapturedGraph& graph, int runs) {
  QSIM_CHECK(runs >= 1, "no runs to time");
  std::vector<Event> marks(static_cast<std::size_t>(runs) + 1);
  marks[0].record(stream);
  for (std::size_t i = 1; i < marks.size(); ++i) {
    graph.replay(stream);
    marks[i].record(stream);
  }
  stream.synchronize("timing");
  std::vector<double> seconds;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    seconds.push_back(marks[i].seconds_since(marks[i - 1]));
  }
  return seconds;
}

}  // namespace qsim::golden::cuda
