// golden_convert_bench [--runs N] [--figures]
// Group conversions on one thread, by instruction set, beside a copy that reads and writes as many
// bytes: CPU times of the three in turn, on buffers larger than the caches.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/common/cpu_clock.h"
#include "bench/common/figures.h"
#include "core/base/random.h"
#include "golden/kernels/convert/conversion.h"

namespace qsim {
namespace {

using namespace qsim::golden;

constexpr std::int64_t kRows = 8192;
constexpr std::int64_t kCols = 4096;                  // 64 MiB of 16-bit elements
constexpr std::size_t kPiece = std::size_t{1} << 20;  // of the copy, as golden convert --bench

struct Case {
  const char* name;
  Quantization how;
};

std::vector<Case> cases() {
  const auto groups = [](ElementFormat format, std::int64_t group) {
    return Quantization{.format = format, .group = group};
  };
  return {{"fp8_e4m3_g128", groups(ElementFormat::kE4m3, 128)},
          {"int8_g128", groups(ElementFormat::kInt8, 128)},
          {"int4_g128", groups(ElementFormat::kInt4, 128)},
          {"fp8_e4m3_g16", groups(ElementFormat::kE4m3, 16)},
          {"int4_g32", groups(ElementFormat::kInt4, 32)},
          {"mxfp8", preset("mxfp8")},
          {"mxfp4", preset("mxfp4")},
          {"nvfp4", preset("nvfp4")},
          {"fp8_e4m3_token", groups(ElementFormat::kE4m3, kPerToken)}};
}

std::vector<std::uint16_t> random_halves() {
  Random random(1);
  std::vector<std::uint16_t> codes(static_cast<std::size_t>(kRows * kCols));
  for (std::uint16_t& code : codes) {
    code = static_cast<std::uint16_t>((random.next() & 0x93FF) + 0x3000);
  }
  return codes;
}

class Bench {
 public:
  Bench(int runs, bool figures) : runs_(runs), figures_(figures) {}

  void measure(const Case& one, VectorPath path) {
    const HalfTensor x{ElementFormat::kHalf, codes_.data(), {kRows, kCols}, {}};
    QuantizedTensor q;
    quantize(x, one.how, team_, path, q);
    dequantize(q, ElementFormat::kHalf, team_, path, back_);
    std::vector<std::uint8_t> fp8;
    const bool is_int4 = one.how.format == ElementFormat::kInt4;
    std::vector<double> to, from, to_fp8;
    const std::size_t halves = codes_.size() * 2;
    for (int run = 0; run < runs_; ++run) {
      const double copy = copy_time((halves + q.values.size()) / 2);
      to.push_back(bench::cpu_seconds_of([&] { quantize(x, one.how, team_, path, q); }) / copy);
      from.push_back(
          bench::cpu_seconds_of([&] { dequantize(q, ElementFormat::kHalf, team_, path, back_); }) /
          copy);
      if (!is_int4) continue;
      const auto convert = [&] {
        int4_to_fp8(q, ElementFormat::kE4m3, Int4ToFp8::kProduct, team_, path, fp8);
      };
      if (run == 0) convert();
      to_fp8.push_back(bench::cpu_seconds_of(convert) /
                       copy_time((codes_.size() + q.values.size()) / 2));
    }
    const std::string name =
        "golden_convert/" + std::string(vector_path_name(path)) + "/" + one.name;
    report(name + "/to", to);
    report(name + "/back", from);
    if (is_int4) report(name + "/to_fp8", to_fp8);
  }

 private:
  double copy_time(std::size_t bytes) {
    from_.resize(bytes, 1);
    to_.resize(bytes, 1);
    return bench::cpu_seconds_of([&] {
      for (std::size_t at = 0; at < bytes; at += kPiece) {
        std::memcpy(&to_[at], &from_[at], std::min(kPiece, bytes - at));
      }
    });
  }

  void report(const std::string& name, const std::vector<double>& ratios) const {
    const bench::Figure ratio =
        bench::median_figure(name + "/over_copy", ratios, "1", bench::Kind::kRatio);
    if (figures_) {
      bench::print_figure(ratio);
    } else {
      std::printf("%-52s %5.1f%% of the speed of a copy\n", name.c_str(), 100 / ratio.value);
      std::fflush(stdout);
    }
  }

  int runs_;
  bool figures_;
  ThreadTeam team_{1};
  std::vector<std::uint16_t> codes_ = random_halves();
  std::vector<std::uint16_t> back_;
  std::vector<std::uint8_t> from_, to_;
};

void run(int argc, char** argv) {
  const bool figures = bench::take_figures_option(argc, argv);
  int runs = 9;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--runs") == 0) runs = std::max(1, std::atoi(argv[i + 1]));
  }
  Bench bench(runs, figures);
  for (const VectorPath path : {VectorPath::kAvx512Vnni, VectorPath::kAvx2}) {
    if (!is_available(path)) continue;
    for (const Case& one : cases()) bench.measure(one, path);
  }
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  try {
    qsim::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden_convert_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
