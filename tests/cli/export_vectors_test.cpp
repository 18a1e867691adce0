// `qsim export-vectors`: what the files hold, and what is refused.
#include <cstring>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/machine/isa/command_codec.h"
#include "core/machine/program_text.h"
#include "formats/traces/npy.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kExported =
    "name: small\nseed: 4\ninput: {shape: [1, 7, 6, 5], dtype: uint8, zero_point: 9}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 6, kernel: 3, pad: 1, relu: true}\n"
    "  - {op: conv2d, name: second, out_channels: 3, kernel: 2, stride: 2}\n";

class ExportVectors : public ::testing::Test {
 protected:
  void export_small(const std::string& more = "") {
    folder_.write("small.yaml", kExported);
    const Outcome outcome =
        run_qsim(folder_, "export-vectors --config pe4x4 --model small.yaml --out vectors " + more);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    text_ = outcome.out;
    manifest_ = Json::parse(read("manifest.json"));
    program_ = parse_program(read("program.qprog"), "program.qprog");
  }

  std::string read(const std::string& name) const {
    return read_file(folder_ / ("vectors/" + name));
  }

  // The elements of a `.npy` whose header holds `descr` and `shape`.
  template <typename T>
  std::vector<T> npy(const std::string& name, const std::string& descr, const std::string& shape) {
    const std::string content = read(name);
    EXPECT_EQ(content.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8)) << name;
    const std::size_t length =
        static_cast<unsigned char>(content[8]) + 256u * static_cast<unsigned char>(content[9]);
    EXPECT_EQ((10 + length) % 64, 0u) << name;
    EXPECT_EQ(content.substr(10, length).substr(0, content.substr(10, length).find('}')),
              "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", ")
        << name;
    std::vector<T> elements((content.size() - 10 - length) / sizeof(T));
    std::memcpy(elements.data(), content.data() + 10 + length, elements.size() * sizeof(T));
    return elements;
  }

  TestFolder folder_;
  std::string text_;
  Json manifest_;
  Program program_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(ExportVectors, CommandsAreThoseOfTheProgram) {
  export_small();
  for (std::size_t u = 0; u < kUnits; ++u) {
    const std::string unit(kUnitNames[u]);
    const CommandStream stream = program_.streams[u];
    const std::string count = std::to_string(stream.size());
    const auto words = npy<std::uint64_t>(unit + ".npy", "<u8", "(" + count + ", 4)");
    const std::vector<std::string> lines = lines_of(read(unit + ".hex"));
    ASSERT_EQ(words.size(), 4 * stream.size());
    ASSERT_EQ(lines.size(), stream.size());
    EXPECT_EQ(manifest_["commands"][unit], stream.size());
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const EncodedCommand bits = encode(stream.command(i));
      for (std::size_t w = 0; w < 4; ++w) {
        EXPECT_EQ(words[4 * i + w], bits[w]);
        EXPECT_EQ(std::stoull(lines[i].substr(16 * (3 - w), 16), nullptr, 16), bits[w]);
      }
    }
  }
}

TEST_F(ExportVectors, TimesEndWithTheRunsCycles) {
  export_small();
  const Json run =
      Json::parse(run_qsim(folder_, "run --config pe4x4 --model small.yaml --json - --quiet").out);
  EXPECT_EQ(manifest_["total_cycles"], run["total"]["cycles"]);
  for (std::size_t u = 0; u < kUnits; ++u) {
    const std::string unit(kUnitNames[u]);
    const std::size_t count = program_.streams[u].size();
    const auto times =
        npy<std::int64_t>(unit + "_times.npy", "<i8", "(" + std::to_string(count) + ", 3)");
    const std::vector<std::string> lines = lines_of(read(unit + "_times.hex"));
    ASSERT_EQ(times.size(), 3 * count);
    ASSERT_EQ(lines.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_LT(times[3 * i], times[3 * i + 1]);
      EXPECT_LE(times[3 * i + 1], times[3 * i + 2]);
      for (std::size_t field = 0; field < 3; ++field) {
        EXPECT_EQ(std::stoll(lines[i].substr(16 * field, 16), nullptr, 16), times[3 * i + field]);
      }
    }
    if (u + 1 < kUnits) continue;
    EXPECT_EQ(times.back(), manifest_["total_cycles"]);
  }
}

