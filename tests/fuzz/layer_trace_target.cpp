// Layer traces: a folder in one input. A trace that is read is written and read again as itself.
#include "formats/traces/layer_trace.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/importer/random_graphs.h"

namespace qsim::fuzz {

using namespace formats;
namespace {

constexpr std::string_view kMark = "\n=== ";  // begins a file: "=== NAME\n", then its bytes
constexpr std::size_t kMostFiles = 16;

// Files "=== NAME" of the input, which itself begins with trace.yaml. A name with a slash is left
// out: the reader refuses it before it looks for the file.
void unpack(const Folder& folder, std::string_view input) {
  folder.clear();
  std::string name = kLayerTraceFile;
  for (std::size_t files = 0; files < kMostFiles; ++files) {
    const std::size_t end = input.find(kMark);
    const bool usable = !name.empty() && name.size() < 100 && name != "." && name != ".." &&
                        name.find('/') == name.npos && name.find('\0') == name.npos;
    const bool last = end == std::string_view::npos;
    // The newline before a mark belongs to a text file and not to a .npy.
    const bool text = name == kLayerTraceFile;
    if (usable) folder.file(name, last ? input : input.substr(0, end + (text ? 1 : 0)));
    if (last) return;
    input.remove_prefix(end + kMark.size());
    const std::size_t line = input.find('\n');
    name = std::string(input.substr(0, line));
    input.remove_prefix(line == std::string_view::npos ? input.size() : line + 1);
  }
}

}  // namespace

bool fuzz_one(Bytes input) {
  static Folder folder;
  static Folder copy;
  unpack(folder, text_of(input));
  LayerTrace trace;
  if (!accepted([&] { trace = read_layer_trace(folder.path()); })) return false;
  validate(trace.graph);
  copy.clear();
  // Without the fsync of every file that the writer's own way ends with.
  write_layer_trace(copy.path(), trace.graph, trace.input, trace.ofmaps,
                    [](const std::filesystem::path& path, std::string_view content) {
                      copy.file(path.filename().string(), content);
                    });
  const LayerTrace again = read_layer_trace(copy.path());
  const std::string difference = qsim::difference(again.graph, trace.graph);
  require(difference.empty(), "the written trace has another graph: " + difference);
  require(again.input == trace.input && again.ofmaps == trace.ofmaps,
          "the written trace has other tensors");
  return true;
}

}  // namespace qsim::fuzz
