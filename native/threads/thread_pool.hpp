#pragma once
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace hearth {

/**
 * Returns once `value` is at least `target`. Spins for some microseconds, then sleeps until the thread that raises the
 * value calls notify_all on it.
 */
void waitUntil(std::atomic<int>& value, int target) noexcept;

/**
 * Persistent threads: between runs they spin for tens of microseconds and then sleep, so that the next operation
 * usually finds them awake and an idle engine uses no processor. The caller is thread 0.
 */
class ThreadPool {
 public:
  using Work = void (*)(void* context, std::size_t thread);

  /** `pin` binds each of the pool's own threads to one processor; if that isn't allowed, they run unbound. */
  ThreadPool(std::size_t threads, bool pin);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  /**
   * Calls work(context, 0) here and work(context, thread) on every thread that gets a processor before that returns. A
   * thread that gets none isn't waited for, so `work` must complete with however few threads take part. `work` must not
   * throw. What it wrote is visible when this returns.
   */
  void run(Work work, void* context) noexcept;

 private:
  void serve(std::size_t thread) noexcept;
  void stop() noexcept;

  std::size_t size_;
  std::vector<std::thread> threads_;
  Work work_ = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> stopping_{false};
  /** Counts runs; threads wait for it to change. */
  alignas(64) std::atomic<int> epoch_{0};
  /** Whether threads may still join the run. */
  alignas(64) std::atomic<bool> open_{false};
  /** Minus the number of threads that may be in a run. */
  alignas(64) std::atomic<int> absent_{0};
};

}  // namespace hearth
