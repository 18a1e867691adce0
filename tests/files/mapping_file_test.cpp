// Mapping files: what is written is read back, and what is wrong is told with its place.
#include "formats/settings/mapping_file.h"

#include "core/base/limits.h"
#include "core/base/random.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

Mapping any_mapping(Random& random) {
  Mapping mapping;
  for (const MappingField& field : mapping_fields()) {
    const auto words = static_cast<std::int64_t>(field.words.size());
    field.set(mapping, random.uniform(0, words == 0 ? 100000 : words - 1));
  }
  return mapping;
}

TEST(MappingFile, EveryMappingRoundTrips) {
  const TemporaryFolder folder;
  Random random(5);
  const ArchConfig arch;
  for (int i = 0; i < 20; ++i) {
    const std::vector<LayerMapping> layers = {{"conv \"1\"", any_mapping(random), {}, {}},
                                              {"fc", any_mapping(random), {}, {}}};
    const std::string text = mapping_file_yaml("a model", arch, layers);
    const std::vector<LayerMapping> read = load_mapping_file(folder.file("m.yaml", text), arch);
    ASSERT_EQ(read.size(), 2u);
    for (std::size_t l = 0; l < 2; ++l) {
      EXPECT_EQ(read[l].layer, layers[l].layer);
      EXPECT_EQ(read[l].mapping, layers[l].mapping) << text;
    }
    EXPECT_TRUE(read[1].place.ends_with("m.yaml:24:11")) << read[1].place;
    EXPECT_TRUE(read[1].field_places[1].ends_with("m.yaml:26:16")) << read[1].field_places[1];
  }
}

TEST(MappingFile, OfTheMostLayersIsReadBack) {
  const TemporaryFolder folder;
  Random random(6);
  const ArchConfig arch;
  std::vector<LayerMapping> layers;
  for (std::int64_t i = 0; i < kMaxLayers; ++i) {
    layers.push_back(
        {"model/stage/block/convolution_" + std::to_string(i), any_mapping(random), {}, {}});
  }
  const std::string text = mapping_file_yaml("a model", arch, layers);
  EXPECT_GT(std::ssize(text), kMaxYamlBytes);
  const std::vector<LayerMapping> read = load_mapping_file(folder.file("m.yaml", text), arch);
  ASSERT_EQ(read.size(), layers.size());
  EXPECT_EQ(read.back().layer, layers.back().layer);
  EXPECT_EQ(read.back().mapping, layers.back().mapping);
}

// What load_mapping_file() refuses for its length is not written.
TEST(MappingFile, ALongerOneIsNotWritten) {
  const std::string name(static_cast<std::size_t>(kMaxMappingBytes), 'n');
  try {
    mapping_file_yaml("a model", ArchConfig{}, std::vector<LayerMapping>{{name, {}, {}, {}}});
    FAIL() << "it is made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_TRUE(std::string(error.what()).starts_with("the mapping file of 1 layers is 167"))
        << error.what();
    EXPECT_TRUE(std::string(error.what())
                    .ends_with(" bytes long; a mapping file has at most 16777216; give the layers "
                               "shorter names"));
  }
}

std::string file(const std::string& layer, const std::string& head = "qsim_mapping: 1\n") {
  return head + "array_rows: 16\narray_cols: 16\nlayers:\n" + layer;
}

constexpr const char* kLayer =
    "  - {name: c, tile_rows: 2, tile_cols: 3, act_planes: 4, act_kernel_rows: 1, "
    "weight_folds: 5}\n";

TEST(MappingFile, AFieldThatIsLeftOutHasItsDefault) {
  const TemporaryFolder folder;
  const std::vector<LayerMapping> read =
      load_mapping_file(folder.file("m.yaml", file(kLayer)), ArchConfig{});
  ASSERT_EQ(read.size(), 1u);
  const Mapping expected{.tile_rows = 2,
                         .tile_cols = 3,
                         .act_planes = 4,
                         .act_kernel_rows = 1,
                         .weight_folds = 5,
                         .first_weight_folds = 5};
  EXPECT_EQ(read[0].mapping, expected);
}

TEST(MappingFile, MistakesSayWhereAndWhatIsAllowed) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    return error_of([&] { load_mapping_file(folder.file("m.yaml", text), ArchConfig{}); });
  };
  expect_contains(message(file(kLayer, "qsim_mapping: 2\n")), "m.yaml:1:15: qsim_mapping: 2");
  expect_contains(message(file(kLayer, "")), "the key 'qsim_mapping' is missing");
  expect_contains(message(file(kLayer, "qsim_mapping: 1\ncolour: red\n")),
                  "m.yaml:2:1: unknown key 'colour'");
  expect_contains(message(file("  - {name: c, tile_row: 2}\n")),
                  "unknown key 'tile_row'; did you mean 'tile_rows'?");
  expect_contains(message(file("  - {name: c, tile_rows: 2}\n")), "the key 'tile_cols' is missing");
  expect_contains(message(file("  - {name: c, tile_rows: two}\n")), "m.yaml:5:26: ");
  expect_contains(message(file(std::string(kLayer).insert(5, "order: inner, "))),
                  "Allowed: tiles_outer, blocks_outer");
  expect_contains(message(file(std::string(kLayer) + kLayer)),
                  "m.yaml:6:12: name: layer 'c' is there twice");
  expect_contains(message("qsim_mapping: 1\narray_rows: 8\narray_cols: 16\nlayers: []\n"),
                  "m.yaml:2:13: array_rows: the file is for 8; config 'unnamed' has 16");
}

}  // namespace
}  // namespace qsim
