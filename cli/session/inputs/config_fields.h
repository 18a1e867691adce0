// Fields of a configuration that --set gives other values.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/declarations.h"
#include "core/machine/arch_config.h"
#include "report/results/network_result.h"

namespace qsim::cli {

// "array_rows=8,16"
struct FieldValues {
  const ArchConfigField* field = nullptr;
  std::vector<report::SetValue> values;
};

// Of --set, one for each text. Throws Error (exit code 2) for a text of another form, for a field
// or a value that is not there, and for one that is named twice.
std::vector<FieldValues> field_values(const Words& texts);

void set_field(ArchConfig& config, const ArchConfigField& field, const report::SetValue& value);

// Gives `config` what each text says ("array_rows=8", "host.overlap=true"), and validates it.
// Throws Error: exit code 2 for what is no field with one value, 3 for a value out of range.
void set_fields(ArchConfig& config, const Words& texts);

}  // namespace qsim::cli
