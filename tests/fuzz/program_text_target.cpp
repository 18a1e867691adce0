// Program text: what is read is printed and read again as itself, and what the verifier lets pass
// runs in every engine, in every order, with the same bytes.
#include <sstream>

#include "compiler/verifier/verify.h"
#include "core/base/random.h"
#include "core/machine/program_text.h"
#include "tests/fuzz/engine_agreement.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace compiler;
namespace {

constexpr double kMostWork = 1 << 21;         // products, samples and bytes of all commands
constexpr std::int64_t kMostBytes = 1 << 20;  // of DRAM, and of the input
constexpr std::int64_t kMostMemoryKib = 64;   // of each memory

double product(std::initializer_list<std::uint32_t> factors) {
  double result = 1;
  for (const std::uint32_t factor : factors) result *= factor;
  return result;
}

double work_of(const Load& c, const ArchConfig&) {
  return product({c.groups, c.runs, c.run_bytes});
}
double work_of(const Execute& c, const ArchConfig& arch) {
  return product({c.planes, c.kernel_h, c.kernel_w, c.out_rows, c.out_cols}) *
         static_cast<double>(arch.array_rows * arch.array_cols);
}
double work_of(const Post& c, const ArchConfig& arch) {
  return product({c.out_rows, c.out_cols, c.pool_h, c.pool_w}) *
         static_cast<double>(arch.array_cols);
}
double work_of(const Store& c, const ArchConfig&) {
  return product({c.groups, c.runs, c.run_bytes});
}

bool is_small(const Program& program) {
  const ArchConfig& arch = program.arch;
  for (const std::int64_t kib : {arch.act_scratchpad_kib, arch.weight_scratchpad_kib,
                                 arch.accumulator_kib, arch.output_scratchpad_kib}) {
    if (kib > kMostMemoryKib) return false;
  }
  double work = 0;
  for (const CommandStream& stream : program.streams.all()) {
    for (const Instruction& instruction : stream) {
      work += std::visit([&](const auto& fields) { return work_of(fields, arch); },
                         instruction.command.fields);
    }
  }
  return work <= kMostWork && program.dram_bytes() <= kMostBytes &&
         element_count(program.input.picture().nhwc()) <= kMostBytes;
}

Tensor input_of(const Program& program) {
  Tensor input(program.input.tensor.value.dtype, program.input.picture().nhwc());
  Random random(1);
  for (std::byte& byte : input.bytes) byte = static_cast<std::byte>(random.next() >> 40);
  return input;
}

}  // namespace

bool fuzz_one(Bytes input) {
  const std::string_view text = text_of(input);
  Program program;
  if (!accepted([&] { program = parse_program(text, "input.qprog"); })) return false;
  std::ostringstream printed;
  print_program(program, printed);
  require(parse_program(printed.str(), "printed") == program, "parse(print(program)) differs");
  std::vector<std::string> violations;
  if (!accepted([&] { violations = verify(program, program.arch); })) return false;
  if (!violations.empty()) return false;
  bool small = false;
  if (!accepted([&] { small = is_small(program); }) || !small) return false;
  run_everywhere(program, input_of(program), 1);
  return true;
}

}  // namespace qsim::fuzz
