#include <algorithm>
#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>

#include "cli/host_tensors/preprocess.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "formats/pictures/cifar.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/golden/cuda/check_commands.h"
#include "tests/golden/cuda/ofmap_difference.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden_test {

using namespace cli;
using namespace formats;
namespace {

using golden::CudaGraphExecutor;
using golden::CudaKeep;
using golden::CudaPath;

constexpr int kMostPrinted = 10;  // mismatches

struct Batch {
  Tensor input;  // of the graph's batch; pictures beyond `pictures` are zeros
  std::int64_t pictures = 0;
  std::vector<int> labels;  // one a picture, or none
};

struct Network {
  Graph graph;
  std::vector<Batch> batches;
};

Graph with_batch_of_one(Graph graph) {
  graph.input_value().shape.batch = 1;
  for (Value& tensor : graph.tensors) tensor.shape.batch = 1;
  return graph;
}

// The bytes of one picture: the batch is the outermost axis.
std::span<const std::byte> picture_of(const Tensor& tensor, std::int64_t picture) {
  const std::size_t bytes = tensor.bytes.size() / static_cast<std::size_t>(tensor.shape[0]);
  return std::span(tensor.bytes).subspan(static_cast<std::size_t>(picture) * bytes, bytes);
}

std::vector<Batch> cifar_batches(const NetworkOptions& options, const Graph& graph) {
  const std::filesystem::path& model = options.onnx.empty() ? options.workload : options.onnx;
  const std::optional<Sidecar> sidecar = load_sidecar_of(model);
  if (!sidecar) throw_bad_input(model.string() + ": no sidecar says how a picture is read");
  const InputForm single = one_picture(input_form(graph));
  const std::int64_t available = cifar_count(*options.images);
  if (options.count > available) {
    throw_bad_input(options.images->string() + ": " + std::to_string(options.count) +
                    " pictures are wanted, and it has " + std::to_string(available));
  }
  const std::int64_t count = options.count == 0 ? available : options.count;
  const std::int64_t size = graph.input_value().shape.batch;
  std::vector<Batch> batches;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % size == 0) {
      batches.push_back(
          {Tensor(graph.input_value().dtype, graph.input_value().shape.nhwc()), 0, {}});
    }
    Batch& batch = batches.back();
    const CifarRecord record = read_cifar(*options.images, i);
    const Tensor picture = preprocess(record.image, *sidecar, single);
    std::copy(picture.bytes.begin(), picture.bytes.end(),
              batch.input.bytes.begin() +
                  batch.pictures * static_cast<std::ptrdiff_t>(picture.bytes.size()));
    batch.labels.push_back(record.label);
    ++batch.pictures;
  }
  return batches;
}

Network load(const NetworkOptions& options) {
  Network network;
  const std::int64_t batch = options.batch;
  if (!options.workload.empty()) {
    Workload workload = load_workload(options.workload, batch);
    network.graph = std::move(workload.graph);
    network.batches.push_back({std::move(workload.input), batch, {}});
  } else {
    network.graph = import_onnx(options.onnx, batch);
    Random random(1);
    const Value& input = network.graph.input_value();
    network.batches.push_back(
        {random_tensor(random, input.dtype, input.shape.nhwc()), input.shape.batch, {}});
  }
  if (options.images) network.batches = cifar_batches(options, network.graph);
  return network;
}

// The index of the largest element, the first of equals.
int top_1(std::span<const std::byte> ofmap, DType dtype) {
  const auto value = [&](std::byte byte) {
    const auto raw = std::to_integer<std::uint8_t>(byte);
    return dtype == DType::kUint8 ? int{raw} : int{static_cast<std::int8_t>(raw)};
  };
  const auto largest = std::max_element(
      ofmap.begin(), ofmap.end(), [&](std::byte a, std::byte b) { return value(a) < value(b); });
  return static_cast<int>(largest - ofmap.begin());
}

class NetworkCheck {
 public:
  explicit NetworkCheck(const Network& network)
      : network_(network), single_(with_batch_of_one(network.graph)), cpu_(single_) {}

