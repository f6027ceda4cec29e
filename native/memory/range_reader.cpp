#include "range_reader.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace hearth {
namespace {

constexpr std::size_t page = RangeReader::alignment;

std::size_t roundDown(std::size_t value) { return value / page * page; }
std::size_t roundUp(std::size_t value) { return roundDown(value + page - 1); }

/** Opens the file again: direct reading and reading ahead are properties of the descriptor. */
int openAgain(const FileMapping& mapping, [[maybe_unused]] ReadWay way) {
#if defined(__linux__)
  const std::string path = "/proc/self/fd/" + std::to_string(mapping.descriptor());
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | (way == ReadWay::Direct ? O_DIRECT : 0));
  if (file >= 0 && way == ReadWay::Cached) posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
  return file;
#elif defined(F_NOCACHE)
  if (way == ReadWay::Direct) fcntl(mapping.descriptor(), F_NOCACHE, 1);
  return -1;
#else
  return -1;
#endif
}

/** Whole pages of the calling thread's own, at least so many bytes. */
std::byte* staging(std::size_t bytes) {
  thread_local std::unique_ptr<Buffer> memory;
  if (!memory || memory->size() < bytes) {
    memory.reset();
    memory = std::make_unique<Buffer>(bytes);
  }
  return memory->data();
}

[[noreturn]] void endsEarly() { throw std::runtime_error("the file ends early; did it shrink?"); }

}  // namespace

RangeReader::RangeReader(const FileMapping& mapping, ReadWay way)
    : mapping_(mapping),
      way_(way),
      own_(openAgain(mapping, way)),
      direct_(way == ReadWay::Direct && own_.number() >= 0) {}

void RangeReader::check(FileRange range, const Buffer& target, std::size_t offset) {
  if (offset > target.size() || range.to - range.from > target.size() - offset) {
    throw std::out_of_range("the target is too small");
  }
}

void RangeReader::read(FileRange range, Buffer& target, std::size_t offset) {
  while (range.from < range.to) {
    std::byte* to = target.data() + offset;
    std::size_t got = direct_ ? readPages(range, to) : 0;
    if (got == 0) {
      if (way_ == ReadWay::Direct) direct_ = false;
      got = readCached(range, to);
    }
    range.from += got;
    offset += got;
  }
}

std::size_t RangeReader::readPages(FileRange range, std::byte* to) const {
  const std::size_t first = roundDown(range.from);
  const std::size_t begin = roundUp(range.from);
  const std::size_t end = roundDown(range.to);
  const bool inPlace = begin < end && reinterpret_cast<std::uintptr_t>(to) % page == range.from % page;
  std::array<iovec, 3> parts{};
  int count = 0;
  const auto add = [&](std::byte* memory, std::size_t bytes) {
    if (bytes > 0) parts[count++] = {memory, bytes};
  };
  const std::size_t edge = begin - first;
  std::byte* own = staging(inPlace ? 2 * page : roundUp(range.to) - first);
  if (inPlace) {
    add(own, edge);
    add(to + (begin - range.from), end - begin);
    add(own + page, roundUp(range.to) - end);
  } else {
    add(own, roundUp(range.to) - first);
  }
  ssize_t got = 0;
  do {
    got = preadv(own_.number(), parts.data(), count, static_cast<off_t>(first));
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EINVAL) return 0;
  if (got < 0) throw std::system_error(errno, std::generic_category(), "reading weights");
  const std::size_t last = std::min(first + static_cast<std::size_t>(got), range.to);
  if (last <= range.from) endsEarly();
  if (!inPlace) {
    std::memcpy(to, own + (range.from - first), last - range.from);
  } else {
    std::memcpy(to, own + (range.from - first), std::min(begin, last) - range.from);
    if (last > end) std::memcpy(to + (end - range.from), own + page, last - end);
  }
  return last - range.from;
}

std::size_t RangeReader::readCached(FileRange range, std::byte* to) const {
  const int file = way_ == ReadWay::Cached && own_.number() >= 0 ? own_.number() : mapping_.descriptor();
  ssize_t got = 0;
  do {
    got = pread(file, to, range.to - range.from, static_cast<off_t>(range.from));
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw std::system_error(errno, std::generic_category(), "reading weights");
  if (got == 0) endsEarly();
#ifdef POSIX_FADV_DONTNEED
  if (way_ == ReadWay::Direct) {
    posix_fadvise(file, static_cast<off_t>(range.from), static_cast<off_t>(got), POSIX_FADV_DONTNEED);
  }
#endif
  return static_cast<std::size_t>(got);
}

}  // namespace hearth
