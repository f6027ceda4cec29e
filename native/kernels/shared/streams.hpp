#pragma once
#include <type_traits>

#include "../table.hpp"
#include "vector_math.hpp"

/**
 * Rows are multiplied side by side, so that activations are loaded once for several, and are asked for ahead into the
 * second-level cache: the hardware looks ahead within a page only. How many at once is each kernel's own; figures are those
 * of decoding a 1.1B model (Zen 4).
 */
namespace hearth {
namespace {

/**
 * Bytes by which reading is ahead of computing, at least. One group of rows is too near where rows are short: with 8 KiB
 * Q4_K_M is 5 to 12 % faster, with 32 KiB no faster than with one group of four rows.
 */
inline constexpr std::size_t leastAhead = 8 << 10;

/** Asks for the lines of `bytes` at `at`. */
inline void prefetchLines(const std::uint8_t* at, std::size_t bytes) {
  for (std::size_t line = 0; line < bytes; line += 64) prefetch(at + line);
}

/**
 * y of all rows, `Streams` at a time, what is left one by one.
 * @param dotRows (rows, bytes to the rows to ask for meanwhile, y, std::integral_constant of how many): whole groups
 * ahead, so that all are asked for once
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
