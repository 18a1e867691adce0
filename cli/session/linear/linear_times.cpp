#include "cli/session/linear/linear_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "golden/common/memory_bandwidth.h"
#include "golden/device/copy_time.h"
#include "golden/kernels/linear/cuda/cuda_int8_linear.h"
#include "golden/kernels/linear/cuda/cuda_linear.h"
#include "golden/kernels/linear/float_linear.h"
#include "golden/kernels/linear/quantizer.h"

namespace qsim::cli {
namespace {

using golden::FloatMatrix;

constexpr int kPipelines[] = {2, 3, 4, 5, 6, 8, 12};
constexpr int kReadRounds = 9;
constexpr std::size_t kLeastReadBytes = std::size_t{1} << 20;

golden::VectorPath vector_path(const LinearOptions& options) {
  for (const golden::VectorPath path : golden::kVectorPaths) {
    if (golden::vector_path_name(path) == options.vector) return path;
  }
  return golden::VectorPath::kAuto;
}

void set_times(std::vector<double> seconds, LinearTime& time) {
  std::sort(seconds.begin(), seconds.end());
  for (const double one : seconds) time.mean_seconds += one / static_cast<double>(seconds.size());
  const auto at = [&](double share) {
    const auto rank = std::ceil(share * static_cast<double>(seconds.size()));
    return seconds[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  };
  time.least_seconds = seconds.front();
  time.p50_seconds = at(0.5);
  time.p95_seconds = at(0.95);
}

// Runs work(i), i = 0, 1, ..., and fills the times of those after the warm-up.
void time_runs(const LinearOptions& options, const std::function<void(std::size_t)>& work,
               LinearTime& time) {
  std::vector<double> seconds;
  for (std::int64_t i = -options.warmup; i < options.iterations; ++i) {
    double one = 0;
    timed(one, [&] { work(static_cast<std::size_t>(i + options.warmup)); });
    if (i >= 0) seconds.push_back(one);
  }
  set_times(std::move(seconds), time);
}

std::size_t copies_of(const LinearOptions& options, std::int64_t bytes) {
  constexpr std::size_t kMostCopies = 4096;  // small layers stay in the cache
  return options.bench ? std::min(kColdBytes / static_cast<std::size_t>(bytes) + 1, kMostCopies)
                       : 1;
}

std::int64_t io_bytes(const LinearSource& source, const FloatMatrix& y) {
  return static_cast<std::int64_t>(source.x.bytes.size() + y.bytes.size() +
                                   source.bias.size() * sizeof(float));
}

// Largest and mean magnitude of a - b; differences that are not finite are left out.
void set_errors(const FloatMatrix& a, const FloatMatrix& b, LinearTime& time) {
  double largest = 0;
  double sum = 0;
  const auto count = static_cast<std::size_t>(a.rows * a.columns);
  for (std::size_t i = 0; i < count; ++i) {
    const double error = std::abs(static_cast<double>(golden::float_of(a.fp32_bits(i))) -
                                  static_cast<double>(golden::float_of(b.fp32_bits(i))));
    if (!std::isfinite(error)) continue;
    largest = std::max(largest, error);
    sum += error;
  }
  time.max_error = largest;
  time.mean_error = sum / static_cast<double>(count);
}

class TimedLinear {
 public:
  TimedLinear(const LinearOptions& options, const LinearSource& source, const LinearSize& size,
              golden::ThreadTeam& team)
      : options_(options),
        source_(source),
        size_(size),
        team_(team),
        is_int8_(options.activations == "int8"),
        device_(static_cast<int>(options.device)) {
    activations_.scale = options.activation_scale;
  }

  LinearMeasurement run() {
    result_.quantize_seconds = source_.quantize_seconds;
    for (const std::string& mode : options_.modes) {
      LinearTime time;
      time.mode = mode;
      time.size = size_;
      time.rows = source_.x.rows;
      if (options_.profile) {
        run_once(mode);
        continue;
      }
      if (mode == "cpu_fp32") time_float(time);
      if (mode == "cpu_int8") time_packed(time);
      if (mode == "gpu_int8") time_on_gpu(time);
      result_.modes.push_back(time);
    }
    compare_with_float();
    return std::move(result_);
  }

 private:
  // Each kernel runs after its warm-up; nothing is timed.
  void run_once(const std::string& mode) {
    const golden::FloatType y_type = linear_y_type(options_, source_.x.type);
    const auto repeat = [&](const auto& work) {
      for (std::int64_t i = 0; i <= options_.warmup; ++i) result_.y = work();
    };
    if (mode == "cpu_fp32") {
      repeat([&] {
        return golden::float_linear(source_.x, source_.float_weights, source_.bias,
                                    vector_path(options_), team_);
      });
    } else if (mode == "cpu_int8") {
      const golden::PackedLinear layer(source_.weights, source_.bias, {vector_path(options_), {}});
      repeat([&] { return run_packed(layer, y_type); });
    } else if (is_int8_) {
      const golden::CudaInt8Linear layer(source_.weights, source_.bias, device_);
      repeat([&] { return layer.run(source_.x, activations_, y_type); });
    } else {
      const golden::CudaLinear layer(source_.weights, source_.bias, device_);
      repeat([&] { return layer.run(source_.x, y_type); });
    }
  }

  FloatMatrix run_packed(const golden::PackedLinear& layer, golden::FloatType y_type) {
    return is_int8_ ? layer.run_int8(source_.x, activations_, y_type, team_)
                    : layer.run(source_.x, y_type, team_);
  }

  FloatMatrix run_on_gpu(golden::FloatType y_type) {
    if (!is_int8_) {
      return golden::CudaLinear(source_.weights, source_.bias, device_).run(source_.x, y_type);
    }
    const golden::CudaInt8Linear layer(source_.weights, source_.bias, device_);
    return layer.run(source_.x, activations_, y_type);
  }

  std::vector<double> gpu_seconds(const golden::LinearTimingCase& one) const {
    return is_int8_ ? golden::time_int8_linear(one, golden::Int8LinearKernel::kAuto, device_)
                    : golden::time_linear(one, device_);
  }

  // Values on these numbers; times on random ones, with cold caches.
  void time_on_gpu(LinearTime& time) {
    const golden::FloatType y_type = linear_y_type(options_, source_.x.type);
    result_.y = run_on_gpu(y_type);
    integer_y_ = result_.y;
    golden::LinearTimingCase one;
    one.rows = source_.x.rows;
    one.in_features = size_.in_features;
    one.out_features = size_.out_features;
    one.group_size = source_.weights.group_size;
    one.bits = source_.weights.bits;
    one.type = source_.x.type;
    one.y_type = y_type;
    one.has_bias = !source_.bias.empty();
    one.runs = static_cast<int>(options_.iterations);
    time.bytes = golden::linear_bytes(one);
    const auto written = static_cast<std::int64_t>(result_.y.bytes.size());
    time.read_bytes_per_second =
        static_cast<double>(time.bytes) / golden::time_copy(time.bytes - written, written, device_);
    set_times(gpu_seconds(one), time);
    if (options_.sweep == "1" && !is_int8_) sweep_pipelines(one);
  }

  void sweep_pipelines(golden::LinearTimingCase one) {
    for (const int stages : kPipelines) {
      one.stages = stages;
      if (!golden::has_pipeline(one, device_)) continue;
      LinearTime time;
      set_times(golden::time_linear(one, device_), time);
      result_.pipelines.push_back({stages, time.p50_seconds});
    }
  }

  void time_float(LinearTime& time) {
    const auto bytes = static_cast<std::int64_t>(source_.float_weights.size() * sizeof(float));
    const std::vector<std::vector<float>> copies(copies_of(options_, bytes), source_.float_weights);
    measure_limit(static_cast<std::size_t>(bytes) * copies.size(), time);
    time_runs(
        options_,
        [&](std::size_t i) {
          float_y_ = golden::float_linear(source_.x, copies[i % copies.size()], source_.bias,
                                          vector_path(options_), team_);
        },
        time);
    time.bytes = bytes + io_bytes(source_, *float_y_);
    result_.y = *float_y_;
  }

  void time_packed(LinearTime& time) {
    measure_transposition();
    std::optional<golden::PackedLinear> layer;
    timed(result_.pack_seconds, [&] {
      layer.emplace(source_.weights, source_.bias,
                    golden::PackedLinearOptions{vector_path(options_), {}});
    });
    const std::vector<golden::PackedLinear> copies(copies_of(options_, layer->weight_bytes()),
                                                   *layer);
    measure_limit(static_cast<std::size_t>(layer->weight_bytes()) * copies.size(), time);
    const golden::FloatType y_type = linear_y_type(options_, source_.x.type);
    time_runs(
        options_, [&](std::size_t i) { result_.y = run_packed(copies[i % copies.size()], y_type); },
        time);
    integer_y_ = result_.y;
    time.bytes = layer->weight_bytes() + io_bytes(source_, result_.y);
    if (options_.sweep == "1") sweep(y_type);
  }

  void sweep(golden::FloatType y_type) {
    for (const golden::TileShape shape : golden::kTileShapes) {
      const golden::PackedLinear layer(source_.weights, source_.bias,
                                       {vector_path(options_), shape});
      LinearTime time;
      FloatMatrix y;
      time_runs(
          options_, [&](std::size_t) { y = run_packed(layer, y_type); }, time);
      QSIM_CHECK(y == result_.y, "the shape of tiles changed a bit");
      result_.tiles.push_back({shape, time.p50_seconds});
    }
  }

  void measure_transposition() {
    const golden::LinearWeights& weights = source_.weights;
    timed(result_.transpose_seconds,
          [&] { golden::transposed(weights.values, weights.out_features, weights.in_features); });
  }

  void measure_limit(std::size_t bytes, LinearTime& time) {
    time.read_bytes_per_second =
        golden::measure_read_bytes(team_, std::max(bytes, kLeastReadBytes), kReadRounds);
  }

  void compare_with_float() {
    if (options_.profile) return;
    const auto base = std::find_if(result_.modes.begin(), result_.modes.end(),
                                   [](const LinearTime& time) { return time.mode == "cpu_fp32"; });
    if (base == result_.modes.end()) return;
    for (LinearTime& time : result_.modes) {
      time.speedup = base->p50_seconds / time.p50_seconds;
      set_errors(time.mode == "cpu_fp32" ? *float_y_ : *integer_y_, *float_y_, time);
    }
  }

  const LinearOptions& options_;
  const LinearSource& source_;
  const LinearSize size_;
  golden::ThreadTeam& team_;
  const bool is_int8_;  // the activations
  golden::Int8Activations activations_;
  const int device_;
  std::optional<FloatMatrix> float_y_;
  std::optional<FloatMatrix> integer_y_;  // of cpu_int8 and gpu_int8: the same bits
  LinearMeasurement result_;
};

}  // namespace

LinearMeasurement measure_linear(const LinearOptions& options, const LinearSource& source,
                                 const LinearSize& size, golden::ThreadTeam& team) {
  return TimedLinear(options, source, size, team).run();
}

}  // namespace qsim::cli
