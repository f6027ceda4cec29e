#include "buffer.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace hearth {
namespace {

constexpr std::size_t hugePage = std::size_t{2} << 20;

}  // namespace

Buffer::Buffer(std::size_t bytes) : data_(nullptr), size_(bytes) {
  const std::size_t alignment = bytes >= hugePage ? hugePage : 64;
  data_ = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment}));
#ifdef MADV_HUGEPAGE
  // Only advice: without it the memory is the same on small pages.
  if (bytes >= hugePage) madvise(data_, bytes / hugePage * hugePage, MADV_HUGEPAGE);
#endif
  std::memset(data_, 0, bytes);
}

Buffer::~Buffer() {
  const std::size_t alignment = size_ >= hugePage ? hugePage : 64;
  ::operator delete(data_, std::align_val_t{alignment});
}

}  // namespace hearth
