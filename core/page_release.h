// Gives memory back to the operating system before the vector that holds it goes: of two large
// buffers of which one is made from the other, no more than one is then in memory.
#pragma once

#include <cstddef>
#include <span>

namespace qsim {

// Drops the whole pages inside `dead`. Its bytes have no particular value afterwards, and it may be
// written again; the partial pages at its ends stay as they are.
void release_pages(std::span<std::byte> dead);

}  // namespace qsim
