#pragma once
#include "../shared/activations.hpp"
#include "decode.hpp"
#include "dot_side_by_side.hpp"

/**
 * Dot products of rows whose blocks of 32 weights have a scale and a minimum, side by side: those of four rows are
 * converted and multiplied with a scale and a sum of activations at once.
 */
namespace hearth {
namespace {

constexpr bool hasBlockMinimum(Type type) { return !isSuperblock(type) && formatOf(type).hasMinimum; }

/** A block's activations. Stands in Activations::laneScales. */
struct ScaleAndSum {
  float scale;
  float sum;
  float unused[2];
};

/** Writes ScaleAndSum. */
inline void setScalesAndSums(const Activations& x, std::size_t columns) {
  auto* out = reinterpret_cast<ScaleAndSum*>(x.laneScales);
  for (std::size_t i = 0; i < columns / 32; i++) out[i] = {x.scales[i], x.pairSums[i], {}};
}

/** The scales and minimums of the blocks of up to four rows, one after another. */
template <std::size_t Count>
inline __m256 scalesAndMinimums(const std::uint8_t* block, std::size_t stride) {
  __m128i halves = _mm_cvtsi32_si128(static_cast<int>(load32(block)));
  if constexpr (Count > 1) halves = _mm_insert_epi32(halves, static_cast<int>(load32(block + stride)), 1);
  if constexpr (Count > 2) halves = _mm_insert_epi32(halves, static_cast<int>(load32(block + 2 * stride)), 2);
  if constexpr (Count > 3) halves = _mm_insert_epi32(halves, static_cast<int>(load32(block + 3 * stride)), 3);
  return _mm256_cvtph_ps(halves);
}

/** y[token·yStride + row] of up to four rows whose blocks have minimums, and `Tokens` tokens. */
template <Type T, std::size_t Count, std::size_t Tokens>
[[gnu::flatten]] inline void dotWithMinimums(const std::uint8_t* rows, std::size_t stride, std::size_t ahead,
                                             const Activations (&x)[Tokens], std::size_t columns, float* y,
                                             std::size_t yStride) {
  // Sums of each row's minimums, in the second of its two lanes.
  __m256 added[Tokens];
  forEach<Tokens>([&](auto t) { added[t] = _mm256_setzero_ps(); });
  const auto add = [&](auto& sums, std::size_t i) __attribute__((always_inline)) {
    const std::uint8_t* block = rows + i * formatOf(T).bytes;
    const __m256 both = scalesAndMinimums<Count>(block, stride);
    __m256i weights[Count];
    forEach<Count>([&](auto r) { weights[r] = decodeBlock<T>(block + r * stride); });
    forEach<Tokens>([&](auto t) {
      const __m128i own = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x[t].laneScales + 4 * i));
      const __m256 scaled = _mm256_mul_ps(both, _mm256_castsi256_ps(_mm256_broadcastq_epi64(own)));
      added[t] = _mm256_add_ps(added[t], scaled);
      const __m256i values = load256(x[t].high + 32 * i);
      forEach<Count>([&](auto r) {
        const __m256i dot = _mm256_madd_epi16(_mm256_maddubs_epi16(weights[r], values), _mm256_set1_epi16(1));
        const __m256 factor = _mm256_permutevar8x32_ps(scaled, _mm256_set1_epi32(2 * r));
        sums[r][t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), factor, sums[r][t]);
      });
    });
  };
  dotSideBySide<T, Count, Tokens>(rows, stride, ahead, columns, y, yStride, add);
  forEach<Tokens>([&](auto t) {
    float lanes[8];
    _mm256_storeu_ps(lanes, added[t]);
    forEach<Count>([&](auto r) { y[t * yStride + r] += lanes[2 * r + 1]; });
  });
}

}  // namespace
}  // namespace hearth
