#include "cli/session/profile/profile_report.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "cli/session/inputs/mapping_request.h"
#include "cli/session/results/report_page_option.h"
#include "report/html/report_page.h"

namespace qsim::cli {

using report::NetworkResult;
using report::Profile;
namespace {

// Points that ran, in the order in which the page shows them in detail.
std::vector<std::size_t> most_telling_first(const Profile& profile) {
  std::set<std::size_t> winners;
  std::map<std::string, double> least;  // of the measure, by model
  for (const report::Winner& winner : profile.winners) {
    winners.insert(winner.point);
    least[winner.model] =
        report::measured(profile.points[winner.point].total, profile.measure).value_or(0);
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < profile.points.size(); ++i) {
    if (profile.points[i].ran()) order.push_back(i);
  }
  const auto rank = [&](std::size_t i) {
    const NetworkResult& point = profile.points[i];
    const double value = report::measured(point.total, profile.measure).value_or(0);
    const double best = least.at(point.model);
    return std::tuple(!winners.contains(i), !point.is_on_front, best > 0 ? value / best : value);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

// The page shows only one of the points with equal costs and mappings: `auto` is often one of the
// three.
bool costs_the_same(const NetworkResult& a, const NetworkResult& b) {
  const auto same_layer = [](const report::ResultLayer& x, const report::ResultLayer& y) {
    return x.cycles == y.cycles && x.dram_bytes() == y.dram_bytes() && x.mapping == y.mapping &&
           x.dataflow == y.dataflow;
  };
  return a.model == b.model && a.config == b.config && a.set == b.set &&
         std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(), same_layer);
}

class PageRuns {
 public:
  PageRuns(const ProfileOptions& options, const Profile& profile,
           const std::vector<ModelShapes>& models, const std::vector<ProfilePoint>& points,
           const PointRuns& runs)
      : profile_(profile),
        models_(models),
        points_(points),
        runs_(runs),
        options_(options),
        asked_(search_options(options)) {}

  // The page's runs, in their order; they point into this object.
  std::vector<report::PageRun> make() {
    std::vector<report::PageRun> page;
    std::vector<std::size_t> shown;
    for (const std::size_t i : most_telling_first(profile_)) {
      if (page.size() == kMostPageRuns) break;
      const NetworkResult& point = profile_.points[i];
      const auto is_shown = [&](std::size_t other) {
        return costs_the_same(profile_.points[other], point);
      };
      if (std::any_of(shown.begin(), shown.end(), is_shown)) continue;
      NetworkTime time = time_of(i);
      const report::RunReport& report = time.report;
      const bool is_same = report.total.timing->cycles == point.total.cycles &&
                           report.total.dram_read_bytes == point.total.dram_read_bytes &&
                           report.total.dram_write_bytes == point.total.dram_write_bytes;
      if (!is_same) continue;
      shown.push_back(i);
      times_.push_back(std::move(time));
      page.push_back(
          {.label = models_.size() > 1 ? report::full_label(point) : report::point_label(point),
           .report = &times_.back().report,
           .timeline = &*times_.back().timeline,
           .area_mm2 = point.area_mm2,
           .point = i});
    }
    return page;
  }

 private:
  NetworkTime time_of(std::size_t index) {
    const ProfilePoint& point = points_[index];
    compiler::CompileOptions asked = asked_;
    asked.known = std::make_shared<compiler::KnownMappings>();
    set_dataflow(asked, point.dataflow);
    asked.mappings =
        runs_.mappings.empty() ? mappings_of_file(options_, point.arch) : runs_.mappings[index];
    NetworkTime time = time_network(models_[point.model], point.arch, asked,
                                    asked_.mapper.energy.get(), TimingDetail::kPage);
    report::Provenance& provenance = time.report.provenance;
    provenance.version = profile_.version;
    provenance.commit = profile_.commit;
    provenance.argv = profile_.argv;
    std::tie(provenance.model, provenance.model_hash) = profile_.models[point.model];
    std::tie(provenance.config, provenance.config_hash) = profile_.configs[point.config_number];
    return time;
  }

  const Profile& profile_;
  const std::vector<ModelShapes>& models_;
  const std::vector<ProfilePoint>& points_;
  const PointRuns& runs_;
  const ProfileOptions& options_;
  compiler::CompileOptions asked_;
  std::deque<NetworkTime> times_;  // of the page's runs; they stay where they are
};

}  // namespace

void write_profile_report(Context& context, const ProfileOptions& options, const Profile& profile,
                          const std::vector<ModelShapes>& models,
                          const std::vector<ProfilePoint>& points, const PointRuns& runs) {
  if (options.report.empty() || profile.winners.empty()) return;
  context.progress("writing the report");
  PageRuns page(options, profile, models, points, runs);
  const std::vector<report::PageRun> shown = page.make();
  context.write_file(options.report,
                     report::report_page({.runs = shown, .profile = &profile}, chart_library()));
}

}  // namespace qsim::cli
