// Statistics of every tensor over batches of pictures.
#include "quantize/calibration.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {
namespace {

constexpr std::int64_t kPictures = 40;  // a batch and a part of one

class Calibration : public testing::Test {
 protected:
  Calibration() : net_(kPicture), team_(2) {
    net_.conv(net_.relu(net_.conv(0, 8)), 4);
    for (std::int64_t i = 0; i < kPictures; ++i) pictures_.push_back(net_.picture());
  }

  CalibrationPictures source() {
    return {kPictures, [this](std::int64_t first, std::int64_t count) {
              Tensor batch(DType::kFloat32, {count, 8, 8, 3});
              auto to = batch.as<float>().begin();
              for (std::int64_t i = first; i < first + count; ++i) {
                for (const double value : pictures_[static_cast<std::size_t>(i)].values) {
                  *to++ = static_cast<float>(value);
                }
              }
              return batch;
            }};
  }

  SampleNetwork net_;
  golden::ThreadTeam team_;
  std::vector<PlainTensor> pictures_;
};

TEST_F(Calibration, HasTheRangeAndTheValuesOfEveryTensor) {
  std::vector<std::int64_t> told;
  const std::vector<TensorStatistics> statistics =
      calibrate(net_.graph(), source(), team_, [&](std::int64_t done) { told.push_back(done); });
  EXPECT_EQ(told, (std::vector<std::int64_t>{32, 40, 72, 80}));
  ASSERT_EQ(statistics.size(), 4U);
  std::vector<double> least(4, HUGE_VAL);
  std::vector<double> most(4, -HUGE_VAL);
  for (const PlainTensor& picture : pictures_) {
    const std::vector<PlainTensor> tensors = plain_run(net_.graph(), picture);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto [lo, hi] = std::ranges::minmax(tensors[i].values);
      least[i] = std::min(least[i], lo);
      most[i] = std::max(most[i], hi);
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const TensorStatistics& tensor = statistics[i];
    EXPECT_NEAR(double{tensor.min}, least[i], 1e-5);
    EXPECT_NEAR(double{tensor.max}, most[i], 1e-5);
    EXPECT_EQ(tensor.count, kPictures * element_count(net_.graph().tensors[i].shape.nhwc()));
    EXPECT_EQ(tensor.batch_min.size(), 2U);
    EXPECT_EQ(std::accumulate(tensor.bins.begin(), tensor.bins.end(), std::int64_t{0}),
              tensor.count);
  }
  EXPECT_GT(statistics[2].zeros, statistics[2].count / 4);
}

TEST_F(Calibration, RefusesNoPictures) { EXPECT_THROW(calibrate(net_.graph(), {}, team_), Error); }

TEST_F(Calibration, RefusesNumbersThatAreNotFinite) {
  const CalibrationPictures wrong{2, [&](std::int64_t, std::int64_t count) {
                                    Shape shape = net_.graph().input_shape().nhwc();
                                    shape[0] = count;
                                    Tensor pictures(DType::kFloat32, shape);
                                    pictures.as<float>()[3] = std::nanf("");
                                    return pictures;
                                  }};
  EXPECT_THROW(calibrate(net_.graph(), wrong, team_), Error);
}

TEST_F(Calibration, RefusesPicturesOfAnotherSize) {
  const CalibrationPictures wrong{2, [](std::int64_t, std::int64_t count) {
                                    return Tensor(DType::kFloat32, {count, 8, 9, 3});
                                  }};
  EXPECT_THROW(calibrate(net_.graph(), wrong, team_), Error);
}

TEST_F(Calibration, NamesTheFirstTensorThatIsNotFinite) {
  pictures_[3].values[7] = HUGE_VAL;
  try {
    calibrate(net_.graph(), source(), team_);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(std::string(error.what()).find("the network's input: 1 of its numbers"), 0U)
        << error.what();
  }
}

}  // namespace
}  // namespace qsim::quantize
