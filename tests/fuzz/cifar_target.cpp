// A CIFAR-10 batch: two bytes of the input are the index that is asked for, the rest is the file.
#include <algorithm>

#include "formats/pictures/cifar.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace formats;

bool fuzz_one(Bytes input) {
  static Folder folder;
  const std::size_t head = std::min<std::size_t>(input.size(), 2);
  ByteSource numbers(input.first(head));
  const std::int64_t index = numbers.pick(-3, 500);
  const Bytes content = input.subspan(head);
  const auto path = folder.file("batch.bin", text_of(content));
  return accepted([&] {
    const std::int64_t count = cifar_count(path);
    const CifarRecord record = read_cifar(path, index);
    require(index >= 0 && index < count, "a picture beyond the batch");
    require(record.label >= 0 && record.label <= 9, "a label of no class");
    require(record.image.rgb.size() == 32 * 32 * 3, "a picture of another size");
  });
}

}  // namespace qsim::fuzz
