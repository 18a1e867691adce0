// Sets of pictures: what files there are of which class, what becomes of a picture, and errors.
#include "cli/session/inputs/picture_set.h"

#include <limits>
#include <set>

#include <sys/stat.h>

#include "cli/host_tensors/preprocess.h"
#include "formats/pictures/image.h"
#include "formats/traces/npy.h"
#include "tests/cli/picture_files.h"
#include "tests/files/bytes_read.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace cli;
using namespace formats;
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 4;

Sidecar sidecar_of(std::vector<std::string> labels) {
  return {"net.yaml", kSide, kSide, {0.25f, 0.5f, 0.75f}, {0.5f, 0.25f, 2.0f}, std::move(labels)};
}

PictureForm form_of(std::vector<std::string> labels = {}, std::int64_t classes = 3) {
  PictureForm form;
  form.input.graph = "net";
  form.input.layout = HostInterface::Layout::kNchw;
  form.input.value.shape = {8, kSide, kSide, 3};
  form.sidecar = sidecar_of(std::move(labels));
  form.model = "net";
  form.path = "net.onnx";
  form.classes = classes;
  return form;
}

void no_note(const std::string& line) { ADD_FAILURE() << line; }

// x / 255, less the mean, over the deviation: each operation in float32.
float expected(std::uint8_t x, std::size_t channel) {
  const Sidecar sidecar = sidecar_of({});
  const float real = static_cast<float>(x) / 255.0f;
  const float less = real - sidecar.mean.at(channel);
  return less / sidecar.std.at(channel);
}

class Pictures : public ::testing::Test {
 protected:
  void make(const std::string& name, std::uint64_t seed) {
    fs::create_directories((folder_.path() / name).parent_path());
    const std::vector<std::uint8_t> rgb = seeded_rgb(kSide, kSide, seed);
    folder_.file(name, name.ends_with("png") || name.ends_with("PNG")
                           ? png_file(kSide, kSide, rgb)
                           : jpeg_file(kSide, kSide, rgb));
  }
  PictureSet set(const std::string& name, const PictureForm& form) {
    return {{folder_.path() / name}, form, no_note};
  }
  std::string refusal(const std::string& name, const PictureForm& form) {
    return error_of([&] { PictureSet({folder_.path() / name}, form, [](const auto&) {}); });
  }

  TemporaryFolder folder_;
};

std::vector<std::string> names(const PictureSet& set) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < set.count(); ++i) all.push_back(set.name(i));
  return all;
}

std::vector<int> labels(const PictureSet& set) {
  std::vector<int> all;
  for (std::int64_t i = 0; i < set.count(); ++i) all.push_back(set.label(i));
  return all;
}

TEST_F(Pictures, OfClassFoldersHaveTheClassOfTheLabelOfThatName) {
  for (const char* name : {"d/dog/2.jpg", "d/dog/10.PNG", "d/ant/b.jpeg", "d/ant/a/z.png",
                           "d/.hidden/x.png", "d/ant/.y.png"}) {
    make(name, 1);
  }
  folder_.file("d/ant/notes.txt", "no picture");
  const PictureSet set = this->set("d", form_of({"dog", "eel", "ant"}));
  EXPECT_EQ(set.kind(), "class_folders");
  EXPECT_EQ(names(set),
            (std::vector<std::string>{"ant/b.jpeg", "ant/a/z.png", "dog/10.PNG", "dog/2.jpg"}));
  EXPECT_EQ(labels(set), (std::vector<int>{2, 2, 0, 0}));
  EXPECT_EQ(set.class_names(), (std::vector<std::string>{"dog", "eel", "ant"}));
}

