// How large the inputs of qsim may be: every limit by name, with its reason. A larger input is
// refused with an error, before memory is allocated for it. docs/reference/limits.md lists the
// table, and tests/files/limits_test.cpp checks that the two agree. Whether a run fits the machine
// at hand is formats/files/memory.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace qsim {

inline constexpr std::int64_t kMaxModelBytes = (std::int64_t{2} << 30) - 1;
inline constexpr std::int64_t kMaxModelNodes = 10'000;
inline constexpr std::int64_t kMaxModelInitializers = 100'000;
inline constexpr std::int64_t kMaxModelParts = 1'000'000;
inline constexpr std::int64_t kMaxLayers = 10'000;
inline constexpr std::int64_t kMaxSegments = 2 * kMaxLayers;
inline constexpr std::int64_t kMaxTensorElems = std::int64_t{1} << 31;
inline constexpr std::int64_t kMaxDramBytes = std::int64_t{1} << 32;  // what dram_addr reaches
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{4} << 30;
inline constexpr std::int64_t kMaxPictureBytes = std::int64_t{256} << 20;
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{64} << 20;
inline constexpr std::int64_t kMaxJpegScans = 100;
inline constexpr std::int64_t kMaxNpyHeaderBytes = 65'535;
inline constexpr std::int64_t kMaxNpyDims = 32;
inline constexpr std::int64_t kMaxYamlBytes = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxTraceYamlBytes = std::int64_t{4} << 20;
inline constexpr std::int64_t kMaxMappingBytes = std::int64_t{16} << 20;
inline constexpr std::int64_t kMaxYamlDepth = 32;
inline constexpr std::int64_t kMaxYamlKeys = 128;
inline constexpr std::int64_t kMaxWorkloadDim = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxImages = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxIndex = std::int64_t{1} << 30;
inline constexpr std::int64_t kMaxSeeds = std::int64_t{1} << 30;
inline constexpr std::int64_t kMaxRuns = 100'000;

struct Limit {
  std::string_view name;
  std::int64_t value;
  std::string_view of;  // what it limits, with the unit
  std::string_view reason;
  std::string_view exit_code = "3";  // of an input that has more
};

inline constexpr std::array kLimits = {
    Limit{"kMaxModelBytes", kMaxModelBytes, "bytes of an ONNX file",
          "protobuf cannot hold more; external data is apart"},
    Limit{"kMaxModelNodes", kMaxModelNodes, "nodes of an ONNX graph",
          "a chain has a few hundred; the checks between nodes take time for each", "4"},
    Limit{"kMaxModelInitializers", kMaxModelInitializers, "initializers of an ONNX graph",
          "each of the nodes above has nine at most", "4"},
    Limit{"kMaxModelParts", kMaxModelParts, "messages and texts that an ONNX file is made of",
          "one of two bytes in the file takes up to 400 in memory", "4"},
    Limit{"kMaxLayers", kMaxLayers, "layers of a network",
          "each has a name, a row in every table and files in a trace"},
    Limit{"kMaxSegments", kMaxSegments, "constants in a program's DRAM",
          "a layer has its weights and its parameters"},
    Limit{"kMaxTensorElems", kMaxTensorElems, "elements of one tensor, batch included",
          "its bytes have addresses of 32 bits; an int32 or float32 tensor is four times as long",
          "3; of an ONNX model 4"},
    Limit{"kMaxDramBytes", kMaxDramBytes, "bytes of a program's DRAM",
          "the accelerator's addresses have 32 bits", "4; of program text 3"},
    Limit{"kMaxFileBytes", kMaxFileBytes, "bytes of any file that is read whole (.npy, .qprog)",
          "it is in memory at once, and a longer one is a mistake"},
    Limit{"kMaxPictureBytes", kMaxPictureBytes, "bytes of a PNG or JPEG file",
          "more than 8-bit RGB of the most pixels needs; deeper ones must compress"},
    Limit{"kMaxImagePixels", kMaxImagePixels, "pixels of a picture, height x width",
          "judged by the header, so that a small file cannot unpack into gigabytes"},
    Limit{"kMaxJpegScans", kMaxJpegScans, "scans of a JPEG file",
          "each visits all blocks, however short it is; progressive pictures have about 10"},
    Limit{"kMaxNpyHeaderBytes", kMaxNpyHeaderBytes, "bytes of a .npy header",
          "what version 1.0 can say; later versions could say 4 GB"},
    Limit{"kMaxNpyDims", kMaxNpyDims, "dimensions of a .npy array", "NumPy's own limit"},
    Limit{"kMaxYamlBytes", kMaxYamlBytes, "bytes of a YAML file",
          "configurations and workloads have some thousand"},
    Limit{"kMaxTraceYamlBytes", kMaxTraceYamlBytes, "bytes of a layer trace's trace.yaml",
          "the most layers have some 400 each; --dump-layers writes no longer one"},
    Limit{
        "kMaxMappingBytes", kMaxMappingBytes, "bytes of a mapping file",
        "the most layers have some 400 each and their names; --write-mapping writes no longer one"},
    Limit{"kMaxYamlDepth", kMaxYamlDepth, "levels of lists and maps in a YAML file",
          "the parser's stack grows with them; aliases, which could grow faster, are refused"},
    Limit{"kMaxYamlKeys", kMaxYamlKeys, "keys of one map in a YAML file",
          "each is compared with those before it; no map of qsim's has 20"},
    Limit{"kMaxWorkloadDim", kMaxWorkloadDim, "any one size in a workload",
          "keeps products of sizes within 64 bits"},
    Limit{"kMaxBatch", kMaxBatch, "--batch", "the tensors and the memory below are what limits",
          "2"},
    Limit{"kMaxImages", kMaxImages, "--images", "outputs of all pictures are kept until the end",
          "2"},
    Limit{"kMaxIndex", kMaxIndex, "--index", "a batch file of 4 GiB has fewer records", "2"},
    Limit{"kMaxSeeds", kMaxSeeds, "--seeds", "years of work; memory does not grow with it", "2"},
    Limit{"kMaxRuns", kMaxRuns, "--runs of golden bench", "each run's time is kept for the median",
          "2"},
};

}  // namespace qsim
