#include "tests/rtl/programs/word_spans.h"

#include <algorithm>

namespace qsim {

using namespace compiler;

compiler::verifier::LocalAccess local_access(const Command& command, const ArchConfig& arch) {
  return std::visit([&](const auto& c) { return compiler::verifier::LocalAccesses(arch).of(c); },
                    command.fields);
}

namespace {

std::vector<WordSpan> reads_of(const Command& command, compiler::verifier::Memory memory,
                               const ArchConfig& arch) {
  std::vector<WordSpan> spans;
  for (const compiler::verifier::WordRange& range : local_access(command, arch).reads) {
    if (range.memory == memory) spans.push_back({range.begin, range.end});
  }
  return spans;
}

}  // namespace

std::vector<WordSpan> words_of(const Execute& execute, const ArchConfig& arch) {
  Execute at_zero = execute;
  at_zero.act_addr = 0;
  return reads_of({0, 0, at_zero}, compiler::verifier::Memory::kActivation, arch);
}

std::vector<WordSpan> words_of(const Post& post, const ArchConfig& arch) {
  Post at_zero = post;
  at_zero.acc_addr = at_zero.acc_half = 0;
  return reads_of({0, 0, at_zero}, compiler::verifier::Memory::kAccumulator, arch);
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

bool drains_backwards(const Execute& e) {
  return static_cast<Dataflow>(e.dataflow) == Dataflow::kOutputStationary;
}

std::int64_t first_psum(const Execute& e, const ArchConfig& arch) {
  const std::int64_t pixels = std::int64_t{e.out_rows} * e.out_cols;
  return drains_backwards(e) ? std::min(pixels, arch.array_rows) - 1 : 0;
}

std::int64_t last_psum(const Execute& e, const ArchConfig& arch) {
  const std::int64_t words = std::int64_t{e.blocks} * e.out_rows * e.out_cols;
  return drains_backwards(e) ? (words - 1) / arch.array_rows * arch.array_rows : words - 1;
}

}  // namespace qsim
