#include "tests/rtl/engine/rtl_support.h"

#include <cstdlib>
#include <fstream>

namespace qsim {

using namespace rtl;
namespace {

namespace fs = std::filesystem;

constexpr const char* kStandIn = R"(
module qsim_accelerator #(
  parameter int unsigned ArrayRows = 4, parameter int unsigned ArrayCols = 4,
  parameter int unsigned ActWords = 4, parameter int unsigned WeightWords = 4,
  parameter int unsigned AccHalfWords = 4, parameter int unsigned OutWords = 4,
  parameter int unsigned BusBytes = 4, parameter int unsigned BurstBeats = 4,
  parameter int unsigned OutstandingBursts = 4, parameter int unsigned Dyadic = 0
) (
  input logic clk_i, rst_ni, enable_i, semaphore_init_valid_i,
  input logic [63:0] semaphore_init_i,
  input logic [3:0] command_valid_i, output logic [3:0] command_ready_o,
  input logic [1023:0] command_i,
  output logic read_request_valid_o, input logic read_request_ready_i,
  output logic [31:0] read_request_addr_o, output logic [8:0] read_request_beats_o,
  output logic [3:0] read_request_size_o,
  input logic read_data_valid_i, input logic [8*BusBytes-1:0] read_data_i,
  output logic write_request_valid_o, input logic write_request_ready_i,
  output logic [31:0] write_request_addr_o, output logic [8:0] write_request_beats_o,
  output logic [3:0] write_request_size_o,
  output logic write_data_valid_o, output logic [8*BusBytes-1:0] write_data_o,
  input logic write_done_i,
  output logic [3:0] start_o, unit_ready_o, done_o, output logic idle_o
);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) command_ready_o <= '1;
    else begin
      command_ready_o <= command_ready_o & ~command_valid_i;
      if (command_valid_i[0] && command_ready_o[0]) begin
        assert (!command_i[19]) else $error("a LOAD waits for semaphore 15: %h", command_i[19:4]);
      end
    end
  end
  assign start_o = '0;
  assign unit_ready_o = '1;
  assign done_o = '0;
  assign idle_o = 1'b0;
  assign read_request_valid_o = 1'b0;
  assign read_request_addr_o = '0;
  assign read_request_beats_o = '0;
  assign read_request_size_o = '0;
  assign write_request_valid_o = 1'b0;
  assign write_request_addr_o = '0;
  assign write_request_beats_o = '0;
  assign write_request_size_o = '0;
  assign write_data_valid_o = 1'b0;
  assign write_data_o = '0;
endmodule
)";

}  // namespace

bool rtl_tools_are_excused() {
  setenv("QSIM_CACHE", QSIM_TEST_CACHE, 1);
  const bool compiles = !find_program("clang++").empty() || !find_program("g++").empty();
  if (!find_program("verilator").empty() && compiles) return false;
  const char* required = std::getenv("QSIM_REQUIRE");
  return required == nullptr || std::string(required).find("verilator") == std::string::npos;
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "qsim-rtl-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

RtlPlaces stand_in_places(const fs::path& folder) {
  const RtlPlaces real = standard_rtl_places();
  const fs::path rtl = folder / "rtl";
  fs::create_directories(rtl / "src");
  fs::copy(real.sources / "build_model.sh", rtl);
  fs::copy(real.sources / "engine", rtl / "engine");
  std::ofstream(rtl / "src" / "qsim_accelerator.sv") << kStandIn;
  return {rtl, {}, folder / "cache"};
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

}  // namespace qsim
