#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "buffer.hpp"
#include "direct_reader.hpp"
#include "pages.hpp"

namespace hearth {

/** The numbers are those of engine/kernels/native/addon.ts. */
enum class PageJobKind { WillNeed, Populate, Drop, Lock, Unlock, WillNeedWhole, Read };

struct PageJob {
  PageJobKind kind;
  FileRange range;
  /** Of Drop, bytes. */
  std::size_t lookBack = 0;
  /** Of Read: where the bytes go, from `offset` on. */
  std::shared_ptr<Buffer> target = nullptr;
  std::size_t offset = 0;
};

struct PageOutcome {
  /** Seconds of the clock of PageWorker::now. */
  double start = 0;
  double end = 0;
  /** Bytes that came from the disk (by the kernel's count, where it has one), or were read. */
  std::uint64_t bytes = 0;
  bool cancelled = false;
  /** Of Lock: the system didn't allow it. */
  bool refused = false;
  /** Empty: it went well. */
  std::string error;
};

/**
 * A helper thread that does one job after another on the pages of one file, a few megabytes at a time, so that whoever
 * asks waits only if he says so. A Drop goes before everything else: it makes the room that reads need.
 */
class PageWorker {
 public:
  explicit PageWorker(std::shared_ptr<const FileMapping> mapping);
  /** Gives up what isn't done. */
  ~PageWorker();
  PageWorker(const PageWorker&) = delete;
  PageWorker& operator=(const PageWorker&) = delete;

  /** Returns the job's number. Throws std::out_of_range for a part that the file or the target doesn't have. */
  std::size_t submit(PageJob job);
  /** The outcome once it is there; it is told once, and the number means nothing afterwards. */
  PageOutcome wait(std::size_t number);
  std::optional<PageOutcome> poll(std::size_t number);
  /**
   * Calls `act` once the job has an outcome, or will never have one because the worker ends: from the helper thread, or at
   * once from this one.
   */
  void whenDone(std::size_t number, std::function<void()> act);
  /** It ends after the megabytes that are being done. */
  void cancel(std::size_t number);

  /** Bytes that the thread has made the disk read by now, where the system counts them. */
  [[nodiscard]] std::optional<std::uint64_t> readBytes() const;
  [[nodiscard]] const FileMapping& mapping() const { return *mapping_; }
  /** Seconds on the clock of the outcomes. */
  static double now();

 private:
  struct Entry {
    PageJob job;
    PageOutcome outcome{};
    /** Up to where it is done. */
    std::size_t done = 0;
    bool begun = false;
    bool finished = false;
    /** To be called when it is. */
    std::function<void()> act{};
  };

  void serve() noexcept;
  /** Does a piece of a job. Returns whether that was the last. */
  bool step(Entry& entry);
  bool perform(Entry& entry, FileRange piece);

  std::shared_ptr<const FileMapping> mapping_;
  DirectReader reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Entry> entries_;
  /** Numbers of what is to be done, in this order. */
  std::deque<std::size_t> queue_;
  std::size_t next_ = 1;
  bool stopping_ = false;
  std::atomic<int> tid_{0};
  std::thread thread_;
};

}  // namespace hearth
