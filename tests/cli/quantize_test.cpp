// `qsim quantize`: what it writes, which options change it, and what it refuses.
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/random.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "formats/traces/npy.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace formats;
namespace {

using nlohmann::json;

// A float network of PyTorch's exporter: pictures 3 x 16 x 16.
std::string network(const std::string& name) {
  return (source_folder() / "tests/onnx/producers/torch" / (name + ".float.onnx")).string();
}

void write_pictures(const TestFolder& folder, std::int64_t pictures, std::int64_t size = 16) {
  Random random(3);
  Tensor tensor(DType::kFloat32, {pictures, 3, size, size});
  for (float& x : tensor.as<float>()) {
    x = static_cast<float>(random.uniform(-1000, 1000)) / 500.0F;
  }
  write_npy(folder / "pictures.npy", tensor);
}

std::string quantize(const std::string& options = "", const std::string& name = "vgg") {
  return "quantize " + network(name) + " --calibrate pictures.npy -o out.onnx " + options;
}

TEST(Quantize, WritesANetworkAndWhatItCost) {
  const TestFolder folder;
  write_pictures(folder, 40);
  const Outcome outcome = run_qsim(folder, quantize("--json out.json --report out.html"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("SQNR"), std::string::npos);
  const json document = json::parse(read_file(folder / "out.json"));
  EXPECT_EQ(document["schema"], "qsim.quantize/1");
  EXPECT_EQ(document["pictures"], 40);
  EXPECT_EQ(document["settings"]["form"], "qoperator");
  EXPECT_EQ(document["quantized_bytes"], read_file(folder / "out.onnx").size());
  EXPECT_GT(document["output_errors"]["sqnr_db"], 20);
  EXPECT_LT(document["output_errors"]["cosine_distance"], 0.01);
  for (const char* phase : {"import", "calibrate", "quantize", "correct", "measure", "write"}) {
    EXPECT_GE(document["seconds"][phase], 0) << phase;
  }
  const Graph graph = import_onnx(folder / "out.onnx");
  // The input, and each layer of the graph.
  EXPECT_EQ(document["layers"].size(), graph.layers.size() + 1);
  for (const json& layer : document["layers"]) {
    std::int64_t values = 0;
    for (const std::int64_t count : layer["histogram"]["bins"]) values += count;
    EXPECT_GT(values, 0) << layer["name"];
    EXPECT_LE(layer["errors"]["share_clipped"], 0.05) << layer["name"];
    EXPECT_GT(layer["errors"]["share_of_levels"], 0.1) << layer["name"];
    if (layer.contains("weights")) {
      EXPECT_GT(layer["weights"]["errors"]["sqnr_db"], 30) << layer["name"];
    }
  }
  EXPECT_NE(read_file(folder / "out.html").find("</html>"), std::string::npos);
}

TEST(Quantize, RefusesPicturesOfOneValue) {
  const TestFolder folder;
  write_npy(folder / "pictures.npy", Tensor(DType::kFloat32, {3, 3, 16, 16}));
  expect_error(folder, quantize(), 3,
               "the calibration pictures have one value alone, 0.000000 after preprocessing");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
}

TEST(Quantize, LeavesNoNetworkWhereItsSidecarCannotBeWritten) {
  const TestFolder folder;
  write_pictures(folder, 4);
  std::filesystem::copy_file(network("vgg"), folder / "net.onnx");
  folder.write("net.yaml",
               "preprocess: {resize: [16, 16], mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}\n");
  std::filesystem::create_directory(folder / "out.yaml");
  expect_error(folder, "quantize net.onnx --calibrate pictures.npy -o out.onnx", 3, "out.yaml");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
}

TEST(Quantize, CountsEachFileOfTheFloatNetworkOnce) {
  const TestFolder folder;
  const auto models = source_folder() / "models" / "vgg8-cifar10";
  std::int64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(models)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("vgg8-float") && !name.ends_with(".yaml"))
      bytes += static_cast<std::int64_t>(file.file_size());
  }
  const Outcome outcome = run_qsim(
      folder, "quantize " + (models / "vgg8-float.onnx").string() + " --calibrate " +
                  (source_folder() / "models/pictures").string() + " -o out.onnx --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["float_bytes"], bytes);
}

TEST(Quantize, EveryOptionGivesAnotherNetwork) {
  const TestFolder folder;
  write_pictures(folder, 40);
  folder.write("layers.yaml", "layers:\n  - {name: '*', weight_bits: 5}\n");
  std::set<std::string> files;
  const std::vector<std::string> options = {
      "",
      "--form qdq",
      "--scale-kind dyadic",
      "--scale-kind power_of_two",
      "--activations s8",
      "--activation-bits 6",
      "--symmetry symmetric",
      "--symmetry symmetric_max",
      "--clipping min_max",
      "--clipping moving_average",
      "--clipping moving_average --moving-average 0.5",
      "--clipping percentile",
      "--clipping percentile --percentile 1,99",
      "--clipping entropy",
      "--clipping fixed --range -2,2",
      "--reduced-range none",
      "--reduced-range both",
      "--weight-bits 4",
      "--weight-bits 1",
      "--weight-symmetry affine --granularity tensor",
      "--weight-levels log2 --weight-bits 4",
      "--weight-clipping percentile",
      "--weight-clipping mse",
      "--granularity tensor",
      "--weight-rounding learned",
      "--weight-rounding gptq",
      "--bias-correction",
      "--equalize --granularity tensor",
      "--layers layers.yaml",
      "--pictures 20",
      "--pictures 20 --seed 5",
  };
  for (const std::string& each : options) {
    const Outcome outcome = run_qsim(folder, quantize(each));
    ASSERT_EQ(outcome.exit_code, 0) << each << "\n" << outcome.err;
    EXPECT_NO_THROW(import_onnx(folder / "out.onnx")) << each;
    EXPECT_TRUE(files.insert(read_file(folder / "out.onnx")).second)
        << each << " gives the bytes of another one";
  }
}

// 2 max / 254 of the reduced range is max / 127 of the whole one.
TEST(Quantize, TheLargestWeightAt127IsTheSymmetricScaleOfTheReducedRange) {
  const TestFolder folder;
  write_pictures(folder, 10);
  ASSERT_EQ(run_qsim(folder, quantize("--reduced-range weights")).exit_code, 0);
  const std::string reduced = read_file(folder / "out.onnx");
  const auto whole = [&](const std::string& symmetry) {
    EXPECT_EQ(
        run_qsim(folder, quantize("--reduced-range none --weight-symmetry " + symmetry)).exit_code,
        0);
    return read_file(folder / "out.onnx");
  };
  EXPECT_EQ(whole("symmetric_max"), reduced);
  EXPECT_NE(whole("symmetric"), reduced);
}

TEST(Quantize, GivesTheSameBytesForAnyNumberOfThreads) {
  const TestFolder folder;
  write_pictures(folder, 10);
  ASSERT_EQ(run_qsim(folder, quantize("--threads 1", "residual")).exit_code, 0);
  const std::string one = read_file(folder / "out.onnx");
  ASSERT_EQ(run_qsim(folder, quantize("--threads 3", "residual")).exit_code, 0);
  EXPECT_EQ(read_file(folder / "out.onnx"), one);
}

TEST(Quantize, LayersMayHaveOtherOptions) {
  const TestFolder folder;
  write_pictures(folder, 10);
  ASSERT_EQ(run_qsim(folder, quantize("--json -")).exit_code, 0);
  const json before = json::parse(run_qsim(folder, quantize("--json -")).out);
  const std::string first = before["layers"][1]["name"];
  folder.write("layers.yaml",
               "layers:\n"
               "  - {name: '*', weight_bits: 7, clipping: min_max, symmetry: affine}\n"
               "  - {name: input, clipping: fixed, range: [-1, 1]}\n"
               "  - {name: '" +
                   first +
                   "', weight_bits: 3, activation_bits: 4, granularity: tensor, "
                   "scale_kind: float, reduced_range: both, weight_symmetry: symmetric_max, "
                   "weight_levels: uniform, weight_clipping: mse}\n");
  const Outcome outcome = run_qsim(folder, quantize("--layers layers.yaml --json -"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json layers = json::parse(outcome.out)["layers"];
  const json range = layers[0]["range"];  // -1..1 in 255 steps, 0 a level
  EXPECT_EQ(range["scale"], static_cast<double>(2.0F / 255.0F));
  EXPECT_EQ(range["zero_point"], 127);  // 1 / scale is just below 127.5
  EXPECT_EQ(layers[1]["weights"]["bits"], 3);
  EXPECT_EQ(layers[1]["weights"]["scales"], 1);
  EXPECT_EQ(layers[1]["range"]["bits"], 4);
  EXPECT_EQ(layers[1]["range"]["hi"], 14);
  int others = 0;
  for (std::size_t i = 2; i < layers.size(); ++i) {
    if (!layers[i].contains("weights")) continue;
    EXPECT_EQ(layers[i]["weights"]["bits"], 7);
    ++others;
  }
  EXPECT_GE(others, 2);
}

TEST(Quantize, TakesTheScalesOfATraining) {
  const TestFolder folder;
  write_pictures(folder, 10);
  const json before = json::parse(run_qsim(folder, quantize("--json -")).out);
  const std::string name = before["layers"][1]["name"];
  const json scales = {
      {"schema", "qsim.scales/1"},
      {"input", {{"scale", 0.015625}, {"zero_point", 128}, {"lo", 0}, {"hi", 255}}},
      {"tensors", {{name, {{"scale", 0.03125}, {"zero_point", 3}, {"lo", 0}, {"hi", 255}}}}},
      {"weights", {{name, {{"scales", {0.00390625}}, {"bits", 6}}}}}};
  folder.write("scales.json", scales.dump());
  const Outcome outcome = run_qsim(folder, quantize("--scales scales.json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Graph graph = import_onnx(folder / "out.onnx");
  EXPECT_EQ(graph.input_value().scale, Scale::power_of_two(-6));
  EXPECT_EQ(graph.input_value().zero_point, 128);
  EXPECT_EQ(graph.output_of(0).scale, Scale::power_of_two(-5));
  EXPECT_EQ(graph.output_of(0).zero_point, 3);
  const auto& conv = std::get<Conv2d>(graph.layers[0].operation);
  // x_scale * w_scale / y_scale
  ASSERT_EQ(conv.requantization.requantizers.size(), 1U);
  EXPECT_EQ(real_scale(conv.requantization.requantizers[0]), 0x1p-9F);
  const auto [least, most] = std::ranges::minmax(conv.weights.as<std::int8_t>());
  EXPECT_EQ(std::max<int>(-least, most), 31);
}

TEST(Quantize, CopiesTheSidecarAndReadsPicturesByIt) {
  const TestFolder folder;
  std::filesystem::copy_file(network("vgg"), folder / "net.onnx");
  const std::string sidecar =
      "preprocess: {resize: [16, 16], mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}\n";
  folder.write("net.yaml", sidecar);
  std::filesystem::create_directory(folder / "pictures");
  std::filesystem::copy_file(source_folder() / "models/pictures/chelsea-32x32.png",
                             folder / "pictures" / "cat.png");
  const Outcome outcome =
      run_qsim(folder, "quantize net.onnx --calibrate pictures --out int8.onnx");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_file(folder / "int8.yaml"), sidecar);
  const Outcome run =
      run_qsim(folder, "golden run --model int8.onnx --input pictures/cat.png --backend cpu");
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST(Quantize, RefusesWhatItCannotQuantizeAndWritesNothing) {
  const TestFolder folder;
  write_pictures(folder, 4);
  std::filesystem::create_directory(folder / "empty");
  const auto refuse = [&](const std::string& arguments, int code, const std::string& message) {
    expect_error(folder, arguments, code, message);
    EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
  };
  const std::string net = network("vgg");
  refuse("quantize " + net + " -o out.onnx", 2,
         "qsim quantize needs pictures; give --calibrate DIR|FILE");
  refuse("quantize " + net + " --calibrate pictures.npy", 2,
         "qsim quantize needs a file to write; give -o FILE.onnx");
  refuse("quantize " + net + " --calibrate pictures.npy -o -", 2, "--out: expected a file");
  refuse("quantize " + net + " --calibrate empty -o out.onnx", 3, "empty");
  refuse("quantize missing.onnx --calibrate pictures.npy -o out.onnx", 3, "missing.onnx");
  refuse("quantize " + net + " --calibrate ../nowhere -o out.onnx", 3, "nowhere");
  refuse(quantize("--clipping fixed"), 2, "--clipping fixed needs the range; give --range LO,HI");
  refuse(quantize("--range -1,1"), 2,
         "--range does nothing here: it needs --clipping fixed; leave it out");
  refuse(quantize("--moving-average 0.1"), 2, "--moving-average does nothing here");
  refuse(quantize("--percentile 1,99"), 2, "--percentile does nothing here");
  refuse(quantize("--weight-levels log2 --weight-symmetry affine"), 2,
         "--weight-symmetry does nothing here: it needs --weight-levels uniform; leave it out");
  for (const std::string option :
       {"--weight-symmetry affine", "--weight-clipping mse", "--reduced-range weights"}) {
    refuse(quantize("--weight-bits 1 " + option), 2,
           option.substr(0, option.find(' ')) + " does nothing here: it needs --weight-bits of 2");
  }
  refuse(quantize("--weight-levels log2 --reduced-range weights"), 2,
         "--reduced-range does nothing here: it needs --weight-levels uniform, or ranges");
  for (const char* option :
       {"--activations s8", "--weight-rounding gptq", "--bias-correction", "--equalize"}) {
    refuse(quantize("--scales scales.json " + std::string(option)), 2,
           " does nothing here: it needs no --scales, ");
  }
  refuse(quantize("--clipping fixed --range 2,1"), 2,
         "--range: found '2,1'; allowed: two numbers with a comma between them, the first one "
         "less");
  refuse(quantize("--clipping percentile --percentile 1,101"), 2,
         "--percentile: found '1,101'; allowed: percentiles, 0 to 100");
  refuse(quantize("--weight-levels log2"), 3, "log2");
  write_pictures(folder, 4, 20);
  refuse(quantize(), 3, "pictures.npy");
}

TEST(Quantize, EveryOptionRefusesAnEmptyOrUnknownValue) {
  const TestFolder folder;
  write_pictures(folder, 4);
  for (const char* option : {"calibrate",
                             "report",
                             "layers",
                             "scales",
                             "pictures",
                             "seed",
                             "form",
                             "scale-kind",
                             "activations",
                             "activation-bits",
                             "symmetry",
                             "clipping",
                             "moving-average",
                             "percentile",
                             "range",
                             "reduced-range",
                             "weight-bits",
                             "weight-symmetry",
                             "weight-levels",
                             "weight-clipping",
                             "granularity",
                             "weight-rounding",
                             "mixed-precision",
                             "drop",
                             "threads",
                             "json",
                             "config"}) {
    EXPECT_EQ(run_qsim(folder, quantize(std::string("--") + option + "=")).exit_code, 2) << option;
  }
  expect_error(folder, quantize("--weight-bits 9"), 2, "1 to 8");
  expect_error(folder, quantize("--clipping all"), 2, "min_max");
  EXPECT_EQ(run_qsim(folder, quantize("--config pe8x8 --quiet --threads 1")).exit_code, 0);
  EXPECT_EQ(run_qsim(folder, "quantize --help").exit_code, 0);
  EXPECT_EQ(run_qsim(folder, "quantize --version").exit_code, 0);
}

TEST(Quantize, ReplacesNoFileThatItReads) {
  const TestFolder folder;
  write_pictures(folder, 4);
  std::filesystem::copy_file(network("vgg"), folder / "net.onnx");
  folder.write("layers.yaml", "layers: []\n");
  const std::string head = "quantize net.onnx --calibrate pictures.npy ";
  expect_error(folder, head + "-o net.onnx", 2, "--out would overwrite 'net.onnx', the model");
  expect_error(folder, head + "-o pictures.npy", 2, "'pictures.npy', a picture");
  expect_error(folder, head + "-o out.onnx --layers layers.yaml --report layers.yaml", 2,
               "the file of --layers");
  expect_error(folder, head + "-o layers.onnx --layers layers.yaml", 2, "the file of --layers");
}

TEST(Quantize, AFileOfLayersSaysWhereItIsWrong) {
  const TestFolder folder;
  write_pictures(folder, 4);
  const auto refuse = [&](const std::string& entry, const std::string& message) {
    folder.write("layers.yaml", "layers:\n  - " + entry + "\n");
    expect_error(folder, quantize("--layers layers.yaml"), 3, message);
  };
  refuse("{name: conf1}", "layers.yaml:2:12: name: 'conf1' matches no layer; the network has ");
  refuse("{name: '*', bits: 3}", "layers.yaml:2:");
  refuse("{name: '*', weight_bits: 9}", "layers.yaml:2:");
  refuse("{name: '*', range: [1]}", "found 1 values; expected two numbers");
  refuse("{name: '*', range: [2, 1]}",
         "found two numbers of which the first is not less; expected [LO, HI]");
  refuse("{name: '*', percentile: [2, 200]}", "found percentiles beyond 0 to 100; expected such");
  refuse("{name: '*', moving_average: 2}",
         "found a constant that is not above 0 and at most 1; expected such a number");
  refuse("{name: '*', clipping: fixed}", "fixed needs the range; give range: [LO, HI]");
  for (const auto& [entry, needed] :
       {std::pair{"name: '*', moving_average: 0.1",
                  "moving_average does nothing here: it needs clipping: moving_average"},
        {"name: '*', percentile: [1, 99]",
         "percentile does nothing here: it needs clipping or weight_clipping: percentile"},
        {"name: '*', range: [0, 1]", "range does nothing here: it needs clipping: fixed"},
        {"name: input, weight_bits: 4",
         "weight_bits does nothing here: it needs a layer with weights"},
        {"name: input, weight_clipping: mse",
         "weight_clipping does nothing here: it needs a layer with weights"},
        {"name: input, granularity: tensor",
         "granularity does nothing here: it needs a layer with weights"},
        {"name: input, weight_levels: log2",
         "weight_levels does nothing here: it needs a layer with weights"},
        {"name: '*', weight_levels: log2, weight_bits: 4, weight_symmetry: affine",
         "weight_symmetry does nothing here: it needs a layer with uniform weights"}}) {
    refuse("{" + std::string(entry) + "}", std::string(needed) + "; leave it out");
  }
  for (const char* mode : {" --mode weight_only", " --mode dynamic"}) {
    for (const char* key : {"activation_bits: 4", "symmetry: affine", "clipping: mse"}) {
      folder.write("layers.yaml", "layers:\n  - {name: '*', " + std::string(key) + "}\n");
      expect_error(folder, quantize("--layers layers.yaml" + std::string(mode)), 3,
                   " does nothing here: it needs --mode static or fake, which have ranges");
    }
    folder.write("layers.yaml", "layers:\n  - {name: input, reduced_range: both}\n");
    expect_error(folder, quantize("--layers layers.yaml" + std::string(mode)), 3,
                 "reduced_range does nothing here: it needs ranges, or uniform weights");
  }
}

TEST(Quantize, AFileOfScalesSaysWhereItIsWrong) {
  const TestFolder folder;
  write_pictures(folder, 4);
  const json tensor = {{"scale", 0.5}, {"zero_point", 0}, {"lo", 0}, {"hi", 255}};
  const json good = {{"schema", "qsim.scales/1"}, {"tensors", json::object()}};
  const json before = json::parse(run_qsim(folder, quantize("--json -")).out);
  const std::string first = before["layers"][1]["name"];
  std::filesystem::remove(folder / "out.onnx");
  const auto refuse = [&](const std::string& content, const std::string& message) {
    folder.write("scales.json", content);
    expect_error(folder, quantize("--scales scales.json"), 3, message);
    EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
  };
  const auto with = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    return changed.dump();
  };
  refuse("{", "scales.json: no JSON at byte 2; expected a file of scales, qsim.scales/1");
  refuse("{\"schema\": \"qsim.scales/1\", \"x\": 1e400}",
         "scales.json: has a number beyond float64; expected scales that are float32 numbers");
  refuse(std::string(65, '['), "scales.json: has lists in lists beyond 64 levels; expected a file");
  refuse("[]", "scales.json: found [] in a file of scales; expected an object");
  refuse(R"({"schema": "x"})",
         "scales.json.schema: found \"x\" in a file of scales; expected \"qsim.scales/1\"");
  refuse(R"({"schema": "qsim.scales/1"})", "scales.json: has no 'tensors'; expected one");
  refuse(with("/extra", 1),
         "scales.json: found the field 'extra'; allowed: schema, input, tensors, weights");
  refuse(
      with("/input", {{"scale", -1}, {"zero_point", 0}, {"lo", 0}, {"hi", 255}}),
      "scales.json.input.scale: found -1 in a file of scales; expected a positive float32 number");
  refuse(with("/input", {{"scale", 1}, {"zero_point", 300}, {"lo", 0}, {"hi", 255}}),
         "scales.json.input.zero_point: found 300 in a file of scales; expected a whole number "
         "from 0 to 255");
  refuse(with("/tensors/nothing", tensor),
         "the scales name the layer 'nothing', which the network does not have; its layers: ");
  refuse(with("/weights", {{"nothing", {{"scales", {1.0}}, {"bits", 8}}}}),
         "the scales name the layer 'nothing'");
  refuse(with("/weights", {{first, {{"scales", json::array()}, {"bits", 8}}}}),
         "expected a list of numbers");
  refuse(with("/weights", {{first, {{"scales", {1.0, 1.0}}, {"bits", 8}}}}),
         "the scales have 2 scales of the weights of '" + first + "'; expected 1 or ");
  json two = good;
  two["input"] = tensor;
  two["tensors"][first] = {{"scale", 0.5}, {"zero_point", 0}, {"lo", -128}, {"hi", 127}};
  refuse(two.dump(),
         "scales.json: some tensors have negative levels and others have not; expected one type "
         "for all");
  for (const json& layer : before["layers"]) {
    if (layer["op"] != "max_pool") continue;
    refuse(with("/weights", {{layer["name"], {{"scales", {1.0}}, {"bits", 8}}}}),
           "the scales have weights of the layer '" + layer["name"].get<std::string>() +
               "', which has none");
    break;
  }
}

}  // namespace
}  // namespace qsim
