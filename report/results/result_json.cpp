#include "report/results/result_json.h"

#include <cstdint>
#include <map>

#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "formats/files/files.h"
#include "formats/text/shallow_json.h"

namespace qsim::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kRunSchema = "qsim.run/3";
constexpr std::string_view kProfileSchema = "qsim.profile/1";

Json window_json(const AccessWindow& window) {
  return {{"first_cycle", window.first_cycle},
          {"last_cycle", window.last_cycle},
          {"elems", window.elems}};
}

Json accesses_json(const OperandAccesses& accesses) {
  return {{"sram_ifmap", window_json(accesses.sram_ifmap)},
          {"sram_weights", window_json(accesses.sram_weights)},
          {"sram_psums", window_json(accesses.sram_psums)},
          {"dram_ifmap", window_json(accesses.dram_ifmap)},
          {"dram_weights", window_json(accesses.dram_weights)},
          {"dram_ofmap", window_json(accesses.dram_ofmap)}};
}

Json layer_json(const ResultLayer& layer) {
  Json json = {{"name", layer.name},
               {"op", layer.operation},
               {"dataflow", layer.dataflow},
               {"mapping", layer.mapping},
               {"macs", layer.macs},
               {"cycles", layer.cycles},
               {"utilization", layer.utilization},
               {"dram_read_bytes", layer.dram_read_bytes},
               {"dram_write_bytes", layer.dram_write_bytes},
               {"stream_cycles", layer.stream_cycles},
               {"start_cycles", layer.start_cycles},
               {"edge_lane_pe_cycles", layer.edge_lane_pe_cycles},
               {"limited_by", layer.limited_by},
               {"limiter_busy", layer.limiter_busy}};
  for (std::size_t p = 0; p < kPathParts; ++p) {
    json["critical_path_cycles"][std::string(kPathPartNames[p])] = layer.critical_path[p];
  }
  if (layer.energy) json["energy"] = *layer.energy;
  if (layer.accesses) json["accesses"] = accesses_json(*layer.accesses);
  return json;
}

// Reads the members of one JSON object, and names them in errors.
class Reader {
 public:
  Reader(const ReadJson& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) fail("expected an object");
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw_bad_input(place_ + ": " + message +
                    "; expected what `qsim run --json` or `qsim profile "
                    "--json` writes");
  }

  bool has(const char* name) const { return json_.contains(name) && !json_[name].is_null(); }
  const ReadJson& at(const char* name) const {
    if (!has(name)) fail(std::string("has no '") + name + "'");
    return json_[name];
  }
  std::string text(const char* name) const {
    const ReadJson& value = at(name);
    if (!value.is_string()) fail(std::string("'") + name + "' is not a text");
    return value.get<std::string>();
  }
  std::uint64_t count(const char* name) const {
    const ReadJson& value = at(name);
    if (!value.is_number_unsigned()) fail(std::string("'") + name + "' is not a count");
    return value.get<std::uint64_t>();
  }
  double number(const char* name) const {
    const ReadJson& value = at(name);
    if (!value.is_number()) fail(std::string("'") + name + "' is not a number");
    return value.get<double>();
  }
  std::optional<double> number_if(const char* name) const {
    return has(name) ? std::optional(number(name)) : std::nullopt;
  }
  Reader object(const char* name) const { return {at(name), place_ + ", " + name}; }
  // Visits the objects of an array.
  template <typename Visit>
  void each(const char* name, Visit visit) const {
    const ReadJson& array = at(name);
    if (!array.is_array()) fail(std::string("'") + name + "' is not an array");
    for (std::size_t i = 0; i < array.size(); ++i) {
      visit(Reader(array[i], place_ + ", " + name + "[" + std::to_string(i) + "]"));
    }
  }

 private:
  const ReadJson& json_;
  std::string place_;
};

AccessWindow window_of(const Reader& json) {
  return {json.count("first_cycle"), json.count("last_cycle"), json.count("elems")};
}

OperandAccesses accesses_of(const Reader& json) {
  return {window_of(json.object("sram_ifmap")),   window_of(json.object("sram_weights")),
          window_of(json.object("sram_psums")),   window_of(json.object("dram_ifmap")),
          window_of(json.object("dram_weights")), window_of(json.object("dram_ofmap"))};
}

PathCycles path_of(const Reader& json) {
  PathCycles path{};
  for (std::size_t p = 0; p < kPathParts; ++p) {
    path[p] = json.count(std::string(kPathPartNames[p]).c_str());
  }
  return path;
}

// What both kinds of file have.
ResultLayer counts_of(const Reader& json) {
  ResultLayer layer;
  layer.macs = json.count("macs");
  if (!json.has("cycles")) json.fail("has no cycles: the engine had no time");
  layer.cycles = json.count("cycles");
  layer.utilization = json.number("utilization");
  layer.dram_read_bytes = json.count("dram_read_bytes");
  layer.dram_write_bytes = json.count("dram_write_bytes");
  layer.stream_cycles = json.count("stream_cycles");
  layer.start_cycles = json.count("start_cycles");
  layer.limited_by = json.text("limited_by");
  layer.limiter_busy = json.number("limiter_busy");
  if (json.has("critical_path_cycles")) {
    layer.critical_path = path_of(json.object("critical_path_cycles"));
  }
  if (json.has("energy")) layer.energy = json.number("energy");
  return layer;
}

void add_names(ResultLayer& layer, const Reader& json) {
  layer.name = json.text("name");
  layer.operation = json.text("op");
  layer.dataflow = json.text("dataflow");
  layer.mapping = json.text("mapping");
}

