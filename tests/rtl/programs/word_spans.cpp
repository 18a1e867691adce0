#include "tests/rtl/programs/word_spans.h"

#include <algorithm>

#include "compiler/verifier/command_ranges.h"

namespace qsim {
namespace {

std::vector<WordSpan> reads_of(const Command& command, verifier::Memory memory,
                               const ArchConfig& arch) {
  std::vector<WordSpan> spans;
  for (const verifier::WordRange& range : verifier::local_access(command, arch).reads) {
    if (range.memory == memory) spans.push_back({range.begin, range.end});
  }
  return spans;
}

}  // namespace

std::vector<WordSpan> words_of(const Execute& execute, const ArchConfig& arch) {
  Execute at_zero = execute;
  at_zero.act_addr = 0;
  return reads_of({0, 0, at_zero}, verifier::Memory::kActivation, arch);
}

std::vector<WordSpan> words_of(const Post& post, const ArchConfig& arch) {
  Post at_zero = post;
  at_zero.acc_addr = at_zero.acc_half = 0;
  return reads_of({0, 0, at_zero}, verifier::Memory::kAccumulator, arch);
}

WordSpan span_of(const std::vector<WordSpan>& spans) {
  if (spans.empty()) return {};
  WordSpan all = spans.front();
  for (const WordSpan& span : spans) {
    all.begin = std::min(all.begin, span.begin);
    all.end = std::max(all.end, span.end);
  }
  return all;
}

}  // namespace qsim
