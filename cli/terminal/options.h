// The command line as plain data. docs/reference/cli.md lists every option.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/convert_options.h"
#include "cli/terminal/eval_options.h"
#include "cli/terminal/linear_options.h"
#include "cli/terminal/quantize_options.h"
#include "cli/terminal/schemes_options.h"

namespace qsim {

inline constexpr const char* kDefaultConfig = "pe16x16";
inline constexpr std::int64_t kGoldenBatch = 32;  // --batch of golden run and golden bench

enum class CommandName : std::uint8_t {
  kRun,
  kVerify,
  kExplain,
  kProfile,
  kCompare,
  kEval,
  kCompile,
  kInspect,
  kExportVectors,
  kSchemes,
  kQuantize,
  kGoldenInfo,
  kGoldenRun,
  kGoldenBench,
  kGoldenAbc,
  kGoldenConvert,
  kGoldenLinear,
  kGoldenQuantize,
  kDoctor
};

struct Options {
  CommandName command = CommandName::kRun;

  // Of every command.
  std::string config = kDefaultConfig;
  bool config_given = false;
  std::string json;  // a file, "-" for stdout, "" for none
  bool quiet = false;

  // What to run: run, verify, golden run; --model and --batch also explain, compile and golden
  // bench.
  std::string model;  // "": the config's
  std::string input;  // "": the config's, or the workload's or trace's own
  std::optional<std::int64_t> index;
  std::optional<std::int64_t> batch;
  std::string layers;  // "": all

  // Of every command that reads an ONNX model: the rounding of its layers; "": as ONNX Runtime.
  std::string rounding;
  // Of those that compile it: its scales rounded to powers of two.
  bool snap = false;

  // How layers are mapped: of every command that compiles a network.
  std::string mapping;   // a file; "" for none
  std::string dataflow;  // of the layers that it does not name; "": the compiler's default
  std::string objective = "cycles";
  std::optional<double> slack;  // a fraction
  std::string mapping_search = "fast";
  std::optional<double> mapping_budget;  // seconds
  std::string energy;                    // a table of energies; "" for none
  std::string dram_plan = "auto";        // auto, lifetime or separate

  std::uint64_t seed = 0;

  // run
  std::string engine = "systemc";
  std::string trace;         // a file of commands or signals (trace_options.h); "" for none
  std::string trace_window;  // "A:B"; "" for the whole run
  std::string trace_layers;  // "FIRST..LAST" or one name; "" for the whole run
  bool no_data = false;
  bool no_verify = false;
  std::string out;
  std::string dump_layers;
  std::string report;  // an HTML file; "" for none
  bool bounds = false;

  // explain
  std::string layer;  // "": the whole network

  // profile; run also fail_if
  std::vector<std::string> models;  // empty: the configuration's
  std::vector<std::string> configs = {kDefaultConfig};
  std::vector<std::string> dataflows = {"all"};  // short or long names, or "all"
  std::vector<std::string> set;                  // "array_rows=8,16"
  std::vector<std::string> fail_if;              // conditions
  std::string csv;                               // a file, "-" for stdout, "" for none
  std::string csv_columns = "qsim";
  std::string resume;                // a file; "" for none
  std::optional<std::int64_t> jobs;  // absent: as many as processors

  // compare
  std::vector<std::string> results;  // two files

  // verify
  std::vector<std::string> engines = {"interpreter", "systemc"};
  std::string golden = "auto";  // "cpu", "cuda", both with a comma, or "auto"
  std::int64_t seeds = 0;
  bool all_configs = false;

  // verify, golden run
  std::optional<std::int64_t> images;  // absent: one; of golden run, all

  // eval, besides --model, --rounding, --batch, --seed, --jobs, --backend and --out
  EvalOptions eval = {};

  // golden run, golden bench, eval
  std::string backend = "auto";  // "cpu", "cuda", "auto"
  int runs = 21;                 // also golden abc

  // golden abc, besides --layer, --batch and --backend
  std::string weights;  // a .npy or .onnx file; "": the model's layers
  bool fit_activations = false;
  int bases = 3;
  int activation_bases = 3;
  std::string alphas = "channel";
  std::string thresholds = "even";
  int stride = 1;
  int pad = 0;
  std::vector<std::string> sizes;

  // golden convert, besides --seed and --out (program_out)
  ConvertOptions convert = {};
  // golden linear, besides --seed and --out; golden quantize, besides --out
  LinearOptions linear = {};

  // schemes, besides --model, --csv, --resume and --seed
  SchemesOptions schemes = {};
  // quantize, besides --seed, --report and --out (program_out)
  QuantizeOptions quantize = {};

  // run, compile
  std::string write_mapping;  // a file, "-" for stdout, "" for none

  // compile, quantize; golden convert, linear and quantize
  std::string program_out;  // "-" for stdout, "" for none

  // inspect
  std::string file;
  bool commands = false;
};

// What parsing came to: options to run with, or text to print (--help, --version) and leave.
struct ParsedCommandLine {
  Options options;
  std::optional<std::string> text;
};

// Throws Error (exit code 2) for an unknown command or option (naming the nearest right one), a
// missing or malformed value, or options that exclude each other.
ParsedCommandLine parse_command_line(const std::vector<std::string>& argv);

}  // namespace qsim
