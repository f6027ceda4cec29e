/**
 * Runs that follow each other as fast as they can: after each, what threads wrote is read without a lock. Under
 * ThreadSanitizer a thread that is still at work is a race; without it a stale sum gives it away. Prints the number of
 * runs and exits with 1 after a wrong sum.
 */
#include "../../../native/threads/thread_pool.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t mostThreads = 8;
constexpr int units = 64;

/** One run: units are claimed by whoever comes, and counted in plain memory by thread. */
struct Sums {
  std::atomic<int> next{0};
  struct alignas(64) Count {
    long units = 0;
  };
  std::array<Count, mostThreads> of;
};

void claim(void* context, std::size_t thread) {
  auto& sums = *static_cast<Sums*>(context);
  while (sums.next.fetch_add(1, std::memory_order_relaxed) < units) sums.of[thread].units++;
}

}  // namespace

int main(int count, char** arguments) {
  const long runs = count > 1 ? std::atol(arguments[1]) : 100000;
  for (std::size_t threads = 1; threads <= mostThreads; threads *= 2) {
    hearth::ThreadPool pool(threads, threads % 4 == 0);
    for (long run = 0; run < runs; run++) {
      Sums sums;
      pool.run(claim, &sums);
      long sum = 0;
      for (const auto& one : sums.of) sum += one.units;
      if (sum == units) continue;
      std::printf("%zu threads, run %ld: %ld units of %d\n", threads, run, sum, units);
      return 1;
    }
    std::printf("%zu threads: %ld runs\n", threads, runs);
  }
  return 0;
}
