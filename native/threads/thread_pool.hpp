#pragma once
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace hearth {

/**
 * Returns once `value` is at least `target`. Spins for some microseconds, then sleeps until whoever brings the value
 * there calls notify_all on it.
 */
void waitUntil(std::atomic<int>& value, int target) noexcept;

/**
 * Threads that stay: between runs they spin for some tens of microseconds and then sleep in the kernel, so that the next
 * operation finds them awake and an idle engine costs nothing. The caller is thread 0.
 */
class ThreadPool {
 public:
  using Work = void (*)(void* context, std::size_t thread);

  /** `pin` binds each own thread to one processor; where that isn't allowed, it runs unbound. */
  ThreadPool(std::size_t threads, bool pin);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  /**
   * Calls work(context, 0) here and work(context, thread) on every thread that gets a processor before that returns: one
   * that others keep from running is not waited for, so `work` must do everything however few take part. `work` must not
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
  /** Whether a run may still be joined. */
  alignas(64) std::atomic<bool> open_{false};
  /** −1 for every thread that may be in a run: nobody is when it is 0. */
  alignas(64) std::atomic<int> absent_{0};
};

}  // namespace hearth
