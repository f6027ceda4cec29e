#pragma once
#include "../shared/activations.hpp"
#include "decode.hpp"
#include "dot_order.hpp"
#include "dot_side_by_side.hpp"

/**
 * Dot products of rows of the ternary formats, whose weights all have their superblock's scale. Those of activations are
 * whole numbers of a unit, so that products of all chunks are added up before they leave the integers.
 */
namespace hearth {
namespace {

/** Scales of a superblock's activations: stands in Activations::laneScales. */
struct WholeScales {
  /** Scale of each chunk, twice in a word. */
  std::int32_t scales[8];
  /** Starting values of sums: what a zero point of one adds to them. */
  std::int32_t starts[8];
  float unit;
  float unused[15];
};

inline const WholeScales& wholeScalesOf(const Activations& x, std::size_t index) {
  return reinterpret_cast<const WholeScales*>(x.laneScales)[index];
}

/**
 * Writes WholeScales. The unit is a power of two, by which a superblock's largest scale is 2048 to 4096: an activation
 * moves by at most 1/4096 of the superblock's largest, where rounding to bytes moves it by up to 1/254 of its chunk's.
 * A chunk whose weights are not four times as large as others' (isRaised) has a scale that is.
 */
inline void setWholeScales(Type type, const Activations& x, std::size_t columns) {
  const __m256i raise = isRaised(type) ? _mm256_setr_epi32(2, 0, 2, 0, 2, 0, 2, 0) : _mm256_set1_epi32(2);
  for (std::size_t i = 0; i < columns / 256; i++) {
    auto& out = reinterpret_cast<WholeScales*>(x.laneScales)[i];
    // By its bits, among which NaN is above infinity and so isn't lost.
    std::uint32_t largest = 0;
    for (std::size_t chunk = 0; chunk < 8; chunk++) {
      const std::uint32_t bits = floatToBits(x.scales[8 * i + chunk]);
      largest = bits > largest ? bits : largest;
    }
    const float unit = bitsToFloat(largest & 0x7f800000u) / 2048;
    const __m256 quotients = _mm256_div_ps(_mm256_loadu_ps(x.scales + 8 * i), _mm256_set1_ps(unit));
    const __m256i whole = _mm256_cvtps_epi32(quotients);
    const __m256i raised = _mm256_sllv_epi32(whole, raise);
    store256(out.scales, _mm256_or_si256(raised, _mm256_slli_epi32(raised, 16)));
    alignas(32) std::int32_t fourfold[8];
    store256(fourfold, _mm256_slli_epi32(whole, 2));
    static_assert(formatOf(Type::TQ1_0).zeroPoint == 1 && formatOf(Type::TQ2_0).zeroPoint == 1);
    __m256i starts = _mm256_setzero_si256();
    for (std::size_t chunk = 0; chunk < 8; chunk++) {
      const __m256i corrections = load256(x.corrections + 64 * i + 8 * chunk);
      starts = _mm256_add_epi32(starts, _mm256_mullo_epi32(corrections, _mm256_set1_epi32(fourfold[chunk])));
    }
    store256(out.starts, starts);
    // Not a number where the largest scale isn't finite.
    out.unit = unit / 4 + 0 * unit;
  }
}

/** sums[row][token] += the products of the index-th superblocks of `Count` rows and `Tokens` tokens. */
template <Type T, std::size_t Count, std::size_t Tokens>
[[gnu::always_inline]] inline void addTernary(__m256 (&sums)[Count][Tokens], const std::uint8_t* rows, std::size_t stride,
                                              const Activations (&x)[Tokens], std::size_t index) {
  TernaryChunks<T> chunks[Count];
  forEach<Count>([&](auto r) { chunks[r].block = rows + r * stride + index * formatOf(T).bytes; });
  __m256i dots[Count][Tokens];
  forEach<8>([&](auto chunk) {
    __m256i weights[Count];
    forEach<Count>([&](auto r) { weights[r] = chunks[r].template next<chunk>(); });
    forEach<Tokens>([&](auto t) {
      const __m256i values = load256(x[t].high + 256 * index + 32 * chunk);
      const __m256i scale = _mm256_set1_epi32(wholeScalesOf(x[t], index).scales[chunk]);
      forEach<Count>([&](auto r) {
        const __m256i scaled = _mm256_madd_epi16(_mm256_maddubs_epi16(weights[r], values), scale);
        dots[r][t] = _mm256_add_epi32(chunk == 0 ? load256(wholeScalesOf(x[t], index).starts) : dots[r][t], scaled);
        // Compilers would otherwise reorder sums until no registers are left.
        asm("" : "+x"(dots[r][t]));
      });
    });
  });
  forEach<Tokens>([&](auto t) {
    const __m256 unit = _mm256_set1_ps(wholeScalesOf(x[t], index).unit);
    forEach<Count>([&](auto r) {
      const __m256 scale = _mm256_mul_ps(unit, _mm256_set1_ps(halfAt(chunks[r].block + scalePlace(T))));
      sums[r][t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[r][t]), scale, sums[r][t]);
    });
  });
}

template <Type T, std::size_t Count, std::size_t Tokens>
[[gnu::flatten]] inline void dotTernary(const std::uint8_t* rows, std::size_t stride, std::size_t ahead,
                                        const Activations (&x)[Tokens], std::size_t columns, float* y,
                                        std::size_t yStride) {
  const auto add = [&](auto& sums, std::size_t i) __attribute__((always_inline)) {
    addTernary<T>(sums, rows, stride, x, i);
  };
  dotSideBySide<T, Count, Tokens>(rows, stride, ahead, columns, y, yStride, add);
}

}  // namespace
}  // namespace hearth
