#include "buffer.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <string>

namespace hearth {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t hugePage = std::size_t{2} << 20;

/** Alignment of memory from the heap. */
constexpr std::align_val_t alignmentOf(std::size_t bytes) { return std::align_val_t{bytes >= page ? page : 64}; }

constexpr std::size_t roundUp(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

/** Fresh pages, which are zero and take no memory until they are touched. Null if the system has no room. */
std::byte* reserve(std::size_t bytes) {
  const std::size_t whole = bytes + hugePage;
  void* address = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(address);
  const std::size_t before = roundUp(reinterpret_cast<std::uintptr_t>(first), hugePage) -
                             reinterpret_cast<std::uintptr_t>(first);
  if (before > 0) munmap(first, before);
  if (before < hugePage) munmap(first + before + bytes, hugePage - before);
#ifdef MADV_HUGEPAGE
  // Advice only: without huge pages the memory works the same.
  madvise(first + before, bytes / hugePage * hugePage, MADV_HUGEPAGE);
#endif
  return first + before;
}

}  // namespace

OutOfMemory::OutOfMemory(std::size_t bytes) : std::runtime_error("out of memory: " + std::to_string(bytes) + " bytes") {}

Buffer::Buffer(std::span<std::byte> borrowed)
    : data_(borrowed.data()), size_(borrowed.size()), origin_(Origin::borrowed) {}

Buffer::Buffer(std::size_t bytes)
    : data_(nullptr), size_(bytes), origin_(bytes >= hugePage ? Origin::mapped : Origin::heap) {
  // Rounding or aligning a larger size could overflow.
  if (bytes > SIZE_MAX / 4) throw OutOfMemory(bytes);
  if (origin_ == Origin::mapped) {
    data_ = reserve(roundUp(bytes, hugePage));
  } else {
    data_ = static_cast<std::byte*>(::operator new(bytes, alignmentOf(bytes), std::nothrow));
  }
  if (data_ == nullptr) throw OutOfMemory(bytes);
  if (origin_ == Origin::heap) std::memset(data_, 0, bytes);
}

Buffer::~Buffer() {
  if (origin_ == Origin::mapped) {
    munmap(data_, roundUp(size_, hugePage));
  } else if (origin_ == Origin::heap) {
    ::operator delete(data_, alignmentOf(size_));
  }
}

void Buffer::discard() {
  // Fails only for memory that is locked, which then stays until the buffer is freed.
  if (origin_ == Origin::mapped) madvise(data_, roundUp(size_, hugePage), MADV_DONTNEED);
}

}  // namespace hearth
