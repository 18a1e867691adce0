// Energies and energy-delay products as tables and sentences show them: of a table in pJ in uJ, of
// one in another unit in 10^6 of it.
#pragma once

#include <string>

namespace qsim {

// Four digits that count, or whole numbers: "0.01234", "123.4", "1,234,567".
std::string four_digits(double number);

// `energy` is in `unit`; the delay of the product is in cycles.
std::string energy_heading(const std::string& unit);        // "energy uJ", "energy / 10^6"
std::string energy_number(double energy);                   // what is beneath it
std::string energy_delay_heading(const std::string& unit);  // "EDP uJ x Mcycle", "EDP / 10^12"
std::string energy_delay_number(double product);

std::string energy_text(double energy, const std::string& unit);  // "123.4 uJ"
std::string energy_delay_text(double product, const std::string& unit);

}  // namespace qsim
