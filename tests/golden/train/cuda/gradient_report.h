// What the random cases of golden_train_gradient_cuda_check have found, by call.
#pragma once

#include <cstdint>
#include <iostream>
#include <map>
#include <string>

namespace qsim::golden_test {

class GradientReport {
 public:
  // `share`: of the bound, at most 1 where it is kept; `text` says which case.
  void add(const std::string& call, double share, const std::string& text) {
    Line& line = lines_[call];
    ++line.cases;
    if (!(share <= line.greatest)) line.greatest = share;
    if (share <= 1) return;
    ++line.wrong;
    if (++wrong_ <= 20) std::cout << call << ": " << share << " of the bound: " << text << "\n";
  }
  // Adds a result that is right or wrong.
  void add_exact(const std::string& call, bool same, const std::string& text) {
    add(call, same ? 0 : 2, text);
  }
  bool print() const {
    for (const auto& [call, line] : lines_) {
      std::cout << call << ": " << line.cases << " cases, " << line.wrong << " wrong, at most "
                << line.greatest << " of the bound\n";
    }
    std::uint64_t cases = 0;
    for (const auto& [call, line] : lines_) cases += line.cases;
    std::cout << cases << " comparisons of gradients, " << wrong_ << " wrong" << std::endl;
    return wrong_ == 0;
  }

 private:
  struct Line {
    std::uint64_t cases = 0, wrong = 0;
    double greatest = 0;
  };
  std::map<std::string, Line> lines_;
  std::uint64_t wrong_ = 0;
};

}  // namespace qsim::golden_test
