#include "core/base/page_release.h"

#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace qsim {

void release_pages(std::span<std::byte> dead) {
  static const auto kPage = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(dead.data());
  const std::uintptr_t lead = (kPage - start % kPage) % kPage;
  if (dead.size() < lead + kPage) return;
  const std::span<std::byte> pages = dead.subspan(lead, (dead.size() - lead) / kPage * kPage);
  // Memory that cannot be given back (locked, say) costs nothing but itself.
  static_cast<void>(madvise(pages.data(), pages.size(), MADV_DONTNEED));
}

}  // namespace qsim