TEST_F(Pictures, OfFoldersThatNoLabelHasAreClassesByTheirOrderAndANoteSaysSo) {
  for (const char* name : {"d/n02/1.png", "d/n01/1.png", "d/n10/1.png"}) make(name, 1);
  for (const bool labelled : {true, false}) {
    std::string note;
    const PictureSet set(
        {folder_.path() / "d"},
        form_of(labelled ? std::vector<std::string>{"a", "b", "c"} : std::vector<std::string>{}),
        [&](const std::string& line) { note = line; });
    EXPECT_EQ(labels(set), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(set.class_names()[1], labelled ? "b" : "n02");
    expect_contains(note, "0 is n01, 2 is n10");
  }
}

TEST_F(Pictures, OfAFlatFolderHaveNoLabels) {
  for (const char* name : {"d/b.png", "d/a.jpg"}) make(name, 1);
  const PictureSet set = this->set("d", form_of({"x"}));
  EXPECT_FALSE(set.has_labels());
  EXPECT_EQ(set.kind(), "pictures");
  EXPECT_EQ(names(set), (std::vector<std::string>{"a.jpg", "b.png"}));
  EXPECT_EQ(this->set("d/b.png", form_of()).count(), 1);
}

TEST_F(Pictures, OfCifarBatchesComeFileByFile) {
  fs::create_directories(folder_.path() / "d");
  folder_.file("d/2.bin", cifar_record(1, 5) + cifar_record(9, 6));
  folder_.file("d/1.bin", cifar_record(7, 7));
  folder_.file("d/batches.meta.txt", "names");
  const PictureSet set = this->set("d", form_of({}, 10));
  EXPECT_EQ(set.kind(), "cifar10");
  EXPECT_EQ(labels(set), (std::vector<int>{7, 1, 9}));
  EXPECT_EQ(names(set), (std::vector<std::string>{"1.bin[0]", "2.bin[0]", "2.bin[1]"}));
  const PictureSet swapped({folder_.path() / "d/2.bin", folder_.path() / "d/1.bin"},
                           form_of({}, 10), no_note);
  EXPECT_EQ(labels(swapped), (std::vector<int>{1, 9, 7}));
  EXPECT_EQ(swapped.files().size(), 2u);
}

TEST_F(Pictures, AreReadAsTheSidecarSaysWhateverTheThreads) {
  for (int i = 0; i < 5; ++i)
    make("d/" + std::to_string(i) + ".png", 40u + static_cast<unsigned>(i));
  const PictureSet set = this->set("d", form_of());
  const Tensor batch = set.read(1, 3);
  ASSERT_EQ(batch.shape, (Shape{3, kSide, kSide, 3}));
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<std::uint8_t> rgb = seeded_rgb(kSide, kSide, 41 + i);
    for (std::size_t k = 0; k < rgb.size(); ++k) {
      ASSERT_EQ(batch.as<float>()[i * rgb.size() + k], expected(rgb[k], k % 3));
    }
  }
  golden::ThreadTeam team(3);
  EXPECT_EQ(set.read(1, 3, team), batch);
}

TEST_F(Pictures, AreTheBytesThatPreprocessGives) {
  make("d/a.jpg", 3);
  make("d/b.png", 4);
  PictureForm form = form_of();
  Value value = form.input.value;
  value.dtype = DType::kUint8;
  value.zero_point = 100;
  value.scale = Scale::of(0.02f);
  const PictureSet set = this->set("d", form);
  std::vector<std::byte> bytes(2 * kSide * kSide * 3);
  set.read_levels(0, value, bytes);
  value.shape.batch = 1;
  form.input.value = value;
  const Tensor second =
      preprocess(read_image(folder_.path() / "d/b.png"), *form.sidecar, form.input);
  EXPECT_TRUE(
      std::equal(second.bytes.begin(), second.bytes.end(), bytes.begin() + kSide * kSide * 3));
  EXPECT_GT(std::set(bytes.begin(), bytes.end()).size(), 10u);
}

TEST_F(Pictures, OfAnNpyAreInTheLayoutOfTheModelAndHaveTheLabelsBesideIt) {
  Tensor nchw(DType::kFloat32, {2, 3, kSide, kSide});
  for (std::size_t i = 0; i < nchw.as<float>().size(); ++i)
    nchw.as<float>()[i] = static_cast<float>(i);
  write_npy(folder_.path() / "p.npy", nchw);
  PictureForm form = form_of();
  form.sidecar.reset();
  EXPECT_FALSE(set("p.npy", form).has_labels());
  const std::vector<std::int32_t> wanted{2, 0};
  write_npy(folder_.path() / "p.labels.npy", make_tensor<std::int32_t>({2}, wanted));
  const PictureSet set = this->set("p.npy", form);
  EXPECT_EQ(labels(set), (std::vector<int>{2, 0}));
  EXPECT_EQ(set.name(1), "p.npy[1]");
  const Tensor batch = set.read(1, 1);
  EXPECT_EQ(batch.as<float>()[1], static_cast<float>(3 * 16 + 16));  // the green of pixel 0
  EXPECT_EQ(batch.as<float>()[3], static_cast<float>(3 * 16 + 1));   // the red of pixel 1
}

