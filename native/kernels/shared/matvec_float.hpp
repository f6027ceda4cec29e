#pragma once
#include "../table.hpp"
#include "streams.hpp"
#include "vector_math.hpp"

/** F32, F16 and BF16 rows times exact activations: row by row, or four at a time where that reads faster. */
namespace hearth {
namespace {

/**
 * Columns beyond which x, 16 KiB and more, no longer stays in the first-level cache beside the weights. Then weights are
 * asked for 6 KiB ahead, into the second-level cache: 16 to 22 GB/s at 5632 columns; with fewer it would only cost.
 */
inline constexpr std::size_t longRow = 4096;
inline constexpr std::size_t longRowAhead = 6144;

template <class S, Type T, bool Long>
float dotFloatRow(const std::uint8_t* row, std::size_t columns, const float* x) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  constexpr std::size_t chains = 4;
  constexpr std::size_t step = chains * S::width;
  typename S::Floats sums[chains];
  for (auto& sum : sums) sum = S::set(0);
  std::size_t c = 0;
  for (; c + step <= columns; c += step) {
    if constexpr (Long) {
      for (std::size_t line = 0; line < step * bytes; line += 64) prefetch(row + c * bytes + longRowAhead + line);
    }
    for (std::size_t i = 0; i < chains; i += 2) {
      const std::size_t at = c + i * S::width;
      const auto pair = loadPair<S, T>(row + at * bytes);
      sums[i] = S::multiplyAdd(pair.first, S::load(x + at), sums[i]);
      sums[i + 1] = S::multiplyAdd(pair.second, S::load(x + at + S::width), sums[i + 1]);
    }
  }
  for (; c + S::width <= columns; c += S::width) {
    sums[0] = S::multiplyAdd(loadWeights<S, T>(row + c * bytes), S::load(x + c), sums[0]);
  }
  float total = S::sum(S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])));
  for (; c < columns; c++) total += weightAt<T>(row + c * bytes) * x[c];
  return total;
}

/** y of `sideBySide` rows. Their weights are asked for while those of the rows before are multiplied. */
template <class S, Type T>
void dotFloatRows(const std::uint8_t* rows, std::size_t columns, const float* x, float* y) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  constexpr std::size_t step = 2 * S::width;
  const std::size_t stride = columns * bytes;
  typename S::Floats sums[sideBySide][2];
  for (auto& pair : sums) pair[0] = pair[1] = S::set(0);
  std::size_t c = 0;
  for (; c + step <= columns; c += step) {
    const auto first = S::load(x + c);
    const auto second = S::load(x + c + S::width);
    for (std::size_t r = 0; r < sideBySide; r++) {
      const std::uint8_t* at = rows + r * stride + c * bytes;
      for (std::size_t line = 0; line < step * bytes; line += 64) prefetch(at + sideBySide * stride + line);
      const auto pair = loadPair<S, T>(at);
      sums[r][0] = S::multiplyAdd(pair.first, first, sums[r][0]);
      sums[r][1] = S::multiplyAdd(pair.second, second, sums[r][1]);
    }
  }
  for (std::size_t r = 0; r < sideBySide; r++) {
    y[r] = S::sum(S::add(sums[r][0], sums[r][1]));
    for (std::size_t rest = c; rest < columns; rest++) {
      y[r] += weightAt<T>(rows + r * stride + rest * bytes) * x[rest];
    }
  }
}

/** @tparam SideBySide see fasterSideBySide */
template <class S, Type T, bool SideBySide>
void matvecFloat(const Rows& rows, const std::byte* activations, float* y) {
  const auto* x = reinterpret_cast<const float*>(activations);
  const std::size_t stride = rows.columns * formatOf(T).bytes;
  std::size_t r = 0;
  if constexpr (SideBySide) {
    for (; r + sideBySide <= rows.count; r += sideBySide) {
      dotFloatRows<S, T>(rows.data + r * stride, rows.columns, x, y + r);
    }
  }
  const auto dot = rows.columns > longRow ? dotFloatRow<S, T, true> : dotFloatRow<S, T, false>;
  for (; r < rows.count; r++) y[r] = dot(rows.data + r * stride, rows.columns, x);
}

}  // namespace
}  // namespace hearth
