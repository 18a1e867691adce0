#include "formats/settings/energy_table_file.h"

#include "core/base/printable.h"
#include "formats/text/yaml.h"

namespace qsim::formats {
namespace {

// Sizes and widths beyond it are mistakes, and energies stay far from the ends of a double.
constexpr double kLargestEntry = 1e12;

double positive(const YamlNode& map, std::string_view key) {
  const YamlNode& node = map.at(key);
  const double value = node.number();
  if (!(value >= 1 / kLargestEntry && value <= kLargestEntry)) {
    node.fail("found " + node.text() + "; expected a number from 1e-12 to 1e12");
  }
  return value;
}

// One line of printable text.
const std::string& words(const YamlNode& map, std::string_view key) {
  const YamlNode& node = map.at(key);
  if (node.text().empty() || unprintable_at(node.text()) != std::string::npos) {
    node.fail("found '" + echoed(node.text()) + "'; expected one line of printable text");
  }
  return node.text();
}

// The energy of one event, or of one bit where the map has `bits`.
double energy_of(const YamlNode& map, bool per_bit) {
  if (per_bit) {
    map.require_keys({"energy", "bits", "source"});
  } else {
    map.require_keys({"energy", "source"});
  }
  words(map, "source");
  const double energy = positive(map, "energy");
  return per_bit ? energy / positive(map, "bits") : energy;
}

// A rule of energy by size is fitted to the points. Sizes that are nearly equal would say nothing
// about it, and their rounding everything.
constexpr double kLeastRatio = 1.1;

std::vector<SramPoint> sram_points(const YamlNode& list) {
  std::vector<SramPoint> points;
  for (const YamlNode& point : list.items()) {
    point.require_keys({"kib", "energy", "bits", "source"});
    words(point, "source");
    const double kib = positive(point, "kib");
    if (!points.empty() && kib < kLeastRatio * points.back().kib) {
      point.at("kib").fail("found " + point.at("kib").text() +
                           "; expected at least 1.1 times the size before it");
    }
    points.push_back({kib, positive(point, "energy"), positive(point, "bits")});
  }
  if (points.empty()) list.fail("the list is empty; give at least one size");
  return points;
}

std::vector<NamedEnergy> operations(const YamlNode& list) {
  std::vector<NamedEnergy> all;
  for (const YamlNode& operation : list.items()) {
    operation.require_keys({"name", "energy", "source"});
    words(operation, "source");
    all.push_back({words(operation, "name"), positive(operation, "energy")});
  }
  return all;
}

double um2(const YamlNode& map, std::string_view key) {
  const YamlNode& cell = map.at(key);
  cell.require_keys({"um2", "source"});
  words(cell, "source");
  return positive(cell, "um2");
}

AreaTable area(const YamlNode& map) {
  map.require_keys({"gate", "flip_flop", "sram_bit"});
  return {um2(map, "gate"), um2(map, "flip_flop"), um2(map, "sram_bit")};
}

}  // namespace

EnergyTable load_energy_table(const std::filesystem::path& path) {
  const YamlNode root = load_yaml(path);
  root.require_keys({"unit", "mac", "add", "hop", "sram", "dram", "operations", "area"});
  EnergyTable table;
  table.name = path.stem().string();
  table.unit = words(root, "unit");
  table.mac = energy_of(root.at("mac"), false);
  if (const YamlNode* add = root.find("add")) table.add = energy_of(*add, false);
  if (const YamlNode* hop = root.find("hop")) table.hop = energy_of(*hop, true);
  table.sram = sram_points(root.at("sram"));
  table.dram = energy_of(root.at("dram"), true);
  if (const YamlNode* list = root.find("operations")) table.operations = operations(*list);
  if (const YamlNode* cells = root.find("area")) table.area = area(*cells);
  return table;
}

}  // namespace qsim::formats
