#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "../threads/job_thread.hpp"
#include "cache_memory.hpp"
#include "descriptor.hpp"

namespace hearth {

struct CacheJob {
  /** Whether the cache is written to the file, rather than read from it. */
  bool writes;
  std::shared_ptr<CacheMemory> cache;
  /** Place in the file, in caches from its beginning. */
  std::size_t place;
};

/**
 * A file without a name to which KV caches are written and from which they are read back by a thread of its own, past
 * the page cache where the file system allows it. Reads go before writes: a read is awaited soon, while a cache that is
 * being written is still in memory. Callers must wait until a place is written before they read it.
 */
class CacheFile {
 public:
  /** @param bytes of a cache's keys, and of its values */
  CacheFile(const std::string& folder, std::size_t bytes);

  /** Returns the job's number. Throws std::invalid_argument for a cache of another size. */
  std::size_t submit(CacheJob job);
  /** See JobThread. */
  JobOutcome wait(std::size_t number) { return jobs_.wait(number); }
  std::optional<JobOutcome> poll(std::size_t number) { return jobs_.poll(number); }

 private:
  void perform(const CacheJob& job);
  void transfer(bool writes, Buffer& memory, std::size_t offset);

  std::size_t bytes_;
  Descriptor file_;
  /** Last, so that its thread ends first. */
  JobThread<CacheJob, JobOutcome> jobs_;
};

}  // namespace hearth
