#include "cache_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "range_reader.hpp"

namespace hearth {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/**
 * A file that is removed from its folder at once, so that the system frees it when the process ends, however it ends.
 */
Descriptor openWithoutName(const std::string& folder, bool whole) {
  const std::string pattern = folder + "/hearth-kv-XXXXXX";
  std::vector<char> path(pattern.c_str(), pattern.c_str() + pattern.size() + 1);
  Descriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (file.number() < 0) fail("no file can be made there");
#if defined(__linux__)
  // Direct transfers need whole blocks.
  if (whole) {
    Descriptor direct(open(path.data(), O_RDWR | O_CLOEXEC | O_DIRECT));
    if (direct.number() >= 0) file = std::move(direct);
  }
#elif defined(F_NOCACHE)
  if (whole) fcntl(file.number(), F_NOCACHE, 1);
#endif
  unlink(path.data());
  return file;
}

}  // namespace

CacheFile::CacheFile(const std::string& folder, std::size_t bytes)
    : bytes_(bytes),
      file_(openWithoutName(folder, bytes % RangeReader::alignment == 0)),
      jobs_([this](const CacheJob& job, JobOutcome&) {
        perform(job);
        return true;
      }) {}

std::size_t CacheFile::submit(CacheJob job) {
  if (job.cache->keys.size() != bytes_) throw std::invalid_argument("the file is for caches of another size");
  const Priority priority = job.writes ? Priority::Normal : Priority::Urgent;
  return jobs_.submit(std::move(job), priority);
}

void CacheFile::perform(const CacheJob& job) {
  const std::size_t offset = job.place * 2 * bytes_;
  transfer(job.writes, job.cache->keys, offset);
  transfer(job.writes, job.cache->values, offset + bytes_);
}

void CacheFile::transfer(bool writes, Buffer& memory, std::size_t offset) {
  for (std::size_t done = 0; done < bytes_;) {
    const auto at = static_cast<off_t>(offset + done);
    const ssize_t count = writes ? pwrite(file_.number(), memory.data() + done, bytes_ - done, at)
                                 : pread(file_.number(), memory.data() + done, bytes_ - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(writes ? "writing a page of the KV cache" : "reading a page of the KV cache");
    if (count == 0) throw std::runtime_error("the file of the KV cache ends early");
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace hearth