  void run(CudaPath path, CudaKeep keep, const char* keep_name) {
    const std::int64_t mismatches_before = mismatches_;
    cpu_correct_ = 0;
    varied_.assign(network_.graph.layers.size(), Seen::kNot);
    std::int64_t pictures = 0;
    std::int64_t correct = 0;
    std::int64_t bytes = 0;
    CudaGraphExecutor cuda(network_.graph, {.path = path, .keep = keep});
    for (const Batch& batch : network_.batches) {
      const std::vector<Tensor> ofmaps = cuda.run(batch.input);
      bytes += compare(batch, ofmaps);
      pictures += batch.pictures;
      for (std::size_t i = 0; i < batch.labels.size(); ++i) {
        const Tensor& last = ofmaps.back();
        const int found = top_1(picture_of(last, static_cast<std::int64_t>(i)), last.dtype);
        correct += found == batch.labels[i] ? 1 : 0;
      }
    }
    std::cout << network_.graph.name << ", batch " << network_.graph.input_value().shape.batch
              << ", path " << golden::cuda_path_name(path) << ", keep " << keep_name << ": "
              << pictures << " pictures, " << bytes << " bytes compared, "
              << mismatches_ - mismatches_before << " mismatching ofmaps";
    if (!network_.batches.front().labels.empty()) {
      std::cout << ", top-1 " << correct << " of " << pictures;
      if (correct != cpu_correct_) {
        std::cout << " (golden CPU: " << cpu_correct_ << ")";
        ++mismatches_;
      }
    }
    std::cout << std::endl;
    if (bytes == 0) complain("nothing was compared");
    for (std::size_t i = 0; i < varied_.size(); ++i) {
      if (varied_[i] == Seen::kConstant) {
        complain("every value of layer " + network_.graph.layers[i].name + " is the same");
      }
    }
  }

  std::int64_t mismatches() const { return mismatches_; }
  bool shows_something() const { return complete_; }

 private:
  enum class Seen : std::uint8_t { kNot, kConstant, kVaried };

  void complain(const std::string& what) {
    std::cout << "shows nothing: " << what << "\n";
    complete_ = false;
  }

  // Every ofmap that `ofmaps` has, picture by picture, in a thread a core. Returns the bytes.
  std::int64_t compare(const Batch& batch, const std::vector<Tensor>& ofmaps) {
    std::atomic<std::int64_t> next = 0;
    std::atomic<std::int64_t> bytes = 0;
    const auto work = [&] {
      Tensor input(single_.input_value().dtype, single_.input_value().shape.nhwc());
      std::vector<Tensor> expected;
      for (std::int64_t i = next++; i < batch.pictures; i = next++) {
        const auto picture = picture_of(batch.input, i);
        std::copy(picture.begin(), picture.end(), input.bytes.begin());
        cpu_.run(input, expected);
        bytes += compare_picture(i, ofmaps, expected);
        if (batch.labels.empty()) continue;
        const Tensor& last = expected.back();
        if (top_1(last.bytes, last.dtype) == batch.labels[static_cast<std::size_t>(i)]) {
          ++cpu_correct_;
        }
      }
    };
    std::vector<std::jthread> threads;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < cores; ++i) threads.emplace_back(work);
    threads.clear();  // joins
    return bytes;
  }

  std::int64_t compare_picture(std::int64_t picture, const std::vector<Tensor>& ofmaps,
                               const std::vector<Tensor>& expected) {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < ofmaps.size(); ++i) {
      if (ofmaps[i].bytes.empty()) continue;
      const std::span<const std::byte> got = picture_of(ofmaps[i], picture);
      const OfmapDifference difference = compare_ofmaps(got, expected[i].bytes, expected[i].dtype);
      bytes += static_cast<std::int64_t>(got.size());
      const bool constant = is_constant(expected[i].bytes);
      const std::scoped_lock lock(mutex_);
      if (varied_[i] != Seen::kVaried) varied_[i] = constant ? Seen::kConstant : Seen::kVaried;
      if (difference.bytes == 0) continue;
      const Layer& layer = single_.layers[i];
      if (mismatches_++ >= kMostPrinted) continue;
      std::cout << "MISMATCH picture " << picture << " of its batch, layer " << layer.name << " at "
                << difference_text(difference, single_.output_of(i).shape) << "\n";
    }
    return bytes;
  }

  const Network& network_;
  Graph single_;
  golden::GraphExecutor cpu_;
  std::mutex mutex_;
  std::int64_t mismatches_ = 0;
  std::atomic<std::int64_t> cpu_correct_ = 0;
  std::vector<Seen> varied_;  // one a layer; of a run
  bool complete_ = true;
};

}  // namespace

ExitCode check_network(const NetworkOptions& options) {
  const Network network = load(options);
  NetworkCheck check(network);
  for (const CudaPath path : options.paths) {
    check.run(path, CudaKeep::kEvery, "every");
    check.run(path, CudaKeep::kStored, "stored");
    check.run(path, CudaKeep::kLast, "last");
  }
  if (check.mismatches() > 0) return ExitCode::kMismatch;
  return check.shows_something() ? ExitCode::kOk : ExitCode::kInternal;
}

}  // namespace qsim::golden_test
