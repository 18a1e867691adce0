// Times of conversions on the GPU with cold caches, beside a plain copy that reads and writes as
// many bytes.
#include <cstdio>

#include "core/base/random.h"
#include "golden/device/cold_timer.h"
#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/device/mixed_copy.h"
#include "golden/kernels/convert/cuda/conversion_cuda.h"
#include "tests/golden/convert/cuda/check_commands.h"

namespace qsim::golden_test {
namespace {

using namespace qsim::golden;
using cuda::CodecPath;
using cuda::DeviceBuffer;

// Random FP16 numbers of many magnitudes around 1, made on the host in a piece and repeated.
DeviceBuffer random_halves(std::int64_t elems) {
  Random random(1);
  std::vector<std::uint16_t> piece(std::size_t{1} << 22);
  for (std::uint16_t& code : piece) {
    code = static_cast<std::uint16_t>((random.next() & 0x93FF) + 0x3000);
  }
  DeviceBuffer buffer(static_cast<std::size_t>(elems) * 2);
  const auto bytes = piece.size() * 2;
  for (std::size_t at = 0; at < buffer.bytes(); at += bytes) {
    cuda::check(cudaMemcpy(buffer.as<char>() + at, piece.data(),
                           std::min(bytes, buffer.bytes() - at), cudaMemcpyHostToDevice),
                "filling a buffer");
  }
  return buffer;
}

struct Work {
  std::string name;
  ElementFormat from, to;
  Quantization how;
};

class Bench {
 public:
  explicit Bench(std::int64_t elems)
      : elems_(elems),
        halves_(random_halves(elems)),
        values_(cuda::poisoned(static_cast<std::size_t>(elems))),
        out_(cuda::poisoned(static_cast<std::size_t>(elems) * 2)),
        scales_(cuda::poisoned(static_cast<std::size_t>(elems) / 4)),
        global_(cuda::poisoned(4)) {}

  void run(const Work& work, CodecPath path) {
    const Shape shape = {elems_ / cols(work.how), cols(work.how)};
    const HalfTensor x{ElementFormat::kHalf, halves_.as<std::uint16_t>(), shape, {}};
    cuda::DeviceQuantized q;
    q.how = work.how;
    q.shape = shape;
    q.values = values_.as();
    q.scales = scales_.as<float>();
    q.scale_codes = scales_.as();
    q.global_scale = global_.as<float>();
    const DeviceBuffer workspace(cuda::quantize_workspace_bytes(shape, work.how));
    const GroupLayout layout = group_layout(shape, work.how);
    const std::int64_t scale_bytes =
        layout.scale_count * (work.how.scales == ScaleFormat::kFp32 ? 4 : 1);
    const std::int64_t code_bytes = layout.rows * layout.row_bytes + scale_bytes;
    const std::int64_t elems = layout.rows * layout.cols;
    cuda::quantize(x, q, workspace.as<void>(), stream_.get());
    stream_.synchronize("preparing");
    const bool to_codes = is_source(work.from);
    const std::int64_t read = to_codes ? 2 * elems : code_bytes;
    const std::int64_t written = to_codes ? code_bytes : elems * (is_source(work.to) ? 2 : 1);
    const auto enqueue = [&](int) {
      if (to_codes) {
        cuda::quantize(x, q, workspace.as<void>(), stream_.get(), path);
      } else if (is_source(work.to)) {
        cuda::dequantize(q, work.to, out_.as<std::uint16_t>(), stream_.get());
      } else {
        cuda::int4_to_fp8(q, work.to, Int4ToFp8::kProduct, out_.as(), stream_.get(), path);
      }
    };
    const std::vector<double> seconds = cuda::time_cold(stream_, 1, enqueue, {8, 5});
    const double copy = cuda::time_mixed_copy(stream_, read / 16 * 16, written / 16 * 16);
    const double best = seconds[seconds.size() / 2];
    if (copy / best < least_share_) {
      least_share_ = copy / best;
      least_name_ = work.name;
    }
    std::printf("%-44s %9.1f us  copy %8.1f us  %5.1f %% of the copy  %6.2f TB/s\n",
                work.name.c_str(), best * 1e6, copy * 1e6, copy / best * 100,
                static_cast<double>(read + written) / best * 1e-12);
    std::fflush(stdout);
  }

  // One line on what was run.
  void sum_up() const {
    if (least_name_.empty()) return;
    std::printf("least share of the copy: %.1f %%, %s\n", least_share_ * 100, least_name_.c_str());
  }

 private:
  // Rows of whole groups, about 4096 elements.
  static std::int64_t cols(const Quantization& how) {
    return how.group > 0 ? 4096 / how.group * how.group : 4096;
  }

  std::int64_t elems_;
  DeviceBuffer halves_, values_, out_, scales_, global_;
  cuda::Stream stream_;
  double least_share_ = 1e9;
  std::string least_name_;
};

std::vector<Work> all_works() {
  using enum ElementFormat;
  const auto groups = [](ElementFormat format, std::int64_t group) {
    return Quantization{.format = format, .group = group};
  };
  std::vector<Work> works;
  const auto add_group = [&](std::int64_t group) {
    const std::string tail = ", groups of " + std::to_string(group);
    works.push_back({"fp16 to fp8_e4m3" + tail, kHalf, kE4m3, groups(kE4m3, group)});
    works.push_back({"fp16 to int4" + tail, kHalf, kInt4, groups(kInt4, group)});
    works.push_back({"int4 to fp8_e4m3" + tail, kInt4, kE4m3, groups(kInt4, group)});
    works.push_back({"int4 to fp16" + tail, kInt4, kHalf, groups(kInt4, group)});
    works.push_back({"fp8_e4m3 to fp16" + tail, kE4m3, kHalf, groups(kE4m3, group)});
  };
  for (const int group : {128, 16, 32, 48, 64, 96, 256, 384, 512}) add_group(group);
  for (const char* name : {"mxfp8", "mxfp4", "nvfp4"}) {
    works.push_back({std::string("fp16 to ") + name, kHalf, kE4m3, preset(name)});
    works.push_back({std::string(name) + " to fp16", preset(name).format, kHalf, preset(name)});
  }
  for (const ElementFormat format : {kInt8, kE5m2, kE2m1}) {
    const std::string name(element_format_name(format));
    works.push_back({"fp16 to " + name + ", groups of 128", kHalf, format, groups(format, 128)});
    works.push_back({name + " to fp16, groups of 128", format, kHalf, groups(format, 128)});
  }
  works.push_back({"fp16 to fp8_e4m3, token", kHalf, kE4m3, groups(kE4m3, kPerToken)});
  works.push_back({"fp16 to fp8_e4m3, tensor", kHalf, kE4m3, groups(kE4m3, kPerTensor)});
  return works;
}

}  // namespace

void bench_conversions(const BenchConversions& options) {
  Bench bench(options.bytes / 2);
  for (const Work& work : all_works()) {
    if (work.name.find(options.only) != std::string::npos) bench.run(work, CodecPath::kAuto);
  }
  Work work = all_works().front();
  work.name += ", in software";
  if (work.name.find(options.only) != std::string::npos) bench.run(work, CodecPath::kSoftware);
  bench.sum_up();
}

}  // namespace qsim::golden_test
