#include "pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace hearth {
namespace {

std::size_t pageBytes() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t pageOf(std::size_t byte) { return byte / pageBytes() * pageBytes(); }

void* addressOf(const FileMapping& mapping, std::size_t byte) {
  return const_cast<std::uint8_t*>(mapping.bytes().data() + byte);
}

void check(const FileMapping& mapping, FileRange range) {
  if (range.from >= range.to || range.to > mapping.bytes().size()) throw std::out_of_range("no such part of the file");
}

/** The range extended to whole pages. */
FileRange outward(const FileMapping& mapping, FileRange range) {
  check(mapping, range);
  return {pageOf(range.from), range.to};
}

[[noreturn]] void fail(const char* call) { throw std::system_error(errno, std::generic_category(), call); }

void advise(const FileMapping& mapping, FileRange range, int advice, const char* call) {
  if (madvise(addressOf(mapping, range.from), range.to - range.from, advice) != 0) fail(call);
}

/** For systems without MADV_POPULATE_READ: reads a byte of every page. */
void touch(const FileMapping& mapping, FileRange range) {
  const volatile std::uint8_t* bytes = mapping.bytes().data();
  for (std::size_t byte = range.from; byte < range.to; byte += pageBytes()) static_cast<void>(bytes[byte]);
}

}  // namespace

std::size_t residentBytes(const FileMapping& mapping, FileRange range) {
  const FileRange pages = outward(mapping, range);
#ifdef __APPLE__
  using State = char;
#else
  using State = unsigned char;
#endif
  std::vector<State> states((pages.to - pages.from + pageBytes() - 1) / pageBytes());
  if (mincore(addressOf(mapping, pages.from), pages.to - pages.from, states.data()) != 0) fail("mincore");
  std::size_t resident = 0;
  for (std::size_t i = 0; i < states.size(); i++) {
    if ((states[i] & 1) == 0) continue;
    const std::size_t begin = pages.from + i * pageBytes();
    resident += std::min(begin + pageBytes(), range.to) - std::max(begin, range.from);
  }
  return resident;
}

void adviseWillNeed(const FileMapping& mapping, FileRange range) {
  advise(mapping, outward(mapping, range), MADV_WILLNEED, "MADV_WILLNEED");
}

void populate(const FileMapping& mapping, FileRange range) {
  const FileRange pages = outward(mapping, range);
#ifdef MADV_POPULATE_READ
  for (;;) {
    if (madvise(addressOf(mapping, pages.from), pages.to - pages.from, MADV_POPULATE_READ) == 0) return;
    if (errno == EINVAL) break;  // before Linux 5.14
    if (errno != EINTR && errno != EAGAIN) fail("MADV_POPULATE_READ");
  }
#endif
  touch(mapping, pages);
}

void adviseRandom(const FileMapping& mapping, bool random) {
  advise(mapping, {0, mapping.bytes().size()}, random ? MADV_RANDOM : MADV_NORMAL, "MADV_RANDOM");
}

void drop(const FileMapping& mapping, FileRange range, [[maybe_unused]] std::size_t lookBack) {
  check(mapping, range);
  const bool toEnd = range.to == mapping.bytes().size();
  const FileRange pages = {pageOf(range.from + pageBytes() - 1), toEnd ? range.to : pageOf(range.to)};
  if (pages.from >= pages.to) return;
  advise(mapping, pages, MADV_DONTNEED, "MADV_DONTNEED");
#ifdef POSIX_FADV_DONTNEED
  const std::size_t from = pageOf(pages.from - std::min(pages.from, lookBack));
  const int error = posix_fadvise(mapping.descriptor(), static_cast<off_t>(from), static_cast<off_t>(pages.to - from),
                                  POSIX_FADV_DONTNEED);
  if (error != 0) throw std::system_error(error, std::generic_category(), "POSIX_FADV_DONTNEED");
#else
  // There is no other way to drop pages here; the operating system reclaims unmapped pages first.
#endif
}

bool lock(const FileMapping& mapping, FileRange range) {
  const FileRange pages = outward(mapping, range);
  if (mlock(addressOf(mapping, pages.from), pages.to - pages.from) == 0) return true;
  if (errno == ENOMEM || errno == EPERM || errno == EAGAIN) return false;
  fail("mlock");
}

void unlock(const FileMapping& mapping, FileRange range) {
  const FileRange pages = outward(mapping, range);
  if (munlock(addressOf(mapping, pages.from), pages.to - pages.from) != 0) fail("munlock");
}

}  // namespace hearth
