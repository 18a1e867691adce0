// The form in which benchmark programs report: medians and quartiles by rank, JSON that reads back.
#include "bench/common/figures.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace qsim::bench {
namespace {

TEST(BenchFigures, MedianAndQuartilesAreSamplesByRank) {
  const Figure figure = time_figure("a/b", {9, 1, 8, 2, 7, 3, 6, 4, 5});
  EXPECT_EQ(figure.value, 5);
  EXPECT_EQ(figure.lower_quartile, 3);
  EXPECT_EQ(figure.upper_quartile, 7);
  EXPECT_EQ(figure.runs, 9);
  EXPECT_THROW(time_figure("a/b", {}), InternalError);
}

TEST(BenchFigures, AnEvenNumberOfSamplesTakesTheUpperMiddle) {
  const Figure figure = time_figure("a/b", {4, 3, 2, 1});
  EXPECT_EQ(figure.value, 3);
  EXPECT_EQ(figure.lower_quartile, 1);
  EXPECT_EQ(figure.upper_quartile, 4);
}

TEST(BenchFigures, JsonReadsBackExactly) {
  const double third = 1.0 / 3;
  const auto json = nlohmann::json::parse(
      figure_json(median_figure("systemc/vgg8/pe4x4", {third, 1e-9, 2e9}, "s", Kind::kTime)));
  EXPECT_EQ(json["name"], "systemc/vgg8/pe4x4");
  EXPECT_EQ(json["value"].get<double>(), third);
  EXPECT_EQ(json["spread"][0].get<double>(), 1e-9);
  EXPECT_EQ(json["spread"][1].get<double>(), 2e9);
  EXPECT_EQ(json["runs"], 3);
  EXPECT_EQ(json["unit"], "s");
  EXPECT_EQ(json["kind"], "time");
}

TEST(BenchFigures, EveryKindHasItsName) {
  EXPECT_NE(figure_json(count_figure("a/b", 3, "commands")).find("\"count\""), std::string::npos);
  EXPECT_NE(figure_json(single_figure("a/b", 3, "1", Kind::kRatio)).find("\"ratio\""),
            std::string::npos);
  EXPECT_NE(figure_json(single_figure("a/b", 3, "bytes", Kind::kMemory)).find("\"memory\""),
            std::string::npos);
}

TEST(BenchFigures, WhatWouldBreakTheJsonIsRefused) {
  EXPECT_THROW(figure_json(count_figure("a\"b", 3, "commands")), InternalError);
  EXPECT_THROW(figure_json(count_figure("", 3, "commands")), InternalError);
  EXPECT_THROW(figure_json(count_figure("a/b", std::nan(""), "commands")), InternalError);
  EXPECT_THROW(
      figure_json(count_figure("a/b", std::numeric_limits<double>::infinity(), "commands")),
      InternalError);
}

TEST(BenchFigures, TheOptionIsTakenOutOfTheArguments) {
  std::string program = "bench", config = "c.yaml", option = "--figures", network = "n.yaml";
  char* argv[] = {program.data(), config.data(), option.data(), network.data(), nullptr};
  int argc = 4;
  EXPECT_TRUE(take_figures_option(argc, argv));
  EXPECT_EQ(argc, 3);
  EXPECT_STREQ(argv[1], "c.yaml");
  EXPECT_STREQ(argv[2], "n.yaml");
  EXPECT_FALSE(take_figures_option(argc, argv));
  EXPECT_EQ(argc, 3);
}

}  // namespace
}  // namespace qsim::bench
