#include "cli/session/vectors/vector_files.h"

#include <algorithm>

#include "cli/terminal/output_folders.h"
#include "core/base/checked_math.h"
#include "formats/traces/npy.h"
#include "rtl/engine/rtl_parameters.h"

namespace qsim::cli {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

void append_hex(std::string& text, std::uint64_t value, int digits) {
  for (int at = digits - 1; at >= 0; --at) text += kDigits[(value >> (4 * at)) & 0xf];
}

std::string unit_name(std::size_t unit) { return std::string(kUnitNames[unit]); }

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& elements) {
  return std::as_bytes(std::span(elements));
}

std::vector<EncodedCommand> encoded(const CommandStream& stream) {
  std::vector<EncodedCommand> commands;
  for (std::size_t i = 0; i < stream.size(); ++i) commands.push_back(stream.encoded(i));
  return commands;
}

std::int64_t count(std::size_t elements) { return static_cast<std::int64_t>(elements); }

// NumPy's own text for an element type.
std::string npy_type(const std::string& dtype) {
  if (dtype == "uint64") return "<u8";
  if (dtype == "int64") return "<i8";
  return dtype == "uint8" ? "|u1" : "|i1";
}

// Version 1.0; formats/traces/npy.h writes tensors, whose elements have 8 or 32 bits.
std::string npy_header(const VectorFile& file) {
  std::string header =
      "{'descr': '" + npy_type(file.dtype) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < file.shape.size(); ++i) {
    header += (i == 0 ? "" : " ") + std::to_string(file.shape[i]);
    if (i + 1 < file.shape.size() || file.shape.size() == 1) header += ",";
  }
  header += "), }";
  constexpr std::int64_t kPreamble = 10;
  const std::int64_t end = round_up(kPreamble + count(header.size()) + 1, 64);
  header.resize(static_cast<std::size_t>(end - kPreamble - 1), ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return text + header;
}

}  // namespace

void VectorFolder::add_text(const VectorFile& file, std::string_view content) {
  QSIM_CHECK(is_vector_file(file.name), file.name + " is no name of a file of vectors");
  context_.write_file(folder_ / file.name, content);
  files_.push_back(file);
}

void VectorFolder::add_npy(const VectorFile& file, std::span<const std::byte> elements) {
  std::string content = npy_header(file);
  content.append(reinterpret_cast<const char*>(elements.data()), elements.size());
  add_text(file, content);
}

std::string commands_hex(std::span<const EncodedCommand> commands) {
  std::string text;
  for (const EncodedCommand& command : commands) {
    for (std::size_t word = command.size(); word-- > 0;) append_hex(text, command[word], 16);
    text += '\n';
  }
  return text;
}

std::string times_hex(std::span<const CommandTime> times) {
  std::string text;
  for (const CommandTime& time : times) {
    for (const std::uint64_t cycle : {time.start, time.free, time.done}) {
      append_hex(text, cycle, 16);
    }
    text += '\n';
  }
  return text;
}

std::string image_hex(std::span<const std::byte> image, std::int64_t bus_bytes) {
  const auto width = static_cast<std::size_t>(bus_bytes);
  std::string text;
  bool skipped = true;
  for (std::size_t at = 0; at < image.size(); at += width) {
    const std::span<const std::byte> word = image.subspan(at, width);
    if (std::all_of(word.begin(), word.end(), [](std::byte b) { return b == std::byte{0}; })) {
      skipped = true;
      continue;
    }
    if (skipped) {
      text += '@';
      append_hex(text, at / width, 8);
      text += '\n';
      skipped = false;
    }
    for (std::size_t b = width; b-- > 0;)
      append_hex(text, std::to_integer<std::uint64_t>(word[b]), 2);
    text += '\n';
  }
  return text;
}

void add_commands(VectorFolder& folder, const Program& program) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const std::vector<EncodedCommand> commands = encoded(program.streams[u]);
    const std::string what = "commands of the " + unit_name(u) + " unit, ";
    const std::int64_t n = count(commands.size());
    folder.add_npy({unit_name(u) + ".npy",
                    "npy",
                    "uint64",
                    {n, 4},
                    what + "64 bits an element, the lowest first"},
                   bytes_of(commands));
    folder.add_text({unit_name(u) + ".hex", "readmemh", "bits256", {n}, what + "one a line"},
                    commands_hex(commands));
  }
}

