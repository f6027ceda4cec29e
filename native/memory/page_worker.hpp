#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "../threads/job_thread.hpp"
#include "buffer.hpp"
#include "pages.hpp"
#include "range_reader.hpp"

namespace hearth {

/**
 * The jobs on pages; a job's code is its place in this list. engine/kernels/native/file-pages.ts has the same list, and
 * a test compares the two. `Read` has a function of its own there, and comes last.
 */
#define HEARTH_PAGE_JOBS(X)      \
  X(WillNeed, "willneed")        \
  X(Populate, "populate")        \
  X(Drop, "drop")                \
  X(Lock, "lock")                \
  X(Unlock, "unlock")            \
  X(WillNeedWhole, "willneed-whole") \
  X(Read, "read")

#define HEARTH_KIND(kind, name) kind,
enum class PageJobKind { HEARTH_PAGE_JOBS(HEARTH_KIND) };
#undef HEARTH_KIND

#define HEARTH_NAME(kind, name) name,
inline constexpr const char* pageJobNames[] = {HEARTH_PAGE_JOBS(HEARTH_NAME)};
#undef HEARTH_NAME

inline constexpr std::size_t pageJobCount = sizeof pageJobNames / sizeof pageJobNames[0];

struct PageJob {
  PageJobKind kind;
  FileRange range;
  /** Drop: bytes before the range that are tried again. */
  std::size_t lookBack = 0;
  /** Read: where the bytes go, one after the other. */
  std::vector<ReadTarget> targets = {};
};

struct PageOutcome : JobOutcome {
  /** Bytes that came from the disk, by the operating system's count; where it doesn't count, bytes that Read read. */
  std::uint64_t bytes = 0;
  /** Lock: the operating system refused. */
  bool refused = false;
};

/** How many jobs are done at once, and how Read reads. */
struct PageWorkerOptions {
  std::size_t threads = 1;
  ReadWay way = ReadWay::Direct;
};

/**
 * Does jobs on the pages of one file on threads of its own, a few megabytes at a time. A Drop goes before all others:
 * it frees the memory that reads need.
 */
class PageWorker {
 public:
  explicit PageWorker(std::shared_ptr<const FileMapping> mapping, PageWorkerOptions options = {});

  /** Returns the job's number. Throws std::out_of_range for a part that the file or the target doesn't have. */
  std::size_t submit(PageJob job);
  /** See JobThread. */
  PageOutcome wait(std::size_t number) { return jobs_.wait(number); }
  std::optional<PageOutcome> poll(std::size_t number) { return jobs_.poll(number); }
  void whenDone(std::size_t number, std::function<void()> callback) { jobs_.whenDone(number, std::move(callback)); }
  /** Ends the job after the megabytes that are being done. */
  void cancel(std::size_t number) { jobs_.cancel(number); }

  /** Bytes that the threads have caused to be read from disk so far, where the operating system counts them. */
  [[nodiscard]] std::optional<std::uint64_t> readBytes() const;
  [[nodiscard]] const FileMapping& mapping() const { return *mapping_; }

 private:
  struct Progress {
    PageJob job;
    /** The next byte of the range. */
    std::size_t next;
  };

  /** Does a piece of a job. Returns whether it was the last. */
  bool step(Progress& progress, PageOutcome& outcome);
  void perform(const PageJob& job, FileRange piece, PageOutcome& outcome);

  std::shared_ptr<const FileMapping> mapping_;
  RangeReader reader_;
  /** Last, so that its threads end first. */
  JobThread<Progress, PageOutcome> jobs_;
};

}  // namespace hearth