// A `.hex` image is the `.npy` image once absent words are zero.
TEST_F(ExportVectors, ImagesInBothFormsHoldInputConstantsAndOfmaps) {
  export_small();
  const std::size_t bytes = manifest_["dram"]["bytes"];
  for (const char* name : {"dram_before", "dram_after"}) {
    const auto image =
        npy<std::uint8_t>(std::string(name) + ".npy", "|u1", "(" + std::to_string(bytes) + ",)");
    std::vector<std::uint8_t> from_hex(bytes);
    std::size_t word = 0;
    for (const std::string& line : lines_of(read(std::string(name) + ".hex"))) {
      if (line[0] == '@') {
        word = std::stoul(line.substr(1), nullptr, 16);
        continue;
      }
      ASSERT_EQ(line.size(), 8u);  // pe4x4 has a bus of four bytes
      for (std::size_t b = 0; b < 4; ++b) {
        from_hex[4 * word + b] =
            static_cast<std::uint8_t>(std::stoul(line.substr(6 - 2 * b, 2), nullptr, 16));
      }
      ++word;
    }
    EXPECT_TRUE(from_hex == image) << name;
    for (const DramSegment& segment : program_.segments) {
      for (std::size_t i = 0; i < segment.bytes.size(); ++i) {
        ASSERT_EQ(image[static_cast<std::size_t>(segment.address) + i],
                  std::to_integer<std::uint8_t>(segment.bytes[i]));
      }
    }
  }
}

TEST_F(ExportVectors, OfmapsAreTheRunsAndLieInTheImage) {
  export_small();
  ASSERT_EQ(
      run_qsim(folder_, "run --config pe4x4 --model small.yaml --dump-layers trace").exit_code, 0);
  const std::string image = read("dram_after.npy");
  const std::size_t bytes = manifest_["dram"]["bytes"];
  ASSERT_EQ(manifest_["layers"].size(), program_.layers.size());
  for (std::size_t l = 0; l < program_.layers.size(); ++l) {
    const DramTensor& place = program_.layers[l].ofmap;
    const Tensor ofmap = read_npy(folder_ / ("vectors/layer" + std::to_string(l) + ".npy"));
    EXPECT_EQ(ofmap.shape, place.value.shape.nhwc());
    EXPECT_EQ(manifest_["layers"][l]["ofmap"]["address"], place.address);
    const auto* first = reinterpret_cast<const std::byte*>(image.data() + image.size() - bytes);
    const std::span<const std::byte> dram(first, bytes);
    EXPECT_TRUE(unpack(place, dram.subspan(static_cast<std::size_t>(place.address),
                                           static_cast<std::size_t>(place.size_bytes()))) == ofmap);
    bool recorded = false;
    for (const auto& entry : fs::directory_iterator(folder_ / "trace")) {
      recorded = recorded || (entry.path().extension() == ".npy" &&
                              read_npy(entry.path()).bytes == ofmap.bytes);
    }
    EXPECT_TRUE(recorded) << l;
  }
}

TEST_F(ExportVectors, ManifestListsEveryFileAndSaysWhereTheyComeFrom) {
  export_small();
  EXPECT_EQ(manifest_["schema"], "qsim.vectors/1");
  EXPECT_EQ(manifest_["config"]["array_rows"], 4);
  EXPECT_EQ(manifest_["parameters"]["ActWords"], 16384);
  EXPECT_EQ(manifest_["dram"]["latency_cycles"], 100);
  EXPECT_EQ(manifest_["provenance"]["model"], "small.yaml");
  std::size_t listed = 1;  // the manifest itself
  for (const Json& file : manifest_["files"]) {
    EXPECT_TRUE(fs::exists(folder_ / ("vectors/" + file["name"].get<std::string>()))) << file;
    ++listed;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "vectors"), fs::directory_iterator()),
            static_cast<std::ptrdiff_t>(listed));
  std::string semaphores;
  for (const Semaphore& s : program_.semaphores) semaphores += std::to_string(s.initial) + "\n";
  EXPECT_EQ(read("semaphores.hex"), semaphores);
  const std::string header = read("vectors.svh");
  EXPECT_NE(header.find("localparam int unsigned BusBytes = 4;\n"), std::string::npos);
  EXPECT_NE(header.find("localparam longint unsigned StoreCommands = 64'd" +
                        std::to_string(program_.stream(Unit::kStore).size()) + ";\n"),
            std::string::npos);
}

