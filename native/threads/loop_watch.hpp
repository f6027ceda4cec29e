#pragma once
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace hearth {

/** Resources that a thread has used so far and that a computation can't do without. */
struct ThreadUse {
  /**
   * Seconds on a processor. Only its own: it takes part in every computation that it waits for, while what other threads
   * of the process do (heartbeats, garbage collection, sanitizers) says nothing about it.
   */
  double processorSeconds = 0;
  /** Page faults of the whole process that were answered from the disk, and its reads from it. */
  std::uint64_t reads = 0;
};

/**
 * Tells a thread that works from one that hangs, by samples at equal times. A thread shows that it lives by `turns`,
 * which it counts; while it computes or reads for long it can't count, but it uses a processor, or the process the disk.
 * Only a thread that does neither hangs: it waits for a disk that doesn't answer, or for itself.
 */
class Stillness {
 public:
  /** Takes a sample `seconds` after the one before. Returns for how many seconds nothing has moved. */
  double sample(std::uint64_t turns, const ThreadUse& use, double seconds);

 private:
  std::uint64_t turns_ = 0;
  ThreadUse use_;
  double still_ = 0;
};

/** Ends all TCP connections of this process, so that their peers learn that nobody serves them. Listeners stay. */
void cutConnections() noexcept;

/**
 * A thread that watches the loop of events of the one that makes it. Calls `onStill` if nothing moves for `seconds`, and again only
 * after something has moved.
 */
class LoopWatch {
 public:
  LoopWatch(double seconds, std::function<void()> onStill);
  ~LoopWatch();
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;

  /** Called by the watched loop, several times a second. */
  void turn() noexcept { turns_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void serve();

  double seconds_;
  std::function<void()> onStill_;
  pthread_t watched_ = pthread_self();
  std::atomic<std::uint64_t> turns_{0};
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  /** Last, so that everything else exists when it starts. */
  std::thread thread_;
};

}  // namespace hearth
