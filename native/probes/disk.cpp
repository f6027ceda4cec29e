#include "disk.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "../memory/file_mapping.hpp"

namespace hearth {
namespace {

/** The largest request of the operating system's own readers, and enough for full speed on any disk. */
constexpr std::size_t readBytes = std::size_t{4} << 20;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) fail("can't be opened");
  }
  ~OpenFile() { close(number_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

std::size_t pageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/** Share of the mapping's pages that are in memory. */
double residentShare(const FileMapping& mapping) {
  const auto bytes = mapping.bytes();
  const std::size_t pages = (bytes.size() + pageBytes() - 1) / pageBytes();
#ifdef __APPLE__
  std::vector<char> resident(pages);
#else
  std::vector<unsigned char> resident(pages);
#endif
  if (mincore(const_cast<std::uint8_t*>(bytes.data()), bytes.size(), resident.data()) != 0) fail("can't be examined");
  const auto count = std::count_if(resident.begin(), resident.end(), [](auto page) { return (page & 1) != 0; });
  return static_cast<double>(count) / static_cast<double>(pages);
}

}  // namespace

double dropFromMemory(const std::string& path) {
  const OpenFile file(path);
  if (fsync(file.number()) != 0) fail("can't be written out");
#ifdef __APPLE__
  const FileMapping mapping(path);
  msync(const_cast<std::uint8_t*>(mapping.bytes().data()), mapping.bytes().size(), MS_INVALIDATE);
#else
  // Mapped pages would stay, so the file isn't mapped yet.
  const int refused = posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  if (refused != 0) throw std::system_error(refused, std::generic_category(), "can't be dropped from memory");
  const FileMapping mapping(path);
#endif
  return residentShare(mapping);
}

double readInOrder(const std::string& path, std::size_t begin, std::size_t bytes) {
  const OpenFile file(path);
#ifdef POSIX_FADV_SEQUENTIAL
  posix_fadvise(file.number(), 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
  std::vector<char> buffer(readBytes);
  const auto start = Clock::now();
  for (std::size_t done = 0; done < bytes;) {
    const auto count = pread(file.number(), buffer.data(), std::min(readBytes, bytes - done),
                             static_cast<off_t>(begin + done));
    if (count < 0 && errno != EINTR) fail("can't be read");
    if (count == 0) throw std::runtime_error("ends early");
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return secondsSince(start);
}

double faultPages(const std::string& path, std::size_t pages, std::uint64_t seed) {
  const FileMapping mapping(path);
  const auto bytes = mapping.bytes();
  // Without readahead, so that every touched page is read from disk.
  madvise(const_cast<std::uint8_t*>(bytes.data()), bytes.size(), MADV_RANDOM);
  const std::size_t all = bytes.size() / pageBytes();
  if (pages == 0 || pages > all) throw std::out_of_range("more pages than the file has");
  volatile std::uint8_t seen = 0;
  const auto start = Clock::now();
  for (std::size_t i = 0; i < pages; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    seen = bytes[(seed >> 33) % all * pageBytes()];
  }
  static_cast<void>(seen);
  return secondsSince(start);
}

}  // namespace hearth
