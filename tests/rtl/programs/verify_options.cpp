#include "tests/rtl/programs/verify_options.h"

#include <charconv>
#include <functional>
#include <map>

#include "core/base/error.h"

namespace qsim {
namespace {

[[noreturn]] void usage(const std::string& message) {
  throw Error(ExitCode::kUsage, message + "; --help lists the options");
}

std::uint64_t number(const std::string& option, const std::string& text, std::uint64_t low,
                     std::uint64_t high) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || value < low || value > high) {
    usage(option + " is '" + text + "'; allowed: " + std::to_string(low) + " to " +
          std::to_string(high));
  }
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

using Setter = std::function<void(VerifyOptions&, const std::string& option, const std::string&)>;

std::map<std::string, Setter> valued_options() {
  using O = VerifyOptions;
  using S = const std::string&;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  return {
      {"--programs",
       [](O& o, S name, S v) {
         o.programs = static_cast<std::int64_t>(number(name, v, 1, kMost));
       }},
      {"--seed", [](O& o, S name, S v) { o.seed = number(name, v, 0, kMost); }},
      {"--configs", [](O& o, S, S v) { o.configs = split(v); }},
      {"--jobs",
       [](O& o, S name, S v) { o.jobs = static_cast<std::int64_t>(number(name, v, 1, 256)); }},
      {"--variant", [](O& o, S, S v) { o.variant = v; }},
      {"--cxx", [](O& o, S, S v) { o.compiler = v; }},
      {"--init-seeds",
       [](O& o, S name, S v) {
         o.init_seeds = static_cast<std::uint32_t>(number(name, v, 0, 1000));
       }},
      {"--finders",
       [](O& o, S name, S v) { o.finders = static_cast<std::int64_t>(number(name, v, 1, kMost)); }},
      {"--replay", [](O& o, S, S v) { o.replay = v; }},
      {"--reproducer", [](O& o, S, S v) { o.reproducer_folder = v; }},
  };
}

}  // namespace

const char* const kVerifyUsage =
    R"(usage: verify_rtl [options]

Random programs through the interpreter (bytes), the SystemC model (bytes, cycles), the recurrence
(cycles) and the RTL (bytes; start, free and done of every command). All must be equal.

  --programs N      how many (default 1000), spread over the configurations
  --seed S          first seed (default 0); program i of a configuration has seed S + i
  --configs LIST    names in configs/, or YAML files (default pe4x4,pe8x8,pe16x16,pe16x32)
  --jobs J          processes (default 1)
  --no-rtl          interpreter, SystemC and recurrence alone
  --variant NAME    of the Verilated model: plain (default), assert, coverage
  --cxx COMPILER    of the Verilated model: clang++ (default), g++
  --random-dram     run each program also with random DRAM delays: same bytes
  --init-seeds K    run each program also with random registers and memories, from K seeds in turn
  --require-coverage  fail unless the functional cross is filled
  --finders K       count the programs that differ, up to K of a job, and make none small
  --replay FILE     run the reproducer FILE instead
  --reproducer DIR  where a failing program goes, made as small as possible (default .)

Exit codes: 0 ok, 2 usage, 3 bad input, 5 mismatch, 6 coverage not filled.
)";

VerifyOptions parse_verify_options(const std::vector<std::string>& arguments) {
  VerifyOptions options;
  const std::map<std::string, Setter> valued = valued_options();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--help") {
      options.help = true;
    } else if (name == "--no-rtl") {
      options.has_rtl = false;
    } else if (name == "--random-dram") {
      options.random_dram = true;
    } else if (name == "--require-coverage") {
      options.require_coverage = true;
    } else if (const auto found = valued.find(name); found == valued.end()) {
      usage("unknown option '" + name + "'");
    } else if (++i == arguments.size() || arguments[i].empty()) {
      usage(name + " needs a value");
    } else {
      found->second(options, name, arguments[i]);
    }
  }
  if (!options.has_rtl && (options.random_dram || options.init_seeds > 0)) {
    usage("--no-rtl excludes --random-dram and --init-seeds");
  }
  return options;
}

}  // namespace qsim
