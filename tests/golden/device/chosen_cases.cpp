#include "tests/golden/device/chosen_cases.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <cxxabi.h>

#include "tests/golden/device/launched_kernels.h"

namespace qsim::golden_test {
namespace {

// "linear_rows<8, 128, 16>": without namespaces, result and parameters.
std::string readable(const std::string& mangled) {
  int status = 0;
  char* name = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string text = status == 0 ? name : mangled;
  std::free(name);
  for (const std::string part :
       {"void ", "(anonymous namespace)::", "qsim::", "golden::", "cuda::", "train::"}) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) {
      text.erase(at, part.size());
    }
  }
  const std::size_t templated = text.find(">(");
  return text.substr(0, templated != std::string::npos ? templated + 1 : text.find('('));
}

std::size_t missing_of(const MetByCase& one, const std::set<std::size_t>& covered) {
  return static_cast<std::size_t>(std::count_if(
      one.met.begin(), one.met.end(), [&](std::size_t item) { return !covered.contains(item); }));
}

double cost_of(const MetByCase& one) {
  constexpr double kOverheadSeconds = 1e-3;  // of any case
  constexpr double kMacsPerSecond = 1e7;     // under racecheck, about
  return kOverheadSeconds + one.seconds + one.macs / kMacsPerSecond;
}

// Whether the others of `taken` meet all that `one` meets.
bool is_needless(const MetByCase& one, const std::vector<const MetByCase*>& taken) {
  return std::all_of(one.met.begin(), one.met.end(), [&](std::size_t item) {
    return std::any_of(taken.begin(), taken.end(), [&](const MetByCase* other) {
      return other != &one && other->met.contains(item);
    });
  });
}

}  // namespace

std::vector<std::string> covering_cases(const std::vector<MetByCase>& cases) {
  std::set<std::size_t> covered;
  std::vector<const MetByCase*> taken;
  while (true) {
    const MetByCase* best = nullptr;
    double most = 0;
    for (const MetByCase& one : cases) {
      const double share = static_cast<double>(missing_of(one, covered)) / cost_of(one);
      if (share > most) {
        most = share;
        best = &one;
      }
    }
    if (best == nullptr) break;
    covered.insert(best->met.begin(), best->met.end());
    taken.push_back(best);
  }
  std::vector<const MetByCase*> by_time = taken;
  std::stable_sort(by_time.begin(), by_time.end(),
                   [](const auto* a, const auto* b) { return cost_of(*a) > cost_of(*b); });
  for (const MetByCase* one : by_time) {
    if (is_needless(*one, taken)) std::erase(taken, one);
  }
  std::sort(taken.begin(), taken.end());  // as in `cases`
  std::vector<std::string> names;
  for (const MetByCase* one : taken) names.push_back(one->name);
  return names;
}

ChosenCases::ChosenCases(CLI::App& command) {
  CLI::Option* chosen =
      command.add_option("--chosen", chosen_, "only these of the cases, as --cover prints them")
          ->delimiter(',');
  command.add_flag("--cover", covers_, "print a few cases that launch all kernels that all launch")
      ->excludes(chosen);
}

void ChosenCases::close_case() {
  if (cases_.empty()) return;
  for (const std::size_t kernel : take_launched_kernels()) cases_.back().met.insert(kernel);
  cases_.back().seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

bool ChosenCases::begin(const std::string& name) {
  if (!all() && std::find(chosen_.begin(), chosen_.end(), name) == chosen_.end()) return false;
  close_case();
  cases_.push_back({name, {}, 0, 0});
  began_ = std::chrono::steady_clock::now();
  return true;
}

ExitCode ChosenCases::end(ExitCode result) {
  close_case();
  const std::vector<std::string> names = kernel_names();
  std::set<std::size_t> met;
  for (const MetByCase& one : cases_) met.insert(one.met.begin(), one.met.end());
  if (covers_) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::cout << (met.contains(i) ? "launched: " : "not launched: ") << readable(names[i])
                << "\n";
    }
    std::cout << "covering cases:";
    for (const std::string& name : covering_cases(cases_)) std::cout << " " << name;
    std::cout << "\n";
  }
  if (!all()) {  // several processes may share the chosen cases
    std::cout << "launched kernels by number:";
    for (const std::size_t kernel : met) std::cout << " " << kernel;
    std::cout << "\n";
  }
  if (covers_ || !all()) {
    std::cout << "kernels launched: " << met.size() << " of " << names.size() << std::endl;
  }
  if (!all() && cases_.size() != chosen_.size()) {
    std::cout << "only " << cases_.size() << " of the " << chosen_.size()
              << " chosen cases are there\n";
    return ExitCode::kInternal;
  }
  return result;
}

}  // namespace qsim::golden_test
