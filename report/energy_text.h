// Energies and energy-delay products as tables and sentences show them: in uJ where the table of
// energies is in pJ, else in millions of its unit.
#pragma once

#include <string>

namespace qsim::report {

// Four digits that count, or whole numbers: "0.01234", "123.4", "1,234,567".
std::string four_digits(double number);

// `energy` is in `unit`; the delay of the product is in cycles.
std::string energy_heading(const std::string& unit);        // "energy uJ", "energy (million)"
std::string energy_number(double energy);                   // what is beneath it
std::string energy_delay_heading(const std::string& unit);  // "EDP uJ x Mcycle"
std::string energy_delay_number(double product);

// "123.4 uJ"; of another unit: "123.4 million x MAC of 16 bits"
std::string energy_text(double energy, const std::string& unit);
std::string energy_delay_text(double product, const std::string& unit);  // "1.2 uJ x Mcycle"

// What the headings leave open of another unit than pJ: "energy: in millions of the unit, which is
// MAC of 16 bits; EDP: energy x million cycles"; "" for pJ.
std::string energy_note(const std::string& unit);

}  // namespace qsim::report
