#include "cli/session/quantize/hosted_result.h"

#include <algorithm>
#include <map>

#include "core/base/words.h"
#include "golden/host/host_costs.h"
#include "quantize/hosted/host_edit.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::with_thousands;
namespace {

struct Share {
  std::int64_t macs = 0;        // of the array
  std::int64_t operations = 0;  // of the host
};

Share share_of(const HostedNetwork& hosted) {
  Share share;
  for (const ArrayPart& part : hosted.parts) {
    for (std::size_t i = 0; i < part.graph.layers.size(); ++i) {
      share.macs += layer_macs(part.graph, i);
    }
  }
  for (const HostStep& step : hosted.host_steps) {
    share.operations += golden::host_operations(hosted.network, hosted.network.nodes[step.node]);
  }
  return share;
}

// "operator Erf; supported: ..." of "node 'erf1' (Erf): operator Erf; supported: ...".
std::string without_node(const std::string& reason) {
  if (!reason.starts_with("node '")) return reason;
  const std::size_t end = reason.find("): ");
  return end == std::string::npos ? reason : reason.substr(end + 3);
}

// What reasons of one kind have in common: no names and no numbers.
std::string kind_of(const std::string& reason) {
  std::string kind;
  char end = 0;  // of what is left out
  for (const char c : reason) {
    if (end != 0) {
      if (c == end) end = 0;
    } else if (c == '\'' || c == '[') {
      end = c == '[' ? ']' : c;
    } else if (c < '0' || c > '9') {
      kind += c;
    }
  }
  return kind;
}

struct HostRow {
  std::string reason;  // of the first node
  std::int64_t nodes = 0;
  std::int64_t operations = 0;
};

// By operator and kind of reason, the most operations first.
report::SheetTable host_table(const HostedNetwork& hosted) {
  std::map<std::pair<std::string, std::string>, HostRow> rows;
  for (const HostStep& step : hosted.host_steps) {
    const HostNode& node = hosted.network.nodes[step.node];
    const std::string reason = without_node(step.reason);
    HostRow& row = rows[{node.op, kind_of(reason)}];
    if (row.nodes++ == 0) row.reason = reason;
    row.operations += golden::host_operations(hosted.network, node);
  }
  report::SheetTable table{"on_the_host", {"op", "nodes", "operations", "reason"}, {}};
  for (const auto& [key, row] : rows) {
    table.rows.push_back({key.first, row.nodes, row.operations, row.reason});
  }
  std::ranges::stable_sort(table.rows, [](const auto& a, const auto& b) {
    return std::get<std::int64_t>(a[2]) > std::get<std::int64_t>(b[2]);
  });
  return table;
}

report::SheetTable tensor_table(const HostedResult& result, bool json) {
  report::SheetTable table{
      "tensors", {"tensor", "op", "dtype", "zero_point", "scale", "least", "most", "sqnr_db"}, {}};
  const quantize::HostUses uses(result.network);
  const char* const dtype = result.scheme.all.activations.is_unsigned ? "uint8" : "int8";
  const auto number = [&](double value) {
    return json ? report::Cell(value) : report::Cell(finite_text(value, "%.4g", "-"));
  };
  for (HostValueId id = 0; id < result.plan.group_of.size(); ++id) {
    if (!result.plan.group_of[id]) continue;
    const quantize::Quantization& own = result.groups[*result.plan.group_of[id]];
    const auto real = [&](std::int32_t level) {
      return static_cast<double>(level - own.zero_point) * static_cast<double>(own.scale);
    };
    const std::size_t maker = uses.maker(id);
    table.rows.push_back({result.network.values[id].name,
                          maker == quantize::kNoNode ? "input" : result.network.nodes[maker].op,
                          std::string(dtype), std::int64_t{own.zero_point},
                          number(static_cast<double>(own.scale)), number(real(own.lo)),
                          number(real(own.hi)),
                          finite_text(quantize::sqnr_db(result.errors.tensors[id]), "%.1f", "-")});
  }
  return table;
}

}  // namespace

std::string host_note(const HostedResult& result, const std::string& config) {
  if (result.share.host_steps.empty()) return "";
  std::map<std::string, std::int64_t> nodes;
  for (const HostStep& step : result.share.host_steps) {
    ++nodes[result.share.network.nodes[step.node].op];
  }
  std::vector<std::string> operators;
  for (const auto& [op, count] : nodes) operators.push_back(std::to_string(count) + " " + op);
  const Share share = share_of(result.share);
  return "on " + config + " `qsim run` runs " + with_thousands(std::ssize(result.share.parts)) +
         " parts on the array (" + with_thousands(share.macs) +
         " multiply-accumulates) and the rest on a host (" + with_thousands(share.operations) +
         " operations): " + joined(operators);
}

report::Sheet hosted_sheet(const HostedResult& result, const QuantizeOptions& options, bool json) {
  const Share share = share_of(result.share);
  report::Sheet sheet;
  sheet.schema = "qsim.quantize-host/1";
  sheet.add("model", options.model);
  sheet.add("output", options.out);
  sheet.add("calibration", joined(options.calibrate));
  sheet.add("pictures", result.samples);
  sheet.add("pictures_measured", result.measured);
  sheet.add("output_sqnr_db", finite_text(quantize::sqnr_db(result.errors.output), "%.1f", "-"));
  sheet.add("float_bytes", result.float_bytes);
  sheet.add("quantized_bytes", std::ssize(result.bytes));
  sheet.add("array_parts", std::ssize(result.share.parts));
  sheet.add("macs_on_the_array", share.macs);
  sheet.add("operations_on_the_host", share.operations);
  double seconds = 0;
  for (const auto& phase : result.seconds) seconds += phase.second;
  sheet.add("seconds", json ? report::Cell(seconds) : report::Cell(report::seconds_text(seconds)));
  sheet.tables = {tensor_table(result, json), host_table(result.share)};
  return sheet;
}

}  // namespace qsim::cli
