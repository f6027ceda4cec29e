#pragma once
#include <cstddef>
#include <span>

#include "operation.hpp"

namespace hearth {

/** Elements of a unit of an elementwise operation, and of a recurrent layer's state: some microseconds of work. */
inline constexpr std::size_t unitElements = 8192;

constexpr std::size_t ceilDivide(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
constexpr std::size_t roundUp64(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

inline Rows rowsOf(const MatrixView& matrix, std::size_t begin, std::size_t count) {
  return {matrix.data + begin * rowBytes(matrix.type, matrix.columns), count, matrix.columns};
}

/**
 * x as products with one token take it: itself for a matrix of floats, otherwise prepared in the thread's memory, if it
 * isn't there already.
 */
inline const std::byte* activationsOf(const KernelTable& table, const MatrixView& matrix, Rounding rounding,
                                      const float* x, std::size_t source, ThreadScratch& scratch) {
  if (isFloat(matrix.type)) return reinterpret_cast<const std::byte*>(x);
  if (scratch.source != source) {
    table.activate(matrix.type, rounding, x, matrix.columns, scratch.bytes);
    scratch.source = source;
  }
  return scratch.bytes;
}

/** y (+)= sums + bias for `count` rows from `row` on. */
inline void finishRows(const KernelTable& table, const float* sums, std::size_t row, std::size_t count,
                       std::span<const float> bias, bool accumulate, float* y) {
  if (accumulate && bias.empty()) return table.add(sums, 1, count, y);
  for (std::size_t r = 0; r < count; r++) {
    const float value = bias.empty() ? sums[r] : sums[r] + bias[row + r];
    y[r] = accumulate ? y[r] + value : value;
  }
}

}  // namespace hearth
