#include "tests/rtl/programs/reproducer.h"

#include <sstream>

#include "compiler/verifier/verify.h"
#include "core/base/text_line.h"
#include "core/machine/program_text.h"
#include "formats/files/files.h"

namespace qsim {

using namespace compiler;
using namespace formats;

std::string reproducer_text(const RandomCase& made, const std::string& found) {
  std::ostringstream text;
  text << "reproducer " << quoted_word(found) << "\ninput bytes=" << made.input.bytes.size()
       << "\n";
  const std::span<const std::byte> bytes(made.input.bytes);
  for (std::size_t at = 0; at < bytes.size(); at += kHexLineBytes) {
    text << hex_line(bytes.subspan(at, std::min(kHexLineBytes, bytes.size() - at))) << "\n";
  }
  print_program(made.program, text);
  return std::move(text).str();
}

RandomCase read_reproducer(const std::filesystem::path& path) {
  const std::string text = read_text_file(path);
  const std::string source = path.string();
  std::string_view rest = text;
  TextPosition position{&source, 0};
  const auto take_line = [&] {
    ++position.line;
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) fail_at(position, 1, "the end of the text", "a whole line");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
  };
  const TextLine first(take_line(), position);
  if (first.word(0) != "reproducer") first.fail_word(0, "'reproducer'");
  const TextLine input(take_line(), position);
  if (input.word(0) != "input") input.fail_word(0, "'input'");
  const auto count = static_cast<std::size_t>(
      input.number("bytes", 0, static_cast<std::int64_t>(rest.size() / 2)));
  std::vector<std::byte> bytes;
  while (bytes.size() < count) {
    append_hex(take_line(), position, std::min(kHexLineBytes, count - bytes.size()), bytes);
  }
  // The program's own messages count lines from its first.
  RandomCase made{source, parse_program(rest, source + " (program)"), {}};
  const Value& value = made.program.input.tensor.value;
  made.input = Tensor(value.dtype, made.program.input.picture().nhwc());
  if (made.input.bytes.size() != bytes.size()) {
    throw_bad_input(source + ": input of " + std::to_string(bytes.size()) +
                    " bytes; the program takes " + std::to_string(made.input.bytes.size()));
  }
  made.input.bytes = std::move(bytes);
  const std::vector<std::string> violations = verify(made.program, made.program.arch);
  if (!violations.empty()) throw_bad_input(source + ": " + violations.front());
  return made;
}

}  // namespace qsim
