#pragma once
#include "../table.hpp"
#include "streams.hpp"
#include "vector_math.hpp"

/** Dot products of F32, F16 and BF16 rows with exact activations. */
namespace hearth {
namespace {

/**
 * y of `Count` rows, prefetching the rows `ahead` bytes further on; a row's sum doesn't depend on `Count`.
 */
template <class S, Type T, std::size_t Count>
void dotFloatRows(const std::uint8_t* rows, std::size_t ahead, std::size_t columns, const float* x, float* y) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  constexpr std::size_t step = 2 * S::width;
  const std::size_t stride = columns * bytes;
  typename S::Floats sums[Count];
  for (auto& sum : sums) sum = S::set(0);
  std::size_t c = 0;
  for (; c + step <= columns; c += step) {
    const auto first = S::load(x + c);
    const auto second = S::load(x + c + S::width);
    for (std::size_t r = 0; r < Count; r++) {
      const std::uint8_t* at = rows + r * stride + c * bytes;
      prefetchLines(at + ahead, step * bytes);
      const auto pair = loadPair<S, T>(at);
      sums[r] = S::multiplyAdd(pair.first, first, sums[r]);
      sums[r] = S::multiplyAdd(pair.second, second, sums[r]);
    }
  }
  for (std::size_t r = 0; r < Count; r++) {
    y[r] = S::sum(sums[r]);
    for (std::size_t rest = c; rest < columns; rest++) {
      y[r] += weightAt<T>(rows + r * stride + rest * bytes) * x[rest];
    }
  }
}

template <class S, Type T>
void matvecFloat(const Rows& rows, const std::byte* activations, float* y) {
  const auto* x = reinterpret_cast<const float*>(activations);
  const std::size_t stride = rows.columns * formatOf(T).bytes;
  inGroups<S::floatStreams>(rows, stride, y, [&](const std::uint8_t* at, std::size_t ahead, float* out, auto count) {
    dotFloatRows<S, T, count>(at, ahead, rows.columns, x, out);
  });
}

}  // namespace
}  // namespace hearth
