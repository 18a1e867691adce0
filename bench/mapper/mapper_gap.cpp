// How far the fast search is from the best known: random layers as networks have them
// (tests/compiler/shape_layer.h), one line each: cycles, DRAM bytes, CPU milliseconds of the fast
// search and, with a budget, of the full one.
// Arguments: FIRST_SEED COUNT SECONDS CONFIG.yaml ...; SECONDS 0: the fast search alone.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/common/cpu_clock.h"
#include "compiler/lowering/mapper.h"
#include "core/error.h"
#include "files/arch_config_file.h"
#include "tests/compiler/shape_layer.h"

namespace qsim {
namespace {

void print(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options) {
  const double begin = bench::cpu_seconds();
  const MappedLayer m = map_layer(planned, arch, options);
  std::printf(" | %llu cycles %llu bytes %.2f ms %lld timed %s",
              static_cast<unsigned long long>(m.cost.cycles),
              static_cast<unsigned long long>(m.cost.read_bytes() + m.cost.write_bytes),
              (bench::cpu_seconds() - begin) * 1e3, static_cast<long long>(m.timed),
              m.is_complete ? "complete" : "stopped");
}

void run(std::uint64_t seed, double seconds, const std::vector<ArchConfig>& archs) {
  Random random(seed);
  const testing::LayerShape shape = testing::realistic_shape(random);
  const ArchConfig& arch = archs[static_cast<std::size_t>(
      random.uniform(0, static_cast<std::int64_t>(archs.size()) - 1))];
  const testing::ShapeLayer layer(shape, arch);
  std::printf("%llu %s %s", static_cast<unsigned long long>(seed), arch.name.c_str(),
              shape.text().c_str());
  try {
    print(*layer, arch, {});
    if (seconds > 0) {
      MapperOptions options;
      options.search = MappingSearch::kFull;
      options.budget_seconds = seconds;
      print(*layer, arch, options);
    }
  } catch (const Error& error) {
    std::printf(" | %s", error.what());
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: mapper_gap FIRST_SEED COUNT SECONDS CONFIG.yaml ...\n");
    return 2;
  }
  std::vector<qsim::ArchConfig> archs;
  for (int i = 4; i < argc; ++i) archs.push_back(qsim::load_arch_config(argv[i]));
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    qsim::run(seed, std::strtod(argv[3], nullptr), archs);
  }
}