ResultLayer profile_layer(const Reader& json) {
  ResultLayer layer = counts_of(json);
  add_names(layer, json);
  layer.edge_lane_pe_cycles = json.count("edge_lane_pe_cycles");
  if (json.has("accesses")) layer.accesses = accesses_of(json.object("accesses"));
  return layer;
}

// It would become a negative number.
bool is_beyond_int64(const ReadJson& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
}

NetworkResult profile_point(const Reader& json, const ReadJson& object) {
  NetworkResult result;
  result.model = json.text("model");
  result.config = json.text("config");
  const Reader set = json.object("set");
  for (const auto& [field, value] : object["set"].items()) {
    if (value.is_string()) {
      result.set.emplace_back(field, value.get<std::string>());
    } else if (value.is_number_integer() && !is_beyond_int64(value)) {
      result.set.emplace_back(field, value.get<std::int64_t>());
    } else {
      set.fail("'" + echoed(field) + "' is neither a whole number nor a word");
    }
  }
  result.dataflow = json.text("dataflow");
  if (json.has("error")) {
    result.error = json.text("error");
    return result;
  }
  result.pes = static_cast<std::int64_t>(json.count("pes"));
  result.tops_per_watt = json.number_if("tops_per_watt");
  result.area_mm2 = json.number_if("area_mm2");
  result.simulated_seconds = json.number_if("simulated_seconds");
  json.each("layers", [&](const Reader& layer) { result.layers.push_back(profile_layer(layer)); });
  result.total = profile_layer(json.object("total"));
  return result;
}

// Reads an entry of a run, which has no edge_lane_pe_cycles of its own.
ResultLayer run_counts(const Reader& json) {
  ResultLayer layer = counts_of(json);
  const Reader parts = json.object("array_time_pe_cycles");
  if (parts.has("edge_lanes")) layer.edge_lane_pe_cycles = parts.count("edge_lanes");
  return layer;
}

NetworkResult run_result(const Reader& json) {
  NetworkResult result;
  result.model = json.object("provenance").text("model");
  const Reader config = json.object("config");
  result.config = config.text("name");
  result.pes = static_cast<std::int64_t>(config.count("array_rows") * config.count("array_cols"));
  json.each("layers", [&](const Reader& entry) {
    ResultLayer layer = run_counts(entry);
    add_names(layer, entry);
    result.layers.push_back(std::move(layer));
  });
  result.total = run_counts(json.object("total"));
  result.total.name = "total";
  result.simulated_seconds = json.object("total").number_if("simulated_seconds");
  if (json.has("energy")) {
    result.tops_per_watt = json.object("energy").number_if("tops_per_watt");
  }
  if (json.has("area")) result.area_mm2 = json.object("area").object("total").number_if("mm2");
  result.total.dataflow = common_dataflow(result.layers);
  result.dataflow = short_dataflow(result.total.dataflow);
  return result;
}

// Points are found by their labels.
void require_labels_once(const ResultsFile& file) {
  std::map<std::string, std::size_t> points;
  for (std::size_t i = 0; i < file.results.size(); ++i) {
    const std::string label = full_label(file.results[i]);
    const auto [first, is_new] = points.emplace(label, i);
    if (is_new) continue;
    throw_bad_input(file.name + ": points[" + std::to_string(first->second) + "] and points[" +
                    std::to_string(i) + "] are both '" + echoed(label) +
                    "'; each point must differ from the others in its model, configuration, "
                    "--set values or dataflow");
  }
}

}  // namespace

Json result_json(const NetworkResult& result) {
  Json json = {{"model", result.model}, {"config", result.config}};
  json["set"] = Json::object();
  for (const auto& [field, value] : result.set) {
    Json& place = json["set"][field];
    std::visit([&place](const auto& number_or_word) { place = number_or_word; }, value);
  }
  json["dataflow"] = result.dataflow;
  json["error"] = result.ran() ? Json(nullptr) : Json(result.error);
  if (!result.ran()) return json;
  json["pes"] = result.pes;
  json["total"] = layer_json(result.total);
  json["layers"] = Json::array();
  for (const ResultLayer& layer : result.layers) json["layers"].push_back(layer_json(layer));
  return json;
}

NetworkResult result_of_json(const ReadJson& json, const std::string& place) {
  return profile_point(Reader(json, place), json);
}

ResultsFile load_results(const std::filesystem::path& path) {
  const std::string name = path.string();
  const ReadJson json = formats::parse_shallow<ReadJson>(formats::read_text_file(path));
  if (json.is_discarded())
    throw_bad_input(name +
                    ": is not JSON; expected what `qsim run --json` "
                    "or `qsim profile --json` writes");
  const Reader reader(json, name);
  const std::string schema = reader.text("schema");
  ResultsFile file{name, schema == kRunSchema, {}};
  if (file.is_run) {
    file.results.push_back(run_result(reader));
  } else if (schema == kProfileSchema) {
    const ReadJson& points = reader.at("points");
    reader.each("points", [&](const Reader& point) {
      file.results.push_back(profile_point(point, points[file.results.size()]));
    });
    require_labels_once(file);
  } else {
    throw_bad_input(name + ": schema '" + echoed(schema) + "'; expected " +
                    std::string(kRunSchema) + " or " + std::string(kProfileSchema));
  }
  if (reader.has("energy")) {
    const Reader energy = reader.object("energy");
    for (NetworkResult& result : file.results) {
      result.energy_table = energy.text("table");
      result.energy_unit = energy.text("unit");
    }
  }
  return file;
}

}  // namespace qsim::report
