// Gives memory back to the operating system before its owner is destroyed: parts of DRAM that
// nothing reads any more while a program runs, and a buffer from which another of its size has been
// made.
#pragma once

#include <cstddef>
#include <span>

namespace qsim {

// Drops the whole pages inside `dead`. Its bytes have no particular value afterwards, and it may be
// written again; the partial pages at its ends stay as they are.
void release_pages(std::span<std::byte> dead);

}  // namespace qsim
