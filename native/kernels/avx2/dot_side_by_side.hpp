#pragma once
#include "../../formats/formats.hpp"
#include "../shared/for_each.hpp"
#include "../shared/streams.hpp"
#include "simd.hpp"

namespace hearth {
namespace {

/**
 * y[token·yStride + row] of `Count` rows and `Tokens` tokens, which are the same, bit by bit, whatever their numbers.
 * @param add (sums[row][token], index): adds the products of the rows' index-th blocks
 */
template <Type T, std::size_t Count, std::size_t Tokens, class Add>
[[gnu::always_inline]] inline void dotSideBySide(const std::uint8_t* rows, std::size_t stride, std::size_t ahead,
                                                 std::size_t columns, float* y, std::size_t yStride, const Add& add) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  __m256 sums[Count][Tokens];
  // Not as loops, for which compilers would leave the sums in memory.
  forEach<Count>([&](auto r) { forEach<Tokens>([&](auto t) { sums[r][t] = _mm256_setzero_ps(); }); });
  for (std::size_t i = 0; i < columns / formatOf(T).block; i++) {
    for (std::size_t r = 0; r < Count; r++) prefetchLines(rows + r * stride + i * bytes + ahead, bytes);
    add(sums, i);
  }
  forEach<Count>([&](auto r) { forEach<Tokens>([&](auto t) { y[t * yStride + r] = Avx2::sum(sums[r][t]); }); });
}

}  // namespace
}  // namespace hearth
