// limits_bench [--figures] [--vector PATH] CONFIG.yaml WORKLOAD.yaml...
// What simulating a network, with data, and its golden take, beside what this machine needs for
// their least work alone: the multiplications at the rate of the path's instructions between
// registers, and the bytes at the rate of plain passes over memory, one after the other. Measures
// one vector path, or each that this processor has but the plain C++, on one thread. Without
// --figures it prints a table.
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/figures.h"
#include "bench/golden_cpu/multiply_peak.h"
#include "bench/limits/measure.h"
#include "formats/settings/arch_config_file.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim::bench {

using namespace formats;
using namespace sim;
namespace {

using golden::VectorPath;

struct Options {
  bool figures = false;
  std::vector<VectorPath> paths;
  std::string config;
  std::vector<std::string> workloads;
};

// Those with vector instructions, the best first.
std::vector<VectorPath> available_paths() {
  std::vector<VectorPath> paths;
  for (const VectorPath path : golden::kVectorPaths) {
    if (path != VectorPath::kPortable && golden::is_available(path)) paths.push_back(path);
  }
  if (paths.empty()) paths.push_back(VectorPath::kPortable);
  return paths;
}

VectorPath path_called(const std::string& name) {
  for (const VectorPath path : golden::kVectorPaths) {
    if (golden::vector_path_name(path) == name && golden::is_available(path)) return path;
  }
  throw Error(ExitCode::kUsage, "--vector " + name + ": no path of this processor");
}

Options parse(int argc, char** argv) {
  Options options;
  options.figures = take_figures_option(argc, argv);
  int next = 1;
  if (argc > 2 && std::strcmp(argv[1], "--vector") == 0) {
    options.paths = {path_called(argv[2])};
    next = 3;
  } else {
    options.paths = available_paths();
  }
  if (argc < next + 2) {
    throw Error(ExitCode::kUsage,
                "usage: limits_bench [--figures] [--vector PATH] CONFIG.yaml WORKLOAD.yaml...");
  }
  options.config = argv[next];
  options.workloads.assign(argv + next + 1, argv + argc);
  return options;
}

SystemcEngineOptions engine_options(VectorPath path) {
  for (const qsim::sim::VectorPath candidate : kVectorPaths) {
    if (vector_path_name(candidate) == golden::vector_path_name(path)) return {candidate};
  }
  throw InternalError("the engine lacks a vector path of the golden's");
}

std::vector<double> scaled(std::vector<double> samples, double factor) {
  for (double& sample : samples) sample *= factor;
  return samples;
}

void print_time(const std::string& name, const std::vector<double>& samples) {
  print_figure(time_figure(name, samples));
}

void print_ratio(const std::string& name, const std::vector<double>& a,
                 const std::vector<double>& b) {
  print_figure(median_figure(name, ratios(a, b), "1", Kind::kRatio));
}

// "vpmaddwd and vpaddd, 256 bits" as a word of a figure's name.
std::string word(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == ',') continue;
    result += c == ' ' ? '_' : c;
  }
  return result;
}

// Time, limit with bytes, and their ratio, of the path that qsim takes by itself.
void print_phase(const std::string& name, const std::vector<double>& time,
                 const std::vector<double>& limit) {
  print_time(name + "/time", time);
  print_time(name + "/limit", limit);
  print_ratio(name + "/time_over_limit", time, limit);
}

void print_best_path(const PathMeasurement& found) {
  const std::string name = "limits/" + found.network;
  const auto giga_each = [](double count) { return 1e9 / count; };
  print_time(name + "/multiply_gigamac", scaled(found.multiply, giga_each(found.macs)));
  print_time(name + "/copy_gigabyte",
             scaled(found.copy, giga_each(static_cast<double>(found.simulate_bytes))));
  print_time(name + "/read_gigabyte",
             scaled(found.read, giga_each(static_cast<double>(found.golden_bytes))));
  print_phase(name + "/simulate", found.simulate, sums(found.multiply, found.copy));
  print_phase(name + "/golden", found.golden, sums(found.multiply, found.read));
}

// Each path beside the limit of its instructions alone.
void print_path(const PathMeasurement& found) {
  const std::string name =
      "limits/" + found.network + "/" + std::string(golden::vector_path_name(found.path));
  print_time(name + "/multiply/" + word(multiply_instructions(found.path)), found.multiply);
  print_time(name + "/golden", found.golden);
  print_ratio(name + "/golden_over_multiply", found.golden, found.multiply);
  print_time(name + "/simulate", found.simulate);
  print_ratio(name + "/simulate_over_multiply", found.simulate, found.multiply);
  print_ratio(name + "/simulate_over_golden", found.simulate, found.golden);
}

constexpr const char* kRow = "%-11s  %-10s  %-29s  %8s  %9s  %9s  %8s  %11s  %8s  %9s\n";

double median(const std::vector<double>& samples) {
  return median_figure("limits/median", samples, "s", Kind::kTime).value;
}

std::string fixed(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

void print_titles() {
  std::printf(kRow, "path", "network", "limit: instructions", "GMAC/s", "limit ms", "golden ms",
              "of limit", "simulate ms", "of limit", "x golden");
}

void print_row(const PathMeasurement& found) {
  const auto share = [&](const std::vector<double>& time) {
    return fixed(100 * median(ratios(found.multiply, time)), 0) + "%";
  };
  const auto milliseconds = [](const std::vector<double>& time) {
    return fixed(median(time) * 1e3, 2);
  };
  std::printf(kRow, std::string(golden::vector_path_name(found.path)).c_str(),
              found.network.c_str(), std::string(multiply_instructions(found.path)).c_str(),
              fixed(found.macs / median(found.multiply) * 1e-9, 1).c_str(),
              milliseconds(found.multiply).c_str(), milliseconds(found.golden).c_str(),
              share(found.golden).c_str(), milliseconds(found.simulate).c_str(),
              share(found.simulate).c_str(),
              fixed(median(ratios(found.simulate, found.golden)), 2).c_str());
  std::fflush(stdout);
}

void measure_path(const Options& options, VectorPath path) {
  const auto engine = make_systemc_engine(engine_options(path));
  const ArchConfig arch = load_arch_config(options.config);
  for (const std::string& file : options.workloads) {
    const PathMeasurement found = measure(*engine, path, arch, load_workload(file));
    if (!options.figures) {
      print_row(found);
      continue;
    }
    if (path == golden::resolve(VectorPath::kAuto)) print_best_path(found);
    print_path(found);
  }
}

// Runs `work` with the exit code of its errors.
template <typename Work>
int guarded(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    std::fprintf(stderr, "limits_bench: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "limits_bench: %s\n", error.what());
    return static_cast<int>(ExitCode::kInternal);
  }
  return 0;
}

// A process for each path, because SystemC elaborates once a process.
int run(const Options& options) {
  if (!options.figures) print_titles();
  for (const VectorPath path : options.paths) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) std::exit(guarded([&] { measure_path(options, path); }));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
      std::fprintf(stderr, "limits_bench: a path's process did not end\n");
      return static_cast<int>(ExitCode::kInternal);
    }
    if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  }
  return 0;
}

}  // namespace
}  // namespace qsim::bench

int main(int argc, char** argv) {
  int status = 0;
  const int parsed =
      qsim::bench::guarded([&] { status = qsim::bench::run(qsim::bench::parse(argc, argv)); });
  return parsed != 0 ? parsed : status;
}
