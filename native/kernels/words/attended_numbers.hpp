#pragma once
#include <immintrin.h>

#include "../avx512/simd.hpp"
#include "../table.hpp"

/** Queries, keys and values as the products of attention.hpp take them: vectors of whole numbers with factors. */
namespace hearth {
namespace {

inline constexpr std::size_t lanesOfVector = 16;
/**
 * The length of queries and of keys in whole numbers, and the sum of a row's weights. No sum of products of queries and
 * keys exceeds the product of both lengths, which is below 2³⁰, even with half a unit more or less in each of 256
 * dimensions, nor does the sum of weighted values, which are at most 2¹⁴.
 */
inline constexpr float wholeLength = 32000;

/** Pairs of two vectors' lanes, rounded to whole numbers of 16 bits: [first[0], second[0], first[1], …]. */
inline __m512i wholePairs(__m512 first, __m512 second) {
  const __m512i high = _mm512_slli_epi32(_mm512_cvtps_epi32(second), 16);
  return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_cvtps_epi32(first), high);
}

/** A dimension of a block's keys at sixteen positions from `position` on. */
template <Type T>
inline __m512 keysAt(const std::uint8_t* keys, std::size_t dimension, std::size_t position) {
  if constexpr (T == Type::F16) {
    return Avx512::loadHalf(keys + 2 * (dimension * positionBlock + position));
  } else {
    constexpr std::size_t half = cacheGroup / 2;
    const std::uint8_t* group = keys + dimension / cacheGroup * groupBytes(T);
    const std::size_t own = dimension % cacheGroup;
    const std::uint8_t* quants = group + scalesBytes + position;
    const __m512 scales = Avx512::loadHalf(group + 2 * position);
    if constexpr (T == Type::Q8_0) return _mm512_mul_ps(Avx512::loadBytes(quants + own * positionBlock), scales);
    const std::uint8_t* at = quants + own % half * positionBlock;
    return _mm512_mul_ps(own < half ? Avx512::loadLowNibbles(at) : Avx512::loadHighNibbles(at), scales);
  }
}

/** Factors that give vectors the length wholeLength, and factors back, above zero, or NaN if a number is not finite. */
struct WholeFactors {
  __m512 to;
  __m512 back;
};
inline WholeFactors wholeFactors(__m512 squares) {
  const __m512 length = _mm512_sqrt_ps(squares);
  const __mmask16 some = _mm512_cmp_ps_mask(length, _mm512_set1_ps(1e-30f), _CMP_GT_OQ);
  const __m512 to = _mm512_maskz_div_ps(some, _mm512_set1_ps(wholeLength), length);
  const __m512 back = _mm512_mask_mul_ps(_mm512_set1_ps(1), some, length, _mm512_set1_ps(1 / wholeLength));
  return {to, _mm512_fmadd_ps(length, _mm512_setzero_ps(), back)};
}

/** A block's keys as whole numbers, and their factors. Those of positions that are not used are anything. */
template <Type T>
void wholeKeys(const std::uint8_t* keys, std::size_t size, std::uint16_t* to, float* factors) {
  constexpr std::size_t vectors = positionBlock / lanesOfVector;
  __m512 squares[vectors]{};
  for (std::size_t d = 0; d < size; d++) {
    for (std::size_t v = 0; v < vectors; v++) {
      const __m512 key = keysAt<T>(keys, d, v * lanesOfVector);
      squares[v] = _mm512_fmadd_ps(key, key, squares[v]);
    }
  }
  WholeFactors factor[vectors];
  for (std::size_t v = 0; v < vectors; v++) {
    factor[v] = wholeFactors(squares[v]);
    _mm512_store_ps(factors + v * lanesOfVector, factor[v].back);
  }
  for (std::size_t d = 0; d < size; d += 2) {
    for (std::size_t v = 0; v < vectors; v++) {
      const __m512 first = _mm512_mul_ps(keysAt<T>(keys, d, v * lanesOfVector), factor[v].to);
      const __m512 second = _mm512_mul_ps(keysAt<T>(keys, d + 1, v * lanesOfVector), factor[v].to);
      _mm512_storeu_si512(to + d * positionBlock + 2 * v * lanesOfVector, wholePairs(first, second));
    }
  }
}

/** A query times `scale` as whole numbers. @return its factor */
inline float wholeQuery(const float* x, float scale, std::size_t size, std::uint16_t* to) {
  const __m512 by = _mm512_set1_ps(scale);
  __m512 squares = _mm512_setzero_ps();
  for (std::size_t i = 0; i < size; i += lanesOfVector) {
    const __m512 part = _mm512_mul_ps(_mm512_loadu_ps(x + i), by);
    squares = _mm512_fmadd_ps(part, part, squares);
  }
  const WholeFactors factor = wholeFactors(_mm512_set1_ps(_mm512_reduce_add_ps(squares)));
  for (std::size_t i = 0; i < size; i += lanesOfVector) {
    const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(x + i), by);
    const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(scaled, factor.to));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm512_cvtepi32_epi16(whole));
  }
  return _mm512_cvtss_f32(factor.back);
}

