#include "cache_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "direct_reader.hpp"
#include "page_worker.hpp"

namespace hearth {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/** Created, and gone from its folder at once: the system frees it with the process, however that ends. */
Descriptor openWithoutName(const std::string& folder, bool whole) {
  const std::string pattern = folder + "/hearth-kv-XXXXXX";
  std::vector<char> path(pattern.c_str(), pattern.c_str() + pattern.size() + 1);
  Descriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (file.number() < 0) fail("no file can be made there");
#if defined(__linux__)
  // A direct transfer takes whole blocks only.
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
      file_(openWithoutName(folder, bytes % DirectReader::alignment == 0)),
      thread_([this] { serve(); }) {}

CacheFile::~CacheFile() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::size_t CacheFile::submit(CacheJob job) {
  if (job.cache->keys.size() != bytes_) throw std::invalid_argument("the file is for caches of another size");
  const std::lock_guard guard(mutex_);
  const std::size_t number = next_++;
  (job.writes ? writes_ : reads_).push_back(number);
  entries_[number].job = std::move(job);
  changed_.notify_all();
  return number;
}

CacheOutcome CacheFile::wait(std::size_t number) {
  std::unique_lock guard(mutex_);
  const auto found = entries_.find(number);
  if (found == entries_.end()) throw std::invalid_argument("there is no such job");
  changed_.wait(guard, [&] { return found->second.finished; });
  CacheOutcome outcome = std::move(found->second.outcome);
  entries_.erase(found);
  return outcome;
}

std::optional<CacheOutcome> CacheFile::poll(std::size_t number) {
  {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(number);
    if (found == entries_.end()) throw std::invalid_argument("there is no such job");
    if (!found->second.finished) return std::nullopt;
  }
  return wait(number);
}

void CacheFile::serve() noexcept {
  std::unique_lock guard(mutex_);
  for (;;) {
    changed_.wait(guard, [this] { return stopping_ || !reads_.empty() || !writes_.empty(); });
    if (stopping_) return;
    std::deque<std::size_t>& queue = reads_.empty() ? writes_ : reads_;
    // A map's entries stay where they are; only finished ones are taken out.
    Entry& entry = entries_.at(queue.front());
    queue.pop_front();
    guard.unlock();
    entry.outcome.start = PageWorker::now();
    try {
      perform(entry.job);
    } catch (const std::exception& error) {
      entry.outcome.error = error.what();
    }
    entry.outcome.end = PageWorker::now();
    guard.lock();
    entry.job.cache.reset();
    entry.finished = true;
    changed_.notify_all();
  }
}

void CacheFile::perform(const CacheJob& job) {
  const std::size_t offset = job.place * 2 * bytes_;
  move(job.writes, job.cache->keys, offset);
  move(job.writes, job.cache->values, offset + bytes_);
}

void CacheFile::move(bool writes, Buffer& memory, std::size_t offset) {
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