TEST_F(Pictures, DrawnWithASeedAreTheSameAndInTheirOrder) {
  std::string batch;
  for (unsigned i = 0; i < 60; ++i) batch += cifar_record(static_cast<int>(i % 10), i);
  folder_.file("b.bin", batch);
  const auto drawn = [&](std::int64_t wanted, std::uint64_t seed) {
    PictureSet set = this->set("b.bin", form_of({}, 10));
    set.sample(wanted, seed);
    return names(set);
  };
  EXPECT_EQ(drawn(20, 1), drawn(20, 1));
  EXPECT_NE(drawn(20, 1), drawn(20, 2));
  EXPECT_EQ(drawn(60, 7), names(set("b.bin", form_of({}, 10))));
  const std::vector<std::string> few = drawn(20, 1);
  EXPECT_EQ(std::set(few.begin(), few.end()).size(), 20u);
  // Every picture has its chance: 50 draws of 20 of 60 leave none out.
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const std::string& name : drawn(20, seed)) seen.insert(name);
  }
  EXPECT_EQ(seen.size(), 60u);
  PictureSet one = set("b.bin", form_of({}, 10));
  expect_contains(error_of([&] { one.sample(61, 0); }), "61 pictures are wanted; there are 60");
}

TEST_F(Pictures, ThatAreNotThereAreErrors) {
  expect_contains(refusal("none", form_of()), "there is no such file or folder");
  fs::create_directories(folder_.path() / "empty");
  expect_contains(refusal("empty", form_of()), "has no pictures");
  make("mixed/a.png", 1);
  make("mixed/cat/a.png", 1);
  expect_contains(refusal("mixed", form_of()),
                  "0 batches (*.bin), 1 folders and 1 pictures, of which one kind");
  make("d/cat/a.png", 1);
  fs::create_directories(folder_.path() / "d/dog");
  expect_contains(refusal("d", form_of()), "dog: the class folder has no picture");
}

TEST_F(Pictures, OfClassesThatTheModelLacksAreErrors) {
  for (const char* name : {"d/cat/1.png", "d/dgo/1.png"}) make(name, 1);
  expect_contains(refusal("d", form_of({"cat", "dog"})),
                  "dgo: no label of the model is called as this class folder; did you mean 'dog'?");
  expect_contains(refusal("d", form_of({}, 1)), "2 class folders; the model has 1 classes");
  folder_.file("b.bin", cifar_record(7, 1));
  expect_contains(refusal("b.bin", form_of({}, 7)),
                  "b.bin[0]: label 7; model 'net' has classes 0 to 6");
}

TEST_F(Pictures, ThatTheModelCannotTakeAreErrors) {
  make("d/a.png", 1);
  PictureForm form = form_of();
  form.sidecar.reset();
  expect_contains(refusal("d", form), "expected net.yaml beside it, or a .npy of float32");
  write_npy(folder_.path() / "p.npy", Tensor(DType::kFloat32, {2, 3, 5, 5}));
  expect_contains(refusal("p.npy", form), "the model takes [N, 3, 4, 4] (NCHW)");
  write_npy(folder_.path() / "u.npy", Tensor(DType::kUint8, {2, 3, 4, 4}));
  expect_contains(refusal("u.npy", form), "dtype uint8; pictures as real numbers are float32");
  write_npy(folder_.path() / "q.npy", Tensor(DType::kFloat32, {2, 3, 4, 4}));
  write_npy(folder_.path() / "q.labels.npy", Tensor(DType::kInt32, {3}));
  expect_contains(refusal("q.npy", form), "is int32 [3]; expected int32 [2]");
}

TEST_F(Pictures, ThatCannotBeReadAreNamedTheFirstOfABatch) {
  for (int i = 0; i < 6; ++i) make("d/" + std::to_string(i) + ".png", 1);
  folder_.file("d/2.png", "no picture");
  folder_.file("d/4.png", "nor this");
  const PictureSet set = this->set("d", form_of());
  golden::ThreadTeam team(3);
  expect_contains(error_of([&] { set.read(0, 6, team); }), "2.png");
  EXPECT_EQ(set.read(0, 2).shape[0], 2);
  EXPECT_EQ(error_of([&] {
              PictureSet({"a.png", "b.png"}, form_of(), no_note);
            }).substr(0, 5),
            "a.png");
}

// What is counted is what this process reads.
TEST_F(Pictures, OfBatchesAreCountedBeforeTheyAreRead) {
  const std::int64_t record = std::ssize(cifar_record(1, 1));
  std::vector<fs::path> batches;
  for (const char* name : {"a.bin", "b.bin"}) {
    batches.push_back(folder_.file(name, cifar_record(1, 1)));
    fs::resize_file(batches.back(), static_cast<std::uintmax_t>(record * (kMaxImages / 2 + 1)));
  }
  const std::int64_t before = bytes_read();
  const std::string found = error_of([&] { PictureSet(batches, form_of(), no_note); });
  expect_contains(found, "a.bin: 1048578 pictures; the most are 1048576");
  EXPECT_LT(bytes_read() - before, std::int64_t{1} << 20);
}

