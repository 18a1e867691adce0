// --images and --batch: N pictures, B of them at a time, by every command that takes both.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/session/inputs/input_source.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace cli;
namespace {

using Json = nlohmann::json;

constexpr int kRecords = 7;

std::string cifar_batch() {
  std::string batch;
  for (int record = 0; record < kRecords; ++record) {
    batch += static_cast<char>(record);
    for (int i = 0; i < 3072; ++i) batch += static_cast<char>(i * (record + 3) + i / 7);
  }
  return batch;
}

class Images : public ::testing::Test {
 protected:
  Images() { folder_.write("b.bin", cifar_batch()); }

  Json json_of(const std::string& arguments) {
    const Outcome outcome = run_qsim(folder_, arguments + " --input b.bin --json - --quiet");
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return Json::parse(outcome.out);
  }

  TestFolder folder_;
};

struct Case {
  int images, batch, programs;
};

TEST_F(Images, AreAsManyPicturesAsVerifySaysAndComparesWhateverTheBatch) {
  const std::int64_t one = json_of("verify --engines systemc")["values"];
  EXPECT_GT(one, 0);
  for (const Case& c : {Case{1, 1, 1}, {5, 1, 5}, {5, 2, 3}, {5, 5, 1}, {2, 3, 1}, {7, 3, 3}}) {
    const std::string words =
        "--images " + std::to_string(c.images) + " --batch " + std::to_string(c.batch);
    const Json result = json_of("verify --engines systemc " + words);
    EXPECT_EQ(result["images"], c.images) << words;
    EXPECT_EQ(result["values"], one * c.images) << words;
    EXPECT_EQ(result["engines"][0]["programs"], c.programs) << words;
    EXPECT_EQ(result["mismatches"], 0) << words;
    EXPECT_EQ(json_of("golden run " + words)["pictures"], c.images) << words;
  }
}

TEST_F(Images, WithoutTheOptionAreOneBatch) {
  const std::int64_t one = json_of("verify --engines systemc")["values"];
  const Json result = json_of("verify --engines systemc --batch 3");
  EXPECT_EQ(result["images"], 3);
  EXPECT_EQ(result["values"], one * 3);
}

TEST_F(Images, MayBeAllThatTheFileHasThoughTheBatchIsLarger) {
  EXPECT_EQ(json_of("verify --engines systemc --index 5 --images 2 --batch 64")["images"], 2);
  expect_error(folder_, "verify --input b.bin --index 5 --images 3 --batch 64", 3,
               "records 5 to 7 are wanted; the batch has 7");
}

TEST_F(Images, OfOneBatchGoWithLayers) {
  EXPECT_EQ(json_of("verify --engines systemc --layers fc3 --images 2 --batch 2")["images"], 2);
  expect_error(folder_, "verify --input b.bin --layers fc3 --images 3 --batch 2", 2,
               "--layers compares one batch; --images 3 is more than --batch 2");
}

TEST_F(Images, AreOfACifarBatchAlone) {
  for (const char* model : {"fc", "fc_batch16"}) {
    expect_error(folder_, std::string("verify --images 1 --model ") + model, 2,
                 "--images needs a CIFAR-10 batch (.bin) as --input");
  }
}

// Each batch begins where the one before it ended.
TEST_F(Images, AreReadInTheOrderOfTheFileWhateverTheBatch) {
  NetworkRequest request;
  request.model = "vgg8-cifar10";
  InputOptions options;
  options.input = (folder_ / "b.bin").string();
  options.index = 1;
  const ArchConfig config = load_config(request);
  Model model = load_model(request, config);
  const InputSource source(request, options, config, model, 5);
  std::vector<std::byte> one_by_one;
  for (std::int64_t i = 0; i < 5; ++i) {
    const Tensor picture = source.at(model, i);
    one_by_one.insert(one_by_one.end(), picture.bytes.begin(), picture.bytes.end());
  }
  std::vector<std::byte> in_batches;
  for (const std::int64_t batch : {2, 3}) {
    set_batch(model.graph, batch);
    const Tensor pictures = source.at(model, batch == 2 ? 0 : 2);
    in_batches.insert(in_batches.end(), pictures.bytes.begin(), pictures.bytes.end());
  }
  EXPECT_EQ(one_by_one, in_batches);
  EXPECT_EQ(one_by_one.size(), 5u * 3072u);
}

}  // namespace
}  // namespace qsim
