#pragma once
#include <type_traits>

#include "../table.hpp"
#include "vector_math.hpp"

/**
 * Several rows are multiplied side by side, so that activations are loaded once for all of them, and rows are
 * prefetched into the second-level cache, since the hardware prefetches only within a page. Each kernel chooses its
 * number of rows; figures are from decoding with a 1.1B model (Zen 4).
 */
namespace hearth {
namespace {

/**
 * Least distance in bytes of prefetching ahead of computing. One group of rows is too little where rows are short: with
 * 8 KiB Q4_K_M is 5 to 12 % faster, with 32 KiB no faster than with one group of four rows.
 */
inline constexpr std::size_t leastAhead = 8 << 10;

/** Prefetches the lines of `bytes` bytes at `at`. */
inline void prefetchLines(const std::uint8_t* at, std::size_t bytes) {
  for (std::size_t line = 0; line < bytes; line += 64) prefetch(at + line);
}

/**
 * y of all rows, `Streams` at a time, and the remaining ones one by one.
 * @param dotRows (rows, distance in bytes of the rows to prefetch, y, std::integral_constant of the number of rows);
 * the distance is whole groups of rows, so that each row is prefetched once
 */
template <std::size_t Streams, class DotRows>
inline void inGroups(const Rows& rows, std::size_t stride, float* y, const DotRows& dotRows) {
  constexpr auto streams = std::integral_constant<std::size_t, Streams>{};
  constexpr auto one = std::integral_constant<std::size_t, 1>{};
  const std::size_t group = Streams * stride;
  const std::size_t ahead = (leastAhead + group - 1) / group * group;
  std::size_t r = 0;
  for (; r + Streams <= rows.count; r += Streams) dotRows(rows.data + r * stride, ahead, y + r, streams);
  for (; r < rows.count; r++) dotRows(rows.data + r * stride, ahead, y + r, one);
}

}  // namespace
}  // namespace hearth