/** Sixteen dimensions of a position's values from `dimension` on. */
template <Type T>
inline __m512 valuesAt(const std::uint8_t* values, std::size_t size, std::size_t position, std::size_t dimension) {
  if constexpr (T == Type::F16) {
    return Avx512::loadHalf(values + 2 * (position * size + dimension));
  } else {
    const std::uint8_t* group = values + dimension / cacheGroup * groupBytes(T);
    const __m512 scale = _mm512_set1_ps(halfAt(group + 2 * position));
    const std::uint8_t* quants = group + scalesBytes;
    if constexpr (T == Type::Q8_0) {
      return _mm512_mul_ps(Avx512::loadBytes(quants + position * cacheGroup + dimension % cacheGroup), scale);
    } else {
      const std::uint8_t* at = quants + position * (cacheGroup / 2);
      const bool low = dimension % cacheGroup == 0;
      return _mm512_mul_ps(low ? Avx512::loadLowNibbles(at) : Avx512::loadHighNibbles(at), scale);
    }
  }
}

/** A value's largest number becomes 2¹³ to 2¹⁴: a power of two keeps all bits of the largest values in F16. */
inline constexpr float valueExponent = 13;

/** Factors for a position's values, by the largest and the sum of their squares, which says whether all are finite. */
inline WholeFactors valueFactors(float most, float squares) {
  if (!(squares < __builtin_inff())) return {_mm512_setzero_ps(), _mm512_set1_ps(__builtin_nanf(""))};
  const __m512 one = _mm512_set1_ps(1);
  if (!(most > 1e-30f)) return {_mm512_setzero_ps(), one};
  const __m512 exponent = _mm512_sub_ps(_mm512_set1_ps(valueExponent), _mm512_getexp_ps(_mm512_set1_ps(most)));
  return {_mm512_scalef_ps(one, exponent), _mm512_scalef_ps(one, _mm512_sub_ps(_mm512_setzero_ps(), exponent))};
}

/**
 * The values of a block's first `count` positions as whole numbers, and their factors; the last position of an odd number
 * is paired with zeros. Factors of other positions are anything.
 */
template <Type T>
void wholeValues(const std::uint8_t* values, std::size_t size, std::size_t count, std::uint16_t* to, float* factors) {
  const auto factorsOf = [=](std::size_t position) {
    __m512 squares = _mm512_setzero_ps();
    __m512 most = _mm512_setzero_ps();
    for (std::size_t d = 0; d < size; d += lanesOfVector) {
      const __m512 part = valuesAt<T>(values, size, position, d);
      squares = _mm512_fmadd_ps(part, part, squares);
      most = _mm512_max_ps(most, _mm512_abs_ps(part));
    }
    const WholeFactors found = valueFactors(_mm512_reduce_max_ps(most), _mm512_reduce_add_ps(squares));
    factors[position] = _mm512_cvtss_f32(found.back);
    return found.to;
  };
  for (std::size_t position = 0; position < count; position += 2) {
    const bool isPair = position + 1 < count;
    const __m512 first = factorsOf(position);
    const __m512 second = isPair ? factorsOf(position + 1) : _mm512_setzero_ps();
    for (std::size_t d = 0; d < size; d += lanesOfVector) {
      const __m512 other = isPair ? valuesAt<T>(values, size, position + 1, d) : _mm512_setzero_ps();
      const __m512i pairs =
          wholePairs(_mm512_mul_ps(valuesAt<T>(values, size, position, d), first), _mm512_mul_ps(other, second));
      _mm512_storeu_si512(to + position * size + 2 * d, pairs);
    }
  }
}

}  // namespace
}  // namespace hearth
