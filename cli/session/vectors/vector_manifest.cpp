#include "cli/session/vectors/vector_manifest.h"

#include <nlohmann/json.hpp>

#include "report/json_text.h"
#include "rtl/engine/rtl_parameters.h"

namespace qsim::cli {
namespace {

using Json = nlohmann::ordered_json;

Json provenance_json(const report::Provenance& p) {
  return {{"version", p.version}, {"commit", p.commit},
          {"argv", p.argv},       {"seed", p.seed},
          {"config", p.config},   {"config_hash", p.config_hash},
          {"model", p.model},     {"model_hash", p.model_hash},
          {"input", p.input},     {"input_hash", p.input_hash}};
}

Json config_json(const ArchConfig& config) {
  Json json = Json::object();
  for (const ArchConfigField& field : arch_config_fields()) {
    if (!is_written(config, field)) continue;
    const std::string name(field.name);
    if (field.number != nullptr) {
      json[name] = config.*field.number;
    } else {
      json[name] = value_text(config, field);
    }
  }
  return json;
}

Json parameters_json(const ArchConfig& config) {
  Json json = Json::object();
  for (const std::string& text : rtl::rtl_parameter_texts(rtl::rtl_parameters(config))) {
    const std::size_t equals = text.find('=');
    json[text.substr(0, equals)] = std::stoll(text.substr(equals + 1));
  }
  return json;
}

Json tensor_json(const DramTensor& tensor) {
  return {{"address", tensor.address},
          {"bytes", tensor.size_bytes()},
          {"shape", tensor.value.shape.nhwc()},
          {"dtype", dtype_name(tensor.value.dtype)},
          {"zero_point", tensor.value.zero_point},
          {"block_channels", tensor.block}};
}

Json dram_json(const Program& program, const Vectors& vectors) {
  return {{"bytes", vectors.dram_before.size()},
          {"bus_bytes", program.arch.bus_bytes},
          {"latency_cycles", program.arch.dram_latency_cycles},
          {"burst_beats", program.arch.burst_beats},
          {"outstanding_bursts", program.arch.outstanding_bursts},
          {"writable_bytes", program.writable_bytes},
          {"input", tensor_json(program.input.tensor)}};
}

Json layers_json(const Program& program) {
  Json json = Json::array();
  for (std::size_t l = 0; l < program.layers.size(); ++l) {
    const ProgramLayer& layer = program.layers[l];
    json.push_back({{"name", layer.name},
                    {"op", layer.operation},
                    {"file", ofmap_file(l)},
                    {"ofmap", tensor_json(layer.ofmap)}});
  }
  return json;
}

Json files_json(const std::vector<VectorFile>& files) {
  Json json = Json::array();
  for (const VectorFile& file : files) {
    Json row = {{"name", file.name}, {"format", file.format}};
    if (!file.dtype.empty()) {
      row["dtype"] = file.dtype;
      row["shape"] = file.shape;
    }
    row["holds"] = file.holds;
    json.push_back(row);
  }
  return json;
}

}  // namespace

std::string manifest_json(const report::Provenance& provenance, const Program& program,
                          const Vectors& vectors, const std::vector<VectorFile>& files) {
  Json json = {
      {"schema", "qsim.vectors/1"},           {"provenance", provenance_json(provenance)},
      {"config", config_json(program.arch)},  {"parameters", parameters_json(program.arch)},
      {"total_cycles", vectors.total_cycles}, {"commands", Json::object()},
      {"semaphores", Json::array()},          {"dram", dram_json(program, vectors)},
      {"layers", layers_json(program)},       {"files", files_json(files)}};
  for (std::size_t u = 0; u < kUnits; ++u) {
    json["commands"][std::string(kUnitNames[u])] = program.streams[u].size();
  }
  for (const Semaphore& semaphore : program.semaphores) {
    json["semaphores"].push_back({{"name", semaphore.name}, {"initial", semaphore.initial}});
  }
  return report::json_text(json);
}

}  // namespace qsim::cli
