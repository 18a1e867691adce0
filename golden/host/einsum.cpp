#include <algorithm>
#include <map>
#include <string>

#include "golden/host/movement.h"

namespace qsim::golden {
namespace {

// "ij,jk->ik": the axes of each input and of the output, a letter each.
struct Equation {
  std::vector<std::string> inputs = {""};
  std::string output;
};

Equation equation_of(const HostCall& call) {
  std::string text = call.attribute("equation", "");
  std::erase(text, ' ');
  if (text.find("...") != std::string::npos) call.refuse("an ellipsis", "a letter for each axis");
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::map<char, int> uses;
  for (const char c : text.substr(0, arrow)) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c != ',' && !is_letter) call.malformed("an equation of other signs", "letters and ','");
    if (c == ',') {
      equation.inputs.emplace_back();
    } else {
      equation.inputs.back() += c;
      ++uses[c];
    }
  }
  if (arrow == std::string::npos) {
    for (const auto& [letter, count] : uses) {
      if (count == 1) equation.output += letter;
    }
  } else {
    equation.output = text.substr(arrow + 2);
  }
  for (const char c : equation.output) {
    if (!uses.contains(c) || std::ranges::count(equation.output, c) > 1) {
      call.malformed("an output of other letters", "letters of the inputs, each once");
    }
  }
  return equation;
}

// The size of each letter. An axis of 1 is repeated where the letter has another size.
std::map<char, std::int64_t> letter_sizes(const HostCall& call, const Equation& equation) {
  if (equation.inputs.size() != call.inputs()) {
    call.malformed(std::to_string(call.inputs()) + " inputs",
                   std::to_string(equation.inputs.size()));
  }
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    const std::string& letters = equation.inputs[i];
    if (letters.size() != call.shape(i).size() || call.dtype(i) != call.dtype(0)) {
      call.malformed("input " + std::to_string(i) + " " + shape_text(call.shape(i)),
                     std::to_string(letters.size()) + " axes and one type");
    }
    for (std::size_t d = 0; d < letters.size(); ++d) {
      const std::int64_t size = call.shape(i)[d];
      std::int64_t& known = sizes.try_emplace(letters[d], size).first->second;
      if (known != size && known != 1 && size != 1) {
        call.malformed(
            "a letter of sizes " + std::to_string(known) + " and " + std::to_string(size),
            "one size");
      }
      if (known == 1) known = size;
    }
  }
  return sizes;
}

// A loop over some letters: their sizes, and for each letter the step of each input.
struct Loop {
  Shape sizes;
  std::vector<Integers> steps;

  // Moves on to the next position; false after the last one.
  bool advance(Integers& at, Integers& offsets) const {
    for (std::size_t d = sizes.size(); d-- > 0;) {
      const bool wraps = ++at[d] == sizes[d];
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        offsets[i] += wraps ? -steps[d][i] * (sizes[d] - 1) : steps[d][i];
      }
      if (!wraps) return true;
      at[d] = 0;
    }
    return false;
  }
};

Loop loop_of(const HostCall& call, const Equation& equation,
             const std::map<char, std::int64_t>& sizes, const std::string& letters) {
  Loop loop;
  for (const char letter : letters) {
    loop.sizes.push_back(sizes.at(letter));
    Integers steps(call.inputs(), 0);
    for (std::size_t i = 0; i < call.inputs(); ++i) {
      const Integers own = row_major_steps(call.shape(i));
      for (std::size_t d = 0; d < own.size(); ++d) {
        if (equation.inputs[i][d] == letter && call.shape(i)[d] != 1) steps[i] += own[d];
      }
    }
    loop.steps.push_back(std::move(steps));
  }
  return loop;
}

}  // namespace

void run_einsum(HostCall& call) {
  const Equation equation = equation_of(call);
  const std::map<char, std::int64_t> sizes = letter_sizes(call, equation);
  Shape shape;
  for (const char letter : equation.output) shape.push_back(sizes.at(letter));
  std::string summed;
  bool is_empty = false;
  for (const auto& [letter, size] : sizes) {
    if (equation.output.find(letter) == std::string::npos) summed += letter;
    is_empty = is_empty || size == 0;
  }
  Tensor* out = call.output(0, call.dtype(0), shape);
  if (out == nullptr || is_empty) return;
  const Loop outer = loop_of(call, equation, sizes, equation.output);
  const Loop inner = loop_of(call, equation, sizes, summed);
  with_type(call.dtype(0), [&]<typename T>() {
    using Wide = Wrapping<T>;
    std::vector<std::span<const T>> inputs;
    for (std::size_t i = 0; i < call.inputs(); ++i) inputs.push_back(elements<T>(call.input(i)));
    Integers outer_at(outer.sizes.size(), 0);
    Integers inner_at(inner.sizes.size(), 0);
    Integers bases(inputs.size(), 0);
    Integers offsets;
    for (T& element : elements<T>(*out)) {
      offsets = bases;
      Wide sum = 0;
      do {
        Wide product = 1;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          product *= static_cast<Wide>(inputs[i][static_cast<std::size_t>(offsets[i])]);
        }
        sum += product;
      } while (inner.advance(inner_at, offsets));
      element = static_cast<T>(sum);
      outer.advance(outer_at, bases);
    }
  });
}

}  // namespace qsim::golden
