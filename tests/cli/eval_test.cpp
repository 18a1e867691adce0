// `qsim eval`: what it counts, the engines that it compares, what it keeps, and what it refuses.
#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/eval_fixture.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

TEST_F(Eval, CountsThePredictionsThatItWrites) {
  const Json json = eval("--data b.bin --out o");
  EXPECT_EQ(json["schema"], "qsim.eval/1");
  EXPECT_EQ(json["classes"], 10);
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json, Json::parse(read_file(folder_ / "o/eval.json")));
  const std::vector<std::int32_t> best = predictions("o");
  ASSERT_EQ(best.size(), 40u);
  std::vector<std::vector<std::int64_t>> confusion(10, std::vector<std::int64_t>(10));
  std::int64_t right = 0;
  for (int i = 0; i < 40; ++i) {
    const int label = (i * 7 + i / 10) % 10;
    const std::int32_t found = best[static_cast<std::size_t>(i)];
    ++confusion[static_cast<std::size_t>(label)][static_cast<std::size_t>(found)];
    right += label == found ? 1 : 0;
  }
  const Json& golden = json["engines"][0];
  EXPECT_EQ(golden["engine"], "golden");
  EXPECT_EQ(golden["backend"], "cpu");
  EXPECT_EQ(golden["top1_correct"], right);
  EXPECT_EQ(golden["confusion"], confusion);
  EXPECT_EQ(golden["per_class"][3]["pictures"], 4);
  EXPECT_EQ(golden["per_class"][3]["name"], "cat");
  EXPECT_GE(golden["top5_correct"], right);
}

TEST_F(Eval, HasThePredictionsOfGoldenRunWhateverThreadsAndBatch) {
  eval("--data b.bin --out o");
  const std::vector<std::int32_t> expected = predictions("o");
  const Json run = json_of(folder_, "golden run" + kModel + "--input b.bin --images 20");
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(run["classes"][i]["class"], expected[i]);
  int number = 0;
  for (const char* words : {"--jobs 1", "--jobs 3", "--batch 1", "--batch 7 --jobs 2",
                            "--batch 1000", "--engines systemc --batch 16"}) {
    const std::string out = "o" + std::to_string(++number);
    eval("--data b.bin --out " + out + " " + words);
    EXPECT_EQ(predictions(out), expected) << words;
  }
}

TEST_F(Eval, FindsGoldenAndTheAcceleratorEqualInEveryByte) {
  const Json json = eval("--data b.bin --engines golden,systemc --config pe8x8 --pictures 20");
  EXPECT_EQ(json["config"], "pe8x8");
  ASSERT_EQ(json["pairs"].size(), 1u);
  const Json& pair = json["pairs"][0];
  EXPECT_EQ(pair["pictures"], 20);
  EXPECT_EQ(pair["same_bytes"], 20);
  EXPECT_EQ(pair["same_top1"], 20);
  EXPECT_EQ(pair["mcnemar_p"], 1);
  EXPECT_EQ(pair["both_right"].get<int>() + pair["neither_right"].get<int>(), 20);
}

TEST_F(Eval, DrawsPicturesWithASeed) {
  const auto drawn = [&](const std::string& words) {
    return eval("--data b.bin --pictures 15 " + words)["engines"][0]["per_class"];
  };
  EXPECT_EQ(drawn("--seed 3"), drawn("--seed 3"));
  EXPECT_NE(drawn("--seed 3"), drawn("--seed 4"));
  EXPECT_EQ(drawn("--seed 0"), drawn(""));
}

