#include "thread_pool.hpp"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace hearth {
namespace {

/**
 * A pause takes 10 to 50 ns, depending on the processor. Within a run other threads are at most a unit, some
 * microseconds, behind, if they have a processor at all; between runs JavaScript selects a token.
 */
constexpr int waitSpins = 500;
constexpr int runSpins = 4000;

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

void pinTo([[maybe_unused]] std::thread& thread, [[maybe_unused]] std::size_t index) noexcept {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::size_t left = index % static_cast<std::size_t>(CPU_COUNT(&allowed));
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed) || left-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(thread.native_handle(), sizeof one, &one);
    return;
  }
#endif
}

}  // namespace

void waitUntil(std::atomic<int>& value, int target) noexcept {
  for (int spin = 0; spin < waitSpins; spin++) {
    if (value.load(std::memory_order_acquire) >= target) return;
    pause();
  }
  for (int now = value.load(std::memory_order_acquire); now < target; now = value.load(std::memory_order_acquire)) {
    value.wait(now, std::memory_order_acquire);
  }
}

ThreadPool::ThreadPool(std::size_t threads, bool pin) : size_(threads) {
  try {
    for (std::size_t thread = 1; thread < threads; thread++) {
      threads_.emplace_back([this, thread] { serve(thread); });
      if (pin) pinTo(threads_.back(), thread);
    }
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadPool::serve(std::size_t thread) noexcept {
  for (int seen = 0;;) {
    for (int spin = 0; spin < runSpins && epoch_.load(std::memory_order_acquire) == seen; spin++) pause();
    epoch_.wait(seen, std::memory_order_acquire);
    seen = epoch_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_acquire)) return;
    // Announced before `open_` is read: either this thread sees the run closed, or `run` sees this thread and waits for
    // it.
    absent_.fetch_sub(1);
    if (open_.load()) work_(context_, thread);
    if (absent_.fetch_add(1) == -1) absent_.notify_all();
  }
}

void ThreadPool::run(Work work, void* context) noexcept {
  if (size_ == 1) {
    work(context, 0);
    return;
  }
  work_ = work;
  context_ = context;
  open_.store(true);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  work(context, 0);
  // Store here, then load; there, add, then load (serve): each side must see the other's write if it comes first. That
  // holds only if all four are sequentially consistent, since then they have one order S. If the load of `absent_`
  // comes before a thread's fetch_sub in S, so does the store, and that thread finds the run closed; otherwise this load
  // sees the fetch_sub, or what came after it. With acquire, which Arm may carry out as LDAPR, the load could overtake
  // the store, and `run` return while a thread works. Once a value below 0 is seen, waiting needs no more than acquire:
  // later loads see no older value.
  open_.store(false);
  if (absent_.load() < 0) waitUntil(absent_, 0);
}

}  // namespace hearth