TEST_F(Pictures, OfSeveralPathsAreCifarBatchesAlone) {
  make("a.png", 1);
  folder_.file("b.bin", cifar_record(1, 1));
  expect_contains(
      error_of([&] {
        PictureSet({folder_.path() / "a.png", folder_.path() / "b.bin"}, form_of(), no_note);
      }),
      "of several paths each must be a CIFAR-10 batch (.bin)");
}

TEST_F(Pictures, OfAFolderAreAllThatAreCalledSo) {
  make("d/cat/1.png", 1);
  make("e/1.png", 1);
  make("f/sub.png/1.png", 1);
  expect_contains(refusal("f", form_of()), "sub.png: is a folder; expected a picture or a batch");
  for (const std::string folder : {"d/cat", "e"}) {
    const fs::path path = folder_.path() / folder / "2.jpg";
    const std::string root = folder.substr(0, 1);
    fs::create_symlink("nothing", path);
    expect_contains(refusal(root, form_of()), "2.jpg: is a link to nothing; expected a picture");
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    expect_contains(refusal(root, form_of()), "2.jpg: is a pipe; expected a picture");
    fs::remove(path);
    fs::create_symlink("/dev/null", path);
    expect_contains(refusal(root, form_of()), "2.jpg: is not a file that can be read");
    fs::remove(path);
    fs::create_symlink("1.png", path);
    EXPECT_EQ(set(root, form_of({"cat"}, 1)).count(), 2) << "a link to a picture is one";
  }
  fs::create_symlink("nowhere", folder_.path() / "d/frog");
  expect_contains(refusal("d", form_of()), "frog: is a link to nothing; expected a folder");
  fs::remove(folder_.path() / "d/frog");
  ASSERT_EQ(::mkfifo((folder_.path() / "d/frog").c_str(), 0600), 0);
  expect_contains(refusal("d", form_of()),
                  "frog: is a pipe; expected a folder, a picture or a batch; remove it");
  fs::remove(folder_.path() / "d/frog");
  fs::create_directory_symlink(folder_.path() / "e", folder_.path() / "d/cat/more");
  expect_contains(refusal("d", form_of()), "more: is a link to a folder; expected a folder");
}

TEST_F(Pictures, AreNotReadFromPipesAndDevices) {
  const fs::path pipe = folder_.path() / "p.png";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_contains(refusal("p.png", form_of()), "p.png: is a pipe; expected a file");
  fs::create_symlink("/dev/zero", folder_.path() / "z.png");
  expect_contains(refusal("z.png", form_of()), "z.png: is a device; expected a file");
  folder_.file("x.npy", npy_bytes(Tensor(DType::kFloat32, {2, 3, kSide, kSide})));
  ASSERT_EQ(::mkfifo((folder_.path() / "x.labels.npy").c_str(), 0600), 0);
  expect_contains(refusal("x.npy", form_of()), "x.labels.npy: is a pipe; expected a file");
}

TEST_F(Pictures, OfABatchCountOnceWhateverItsSpelling) {
  folder_.file("b.bin", cifar_record(1, 1));
  fs::create_symlink("b.bin", folder_.path() / "c.bin");
  const fs::path folder = folder_.path();
  for (const fs::path& again : {folder / "b.bin", folder / "." / "b.bin", folder / "c.bin"}) {
    expect_contains(error_of([&] {
                      PictureSet({folder / "b.bin", again}, form_of(), no_note);
                    }),
                    "its pictures would count twice; give it once");
  }
  expect_contains(refusal("", form_of()), "is the same file as ");
}

TEST_F(Pictures, OfAnNpyAreFiniteOrNamed) {
  Tensor pictures(DType::kFloat32, {2, 3, kSide, kSide});
  pictures.as<float>()[3 * kSide * kSide] = std::numeric_limits<float>::infinity();
  folder_.file("x.npy", npy_bytes(pictures));
  const PictureSet set({folder_.path() / "x.npy"}, form_of(), no_note);
  expect_contains(error_of([&] { set.require_finite(); }),
                  "x.npy: element 0 of picture 1 is not a finite number (counted in NHWC order)");
}

}  // namespace
}  // namespace qsim