TEST_F(Eval, ComparesTwoNetworksOnTheSamePictures) {
  const Json json = eval("--data b.bin --against resnet14-cifar10 --engines golden");
  ASSERT_EQ(json["engines"].size(), 2u);
  EXPECT_EQ(json["models"][1]["name"], "resnet14-cifar10");
  ASSERT_EQ(json["pairs"].size(), 1u);
  const Json& pair = json["pairs"][0];
  EXPECT_FALSE(pair.contains("same_bytes"));
  const int first = pair["both_right"].get<int>() + pair["first_only_right"].get<int>();
  const int second = pair["both_right"].get<int>() + pair["second_only_right"].get<int>();
  EXPECT_EQ(first, json["engines"][0]["top1_correct"]);
  EXPECT_EQ(second, json["engines"][1]["top1_correct"]);
  EXPECT_LT(pair["same_top1"], 40);
  const Outcome text =
      run_qsim(folder_, "eval" + kModel + "--data b.bin --against vgg8-cifar10 --rounding floor");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("vgg8-cifar10 against vgg8-cifar10 on b.bin: 40 pictures, 10 classes"),
            std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("McNemar"), std::string::npos);
  EXPECT_NE(text.out.find("confusion of"), std::string::npos);
}

TEST_F(Eval, TakesClassFoldersByTheirNames) {
  for (const char* name : {"cat", "truck"}) {
    for (int i = 0; i < 3; ++i) {
      const std::string at = "d/" + std::string(name);
      fs::create_directories(folder_ / at);
      const auto seed = static_cast<std::uint64_t>(i + name[0]);
      folder_.write(at + "/" + std::to_string(i) + (i == 1 ? ".jpg" : ".png"),
                    i == 1 ? jpeg_file(40, 50, seeded_rgb(40, 50, seed))
                           : png_file(32, 32, seeded_rgb(32, 32, seed)));
    }
  }
  const Json json = eval("--data d");
  EXPECT_EQ(json["data"]["kind"], "class_folders");
  EXPECT_EQ(json["engines"][0]["per_class"][3]["pictures"], 3);
  EXPECT_EQ(json["engines"][0]["per_class"][9]["pictures"], 3);
  refused("--data d/cat" + kModel, 2, "the pictures of --data have no labels, so one engine");
  const Json flat = eval("--data d/cat --engines golden,systemc");
  EXPECT_FALSE(flat["engines"][0].contains("top1"));
  EXPECT_FALSE(flat["pairs"][0].contains("mcnemar_p"));
  EXPECT_EQ(flat["pairs"][0]["same_bytes"], 3);
}

TEST_F(Eval, GoesOnWithWhatIsKeptOfTheSameInputsAlone) {
  const auto kept = [&](const std::string& words) {
    return eval("--out o " + words)["engines"][0]["kept_before"].get<int>();
  };
  EXPECT_EQ(kept("--data b.bin"), 0);
  const std::vector<std::int32_t> expected = predictions("o");
  EXPECT_EQ(kept("--data b.bin"), 40);
  EXPECT_EQ(predictions("o"), expected);
  EXPECT_EQ(kept("--data b.bin --batch 3 --jobs 1"), 40) << "these change no byte";
  EXPECT_EQ(kept("--data b.bin --pictures 20"), 0);
  EXPECT_EQ(kept("--data b.bin --pictures 20 --seed 1"), 0);
  EXPECT_EQ(kept("--data b.bin --pictures 20"), 20);
  EXPECT_EQ(kept("--data b.bin --rounding floor"), 0);
  EXPECT_EQ(kept("--data b.bin --engines systemc"), 0);
  EXPECT_EQ(kept("--data b.bin --engines systemc --config pe8x8"), 0);
  folder_.write("b.bin", records(41));
  EXPECT_EQ(kept("--data b.bin"), 0);
  const Outcome again = run_qsim(folder_, "eval" + kModel + "--data b.bin --out o");
  EXPECT_NE(again.err.find("qsim: note: o/eval.kept has 41 of 41 predictions"), std::string::npos)
      << again.err;
}

