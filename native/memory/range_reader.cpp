#include "range_reader.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

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

/**
 * Memory of the calling thread's own, at least so many bytes in whole huge pages: a read into scattered pages of 4 KiB is
 * split into several requests of the disk, and took three times as long.
 */
std::byte* staging(std::size_t bytes) {
  constexpr std::size_t hugePage = std::size_t{2} << 20;
  thread_local std::unique_ptr<Buffer> memory;
  if (!memory || memory->size() < bytes) {
    memory.reset();
    memory = std::make_unique<Buffer>((bytes + hugePage - 1) / hugePage * hugePage);
  }
  return memory->data();
}

std::size_t bytesOf(const RangeReader::Places& places) {
  std::size_t sum = 0;
  for (const iovec& place : places) sum += place.iov_len;
  return sum;
}

std::byte* beginOf(const iovec& place) { return static_cast<std::byte*>(place.iov_base); }

/** The places without their first bytes. */
void advance(RangeReader::Places& places, std::size_t bytes) {
  std::size_t whole = 0;
  while (whole < places.size() && bytes >= places[whole].iov_len) bytes -= places[whole++].iov_len;
  places.erase(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(whole));
  if (bytes > 0) places.front() = {beginOf(places.front()) + bytes, places.front().iov_len - bytes};
}

/** Whether a range from `from` on lies in its pages as its places do, each but the first from a whole page on. */
bool liesAs(std::size_t from, const RangeReader::Places& places) {
  std::size_t at = from;
  for (const iovec& place : places) {
    if (at != from && at % page != 0) return false;
    if (reinterpret_cast<std::uintptr_t>(place.iov_base) % page != at % page) return false;
    at += place.iov_len;
  }
  return true;
}

/** Copies the first bytes of some to the places. */
void scatter(const std::byte* bytes, std::size_t count, const RangeReader::Places& places) {
  for (const iovec& place : places) {
    const std::size_t own = std::min(count, place.iov_len);
    std::memcpy(place.iov_base, bytes, own);
    bytes += own;
    count -= own;
  }
}

[[noreturn]] void endsEarly() { throw std::runtime_error("the file ends early; did it shrink?"); }

}  // namespace

RangeReader::RangeReader(const FileMapping& mapping, ReadWay way)
    : mapping_(mapping),
      way_(way),
      own_(openAgain(mapping, way)),
      direct_(way == ReadWay::Direct && own_.number() >= 0) {}

void RangeReader::check(FileRange range, const std::vector<ReadTarget>& targets) {
  std::size_t left = range.to - range.from;
  for (const ReadTarget& target : targets) {
    if (target.offset > target.buffer->size() || target.bytes > target.buffer->size() - target.offset) {
      throw std::out_of_range("the target is too small");
    }
    if (target.bytes > left) throw std::out_of_range("the targets take more than the range has");
    left -= target.bytes;
  }
  if (left > 0) throw std::out_of_range("the target is too small");
}

void RangeReader::read(std::size_t from, Places places) {
  while (!places.empty()) {
    std::size_t got = direct_ ? readPages(from, places) : 0;
    if (got == 0) {
      if (way_ == ReadWay::Direct) direct_ = false;
      got = readCached(from, places);
    }
    from += got;
    advance(places, got);
  }
}

std::size_t RangeReader::readPages(std::size_t from, const Places& places) const {
  const std::size_t to = from + bytesOf(places);
  const std::size_t first = roundDown(from);
  const std::size_t begin = roundUp(from);
  const std::size_t end = roundDown(to);
  const bool inPlace = begin < end && liesAs(from, places);
  Places parts;
  parts.reserve(places.size() + 2);
  const auto add = [&](std::byte* memory, std::size_t bytes) {
    if (bytes > 0) parts.push_back({memory, bytes});
  };
  std::byte* own = staging(inPlace ? 2 * page : roundUp(to) - first);
  if (inPlace) {
    add(own, begin - first);
    std::size_t at = from;
    for (const iovec& place : places) {
      const std::size_t low = std::max(at, begin);
      const std::size_t high = std::min(at + place.iov_len, end);
      if (low < high) add(beginOf(place) + (low - at), high - low);
      at += place.iov_len;
    }
    add(own + page, roundUp(to) - end);
  } else {
    add(own, roundUp(to) - first);
  }
  ssize_t got = 0;
  do {
    got = preadv(own_.number(), parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(first));
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EINVAL) return 0;
  if (got < 0) throw std::system_error(errno, std::generic_category(), "reading weights");
  const std::size_t last = std::min(first + static_cast<std::size_t>(got), to);
  if (last <= from) endsEarly();
  if (!inPlace) {
    scatter(own + (from - first), last - from, places);
  } else {
    std::memcpy(places.front().iov_base, own + (from - first), std::min(begin, last) - from);
    const iovec& tail = places.back();
    if (last > end) std::memcpy(beginOf(tail) + tail.iov_len - (to - end), own + page, last - end);
  }
  return last - from;
}

std::size_t RangeReader::readCached(std::size_t from, const Places& places) const {
  const int file = way_ == ReadWay::Cached && own_.number() >= 0 ? own_.number() : mapping_.descriptor();
  ssize_t got = 0;
  do {
    got = preadv(file, places.data(), static_cast<int>(places.size()), static_cast<off_t>(from));
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw std::system_error(errno, std::generic_category(), "reading weights");
  if (got == 0) endsEarly();
#ifdef POSIX_FADV_DONTNEED
  if (way_ == ReadWay::Direct) {
    posix_fadvise(file, static_cast<off_t>(from), static_cast<off_t>(got), POSIX_FADV_DONTNEED);
  }
#endif
  return static_cast<std::size_t>(got);
}

}  // namespace hearth
