#include "direct_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

namespace hearth {
namespace {

/** Opens the file again: direct reading is a property of the descriptor. */
int openDirect(const FileMapping& mapping) {
#if defined(__linux__)
  const std::string path = "/proc/self/fd/" + std::to_string(mapping.descriptor());
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
#elif defined(F_NOCACHE)
  fcntl(mapping.descriptor(), F_NOCACHE, 1);
  return -1;
#else
  return -1;
#endif
}

std::size_t roundUp(std::size_t value) {
  return (value + DirectReader::alignment - 1) / DirectReader::alignment * DirectReader::alignment;
}

}  // namespace

DirectReader::DirectReader(const FileMapping& mapping) : mapping_(mapping), direct_(openDirect(mapping)) {}

void DirectReader::check(FileRange range, const Buffer& target, std::size_t offset) const {
  const bool atEnd = range.to == mapping_.bytes().size();
  const auto address = reinterpret_cast<std::uintptr_t>(target.data()) + offset;
  if (range.from % alignment != 0 || (range.to % alignment != 0 && !atEnd) || address % alignment != 0) {
    throw std::invalid_argument("reads begin and end at whole pages");
  }
  if (offset > target.size() || roundUp(range.to - range.from) > target.size() - offset) {
    throw std::out_of_range("the target is too small");
  }
}

void DirectReader::read(FileRange range, Buffer& target, std::size_t offset) {
  while (range.from < range.to) {
    const bool direct = direct_.number() >= 0;
    const std::size_t wanted = range.to - range.from;
    // A direct read must ask for whole blocks, even beyond the end of the file.
    const ssize_t count = pread(direct ? direct_.number() : mapping_.descriptor(), target.data() + offset,
                                direct ? roundUp(wanted) : wanted, static_cast<off_t>(range.from));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EINVAL && direct) {
      direct_ = Descriptor(-1);
      continue;
    }
    if (count < 0) throw std::system_error(errno, std::generic_category(), "reading weights");
    if (count == 0) throw std::runtime_error("the file ends early; did it shrink?");
    const std::size_t got = std::min(wanted, static_cast<std::size_t>(count));
#ifdef POSIX_FADV_DONTNEED
    if (!direct) {
      posix_fadvise(mapping_.descriptor(), static_cast<off_t>(range.from), static_cast<off_t>(got),
                    POSIX_FADV_DONTNEED);
    }
#endif
    range.from += got;
    offset += got;
  }
}

}  // namespace hearth
