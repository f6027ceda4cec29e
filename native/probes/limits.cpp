#include "limits.hpp"

#include <atomic>
#include <chrono>

namespace hearth {
namespace {

constexpr std::size_t chunkBytes = std::size_t{1} << 20;
/** A few milliseconds: long enough to measure, shorter than a time slice of the operating system's scheduler. */
constexpr std::size_t peakRounds = 1 << 20;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double peak(ThreadPool& pool, double (*loop)(std::size_t rounds, float& result)) {
  struct Work {
    double (*loop)(std::size_t, float&);
    std::atomic<double> operations{0};
    std::atomic<float> result{0};
  } work{loop};
  const auto begin = Clock::now();
  pool.run(
      [](void* context, std::size_t) {
        auto& own = *static_cast<Work*>(context);
        float result = 1;
        own.operations.fetch_add(own.loop(peakRounds, result));
        own.result.fetch_add(result);
      },
      &work);
  return work.operations.load() / secondsSince(begin);
}

}  // namespace

double readBandwidth(ThreadPool& pool, const KernelTable& table, const std::byte* data, std::size_t bytes) {
  struct Work {
    const KernelTable& table;
    const std::byte* data;
    std::size_t chunks;
    std::atomic<std::size_t> next{0};
    std::atomic<std::uint64_t> result{0};
  } work{table, data, bytes / chunkBytes};
  const auto begin = Clock::now();
  pool.run(
      [](void* context, std::size_t) {
        auto& own = *static_cast<Work*>(context);
        for (;;) {
          const std::size_t chunk = own.next.fetch_add(1, std::memory_order_relaxed);
          if (chunk >= own.chunks) break;
          own.result.fetch_xor(own.table.readLines(own.data + chunk * chunkBytes, chunkBytes));
        }
      },
      &work);
  return static_cast<double>(work.chunks * chunkBytes) / secondsSince(begin);
}

double floatPeak(ThreadPool& pool, const KernelTable& table) { return peak(pool, table.multiplyAdds); }
double bytePeak(ThreadPool& pool, const KernelTable& table) { return peak(pool, table.byteDots); }

}  // namespace hearth
