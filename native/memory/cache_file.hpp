#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cache_memory.hpp"
#include "descriptor.hpp"

namespace hearth {

struct CacheJob {
  bool writes;
  std::shared_ptr<CacheMemory> cache;
  /** Where it lies in the file: caches from its beginning on. */
  std::size_t place;
};

struct CacheOutcome {
  /** Seconds on the clock of PageWorker::now. */
  double start = 0;
  double end = 0;
  /** Empty: it went well. */
  std::string error;
};

/**
 * A file without a name that KV caches are written to and read back from, past the page cache where the file system lets
 * it, by a helper thread. Reads go before writes: somebody waits for them soon, while a cache that is written is still
 * in memory. Whoever reads a place must have waited until it was written.
 */
class CacheFile {
 public:
  /** @param bytes of a cache's keys, and of its values */
  CacheFile(const std::string& folder, std::size_t bytes);
  /** Gives up what isn't done. */
  ~CacheFile();
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  /** Returns the job's number. Throws std::invalid_argument for a cache of another size. */
  std::size_t submit(CacheJob job);
  /** The outcome once it is there; it is told once, and the number means nothing afterwards. */
  CacheOutcome wait(std::size_t number);
  std::optional<CacheOutcome> poll(std::size_t number);

 private:
  struct Entry {
    CacheJob job;
    CacheOutcome outcome{};
    bool finished = false;
  };

  void serve() noexcept;
  void perform(const CacheJob& job);
  void move(bool writes, Buffer& memory, std::size_t offset);

  std::size_t bytes_;
  Descriptor file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Entry> entries_;
  std::deque<std::size_t> reads_;
  std::deque<std::size_t> writes_;
  std::size_t next_ = 1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hearth