TEST_F(ExportVectors, JsonSaysWhatWasWritten) {
  export_small("--json - --quiet");
  const Json json = Json::parse(text_);
  EXPECT_EQ(json["schema"], "qsim.export-vectors/1");
  EXPECT_EQ(json["folder"], "vectors");
  EXPECT_EQ(json["cycles"], manifest_["total_cycles"]);
}

TEST_F(ExportVectors, SecondExportReplacesTheFirst) {
  export_small();
  const Json first = manifest_;
  export_small("--layers second");
  EXPECT_EQ(manifest_["layers"].size(), 1u);
  EXPECT_LT(manifest_["total_cycles"], first["total_cycles"]);
}

TEST_F(ExportVectors, AnExportWithFewerLayersLeavesNoFileOfTheOlderOne) {
  folder_.write("vectors/layer7.npy", "of an export of eight layers");
  folder_.write("vectors/layer7.hex", "mine");
  folder_.write("vectors/tb.sv", "mine");
  folder_.write("vectors/layer8.npy/file", "mine");
  export_small();
  EXPECT_TRUE(fs::exists(folder_ / "vectors/layer1.npy"));
  export_small("--layers second");
  std::set<std::string> listed = {"manifest.json", "layer7.hex", "tb.sv", "layer8.npy"};
  for (const Json& file : manifest_["files"]) listed.insert(file["name"].get<std::string>());
  std::set<std::string> there;
  for (const auto& entry : fs::directory_iterator(folder_ / "vectors")) {
    there.insert(entry.path().filename().string());
  }
  EXPECT_EQ(there, listed);
}

TEST_F(ExportVectors, AFolderOfAnotherKindIsRefused) {
  folder_.write("small.yaml", kExported);
  const std::string model = " --config pe4x4 --model small.yaml ";
  ASSERT_EQ(run_qsim(folder_, "run --out run --dump-layers trace" + model).exit_code, 0);
  ASSERT_EQ(run_qsim(folder_, "export-vectors --out vectors" + model).exit_code, 0);
  const auto refused = [&](const std::string& command, const std::string& message) {
    expect_error(folder_, command + model, 3, message);
  };
  const std::string another = "name another folder, or remove that one\n";
  refused("export-vectors --out run", "run: holds the results of a run ('run.json'); " + another);
  refused("export-vectors --out trace", "trace: holds a layer trace ('trace.yaml'); " + another);
  const std::string vectors =
      "vectors: holds the vectors of export-vectors ('manifest.json'); " + another;
  refused("run --out vectors", vectors);
  refused("run --dump-layers vectors", vectors);
  refused("golden run --out vectors", vectors);
  EXPECT_FALSE(fs::exists(folder_ / "run/manifest.json"));
  EXPECT_FALSE(fs::exists(folder_ / "vectors/run.json"));
}

TEST_F(ExportVectors, BadArgumentsAreRefused) {
  folder_.write("small.yaml", kExported);
  folder_.write("file", "");
  const auto refused = [&](const std::string& arguments, int code, const std::string& message) {
    const Outcome outcome = run_qsim(folder_, "export-vectors " + arguments);
    EXPECT_EQ(outcome.exit_code, code) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  };
  refused("--model small.yaml", 2, "--out");
  refused("--model small.yaml --out ''", 2, "--out");
  refused("--model small.yaml --out v --engine rtl", 2, "unknown option '--engine'");
  refused("--model small.yaml --out v --commands", 2, "export-vectors");
  refused("--model missing --out v", 3, "missing");
  refused("--model small.yaml --out file", 3, "file");
  refused("--model small.yaml --out file/below", 3, "file");
  refused("--model small.yaml --config pe5x5 --out v", 3, "pe5x5");
  EXPECT_EQ(run_qsim(folder_, "export-vector --out v").exit_code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "v/manifest.json"));
}

}  // namespace
}  // namespace qsim