TEST_F(Eval, InterruptedSaysWhatIsFinishedAndGoesOn) {
  folder_.write("b.bin", records(600));
  const std::string words = "eval" + kModel + "--data b.bin --jobs 1 --batch 2";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(folder_.path().c_str()) != 0) ::_exit(99);
    const std::string command = "exec '" QSIM_EXECUTABLE "' " + words + " --out o > out 2> err";
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(99);
  }
  const auto lines = [&] {
    const std::string text =
        fs::exists(folder_ / "o/eval.kept") ? read_file(folder_ / "o/eval.kept") : "";
    return std::count(text.begin(), text.end(), '\n');
  };
  while (lines() < 3 && ::waitpid(child, nullptr, WNOHANG) == 0) std::this_thread::yield();
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 130) << read_file(folder_ / "err");
  EXPECT_NE(read_file(folder_ / "err").find("a second interrupt ends at once"), std::string::npos);
  EXPECT_NE(read_file(folder_ / "out").find("these are the pictures that are finished"),
            std::string::npos);
  const Json partial = Json::parse(read_file(folder_ / "o/eval.json"));
  EXPECT_EQ(partial["complete"], false);
  const int done = partial["engines"][0]["pictures"];
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 600);
  const std::vector<std::int32_t> some = predictions("o");
  EXPECT_NE(some[static_cast<std::size_t>(done) - 1], -1);
  EXPECT_EQ(some[static_cast<std::size_t>(done)], -1);
  const Json rest = json_of(folder_, words + " --out o");
  EXPECT_EQ(rest["engines"][0]["kept_before"], done);
  const std::vector<std::int32_t> resumed = predictions("o");
  json_of(folder_, words + " --out whole");
  EXPECT_EQ(resumed, predictions("whole"));
}

TEST_F(Eval, RefusesWhatItCannotJudge) {
  folder_.write("map.yaml",
                "name: map\nseed: 1\ninput: {shape: [1, 8, 8, 3], dtype: int8}\nlayers:\n"
                "  - {op: conv2d, name: c, out_channels: 4, kernel: 3, pad: 1}\n");
  refused("--model map.yaml --data b.bin", 3,
          "its output is [1, 8, 8, 4]; eval needs a network that ends with a number for each");
  refused("--model vgg8-cifar10", 2, "--data is required");
  refused("--data none.bin", 3, "none.bin: there is no such file or folder");
  refused("--data b.bin --pictures 41", 3, "41 pictures are wanted; there are 40");
  refused("--data b.bin --engines golden,golden", 2, "--engines names an engine twice");
  refused("--data b.bin --engines rtl", 2, "--engines: found 'rtl'");
  refused("--data b.bin --model none", 3, "none");
  refused("--data b.bin --against none", 3, "none");
  refused("--data b.bin --config none", 3, "none");
  refused("--data b.bin --rounding up", 2, "--rounding");
  refused("--data b.bin --backend tpu", 2, "--backend");
  refused("--data b.bin --out -", 2, "--out: expected a folder");
  refused("--data b.bin --json no/such/folder/r.json", 3, "no/such/folder");
  refused("--data b.bin --json b.bin", 2, "--json would overwrite 'b.bin', the pictures");
  refused("--data b.bin --engines systemc --strict --model resnet14-cifar10", 4, "");
  for (const char* option : {"seed", "batch", "jobs", "pictures"}) {
    refused("--data b.bin --" + std::string(option) + "=", 2, ": the value is missing");
  }
}

TEST_F(Eval, RefusesNetworksOfOtherClasses) {
  folder_.write("small.yaml", kSmall);
  write_npy(folder_ / "p.npy", Tensor(DType::kFloat32, {1, 3, 32, 32}));
  refused("--data b.bin --model vgg8-cifar10 --against small.yaml", 3, "small.yaml");
  refused("--data p.npy --model vgg8-cifar10", 2, "no labels");
  std::string other = kSmall;
  other.replace(other.find("out_features: 7"), 15, "out_features: 5");
  folder_.write("other.yaml", other);
  write_npy(folder_ / "s.npy", Tensor(DType::kFloat32, {1, 6, 5, 3}));
  refused("--data s.npy --model small.yaml --against other.yaml", 3, "the network has 5 classes; ");
}

}  // namespace
}  // namespace qsim
