#pragma once
#include "../kernels/table.hpp"
#include "../threads/thread_pool.hpp"

namespace hearth {

/**
 * What this machine could do just now, with all threads of the pool at once: what kernels are held against. Seconds are
 * wall-clock time; on a busy machine the best of several calls counts.
 */

/** Bytes per second of reading memory once. */
double readBandwidth(ThreadPool& pool, const KernelTable& table, const std::byte* data, std::size_t bytes);

/** Operations (multiplications and additions) per second in single precision, and in bytes with 32-bit sums. */
double floatPeak(ThreadPool& pool, const KernelTable& table);
double bytePeak(ThreadPool& pool, const KernelTable& table);

}  // namespace hearth