void add_times(VectorFolder& folder, const Vectors& vectors) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const std::vector<CommandTime>& times = vectors.times[u];
    const std::string what = "start, free and done cycle of each " + unit_name(u) + " command";
    const std::int64_t n = count(times.size());
    folder.add_npy({unit_name(u) + "_times.npy", "npy", "int64", {n, 3}, what}, bytes_of(times));
    folder.add_text({unit_name(u) + "_times.hex",
                     "readmemh",
                     "bits192",
                     {n},
                     what + ", 64 bits each, start leftmost"},
                    times_hex(times));
  }
}

void add_semaphores(VectorFolder& folder, const Program& program) {
  std::vector<std::uint8_t> values;
  std::string text;
  for (const Semaphore& semaphore : program.semaphores) {
    values.push_back(semaphore.initial);
    append_hex(text, semaphore.initial, 1);
    text += '\n';
  }
  const std::string what = "values of the semaphores before, and again after the program";
  folder.add_npy({"semaphores.npy", "npy", "uint8", {kSemaphores}, what}, bytes_of(values));
  folder.add_text({"semaphores.hex", "readmemh", "bits4", {kSemaphores}, what}, text);
}

void add_images(VectorFolder& folder, const Program& program, const Vectors& vectors) {
  const std::int64_t bus = program.arch.bus_bytes;
  const auto add = [&](const std::string& name, const std::vector<std::byte>& image,
                       const std::string& what) {
    const std::int64_t bytes = count(image.size());
    folder.add_npy({name + ".npy", "npy", "uint8", {bytes}, what}, bytes_of(image));
    folder.add_text({name + ".hex",
                     "readmemh",
                     "bits" + std::to_string(8 * bus),
                     {bytes / bus},
                     what + ", one bus word a line, lowest address rightmost; zero where absent"},
                    image_hex(image, bus));
  };
  add("dram_before", vectors.dram_before, "DRAM from address 0 before the program");
  add("dram_after", vectors.dram_after, "DRAM after the program");
}

std::string ofmap_file(std::size_t index) { return "layer" + std::to_string(index) + ".npy"; }

void add_ofmaps(VectorFolder& folder, const Program& program, const Vectors& vectors) {
  for (std::size_t l = 0; l < program.layers.size(); ++l) {
    const Tensor& ofmap = vectors.ofmaps[l];
    folder.add_npy({ofmap_file(l), "npy", std::string(dtype_name(ofmap.dtype)), ofmap.shape,
                    "ofmap of " + program.layers[l].name + ", NHWC"},
                   ofmap.bytes);
  }
}

void add_header(VectorFolder& folder, const Program& program, const Vectors& vectors) {
  std::string text =
      "// Numbers of these test vectors, to be included inside a module. See manifest.json.\n";
  const auto add = [&](const std::string& name, std::uint64_t value) {
    text += "localparam longint unsigned " + name + " = 64'd" + std::to_string(value) + ";\n";
  };
  for (const std::string& parameter : rtl::rtl_parameter_texts(rtl::rtl_parameters(program.arch))) {
    text += "localparam int unsigned " + parameter.substr(0, parameter.find('=')) + " = " +
            parameter.substr(parameter.find('=') + 1) + ";\n";
  }
  add("DramLatencyCycles", static_cast<std::uint64_t>(program.arch.dram_latency_cycles));
  add("DramWords", vectors.dram_before.size() / static_cast<std::size_t>(program.arch.bus_bytes));
  add("TotalCycles", vectors.total_cycles);
  constexpr const char* kCounts[] = {"LoadCommands", "ExecuteCommands", "PostCommands",
                                     "StoreCommands"};
  for (std::size_t u = 0; u < kUnits; ++u) add(kCounts[u], program.streams[u].size());
  text += "localparam logic [63:0] SemaphoreInit = 64'h";
  for (std::size_t s = kSemaphores; s-- > 0;) append_hex(text, program.semaphores[s].initial, 1);
  folder.add_text({"vectors.svh", "systemverilog", "", {}, "the numbers above as localparams"},
                  text + ";\n");
}

}  // namespace qsim::cli
