#pragma once
#include "../kernels/table.hpp"
#include "../threads/thread_pool.hpp"

namespace hearth {

/**
 * The machine's limits at this moment, with all threads of the pool: kernels are compared with them. They are measured
 * in wall-clock time; on a busy machine use the best of several calls.
 */

/** Bytes per second at which memory is read once. */
double readBandwidth(ThreadPool& pool, const KernelTable& table, const std::byte* data, std::size_t bytes);

/** Operations (multiplications and additions) per second in single precision, and in bytes with 32-bit sums. */
double floatPeak(ThreadPool& pool, const KernelTable& table);
double bytePeak(ThreadPool& pool, const KernelTable& table);

}  // namespace hearth
