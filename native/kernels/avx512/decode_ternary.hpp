#pragma once
#include "decode_k_quants.hpp"
#include "simd.hpp"

/** Decoders of the ternary formats: superblocks of one scale. */
namespace hearth {
namespace {

/** The upper digit of each byte in base 3: 0, 1 or 2. */
inline __m512i upperDigits(__m512i bytes) {
  const __m512i one = _mm512_set1_epi8(1);
  const __m512i first = _mm512_maskz_mov_epi8(_mm512_cmpgt_epu8_mask(bytes, _mm512_set1_epi8(85)), one);
  return _mm512_mask_add_epi8(first, _mm512_cmpgt_epu8_mask(bytes, _mm512_set1_epi8(static_cast<char>(170))), first,
                              one);
}

template <>
inline void decodeSuperblock<Type::TQ1_0>(const std::uint8_t* block, __m512i (&out)[4]) {
  // 32, 16 and 4 bytes whose digits are together; of the last, four.
  __m512i rest = _mm512_maskz_loadu_epi8((std::uint64_t{1} << 52) - 1, block);
  __m512i digits[5];
  for (auto& digit : digits) {
    digit = upperDigits(rest);
    rest = _mm512_add_epi8(rest, _mm512_add_epi8(rest, rest));
  }
  const auto low = [&digits](int n) { return _mm512_castsi512_si256(digits[n]); };
  const auto sixteen = [&digits](int n) { return _mm512_extracti32x4_epi32(digits[n], 2); };
  const auto four = [&digits](int n) { return _mm512_extracti32x4_epi32(digits[n], 3); };
  out[0] = join(low(0), low(1));
  out[1] = join(low(2), low(3));
  out[2] = join(low(4), _mm256_set_m128i(sixteen(1), sixteen(0)));
  const __m128i last = _mm_unpacklo_epi64(_mm_unpacklo_epi32(four(0), four(1)), _mm_unpacklo_epi32(four(2), four(3)));
  out[3] = join(_mm256_set_m128i(sixteen(3), sixteen(2)), _mm256_set_m128i(last, sixteen(4)));
}

/** In the order of the pairs of bits of Q2_K, which is that of chunkOrder. */
template <>
inline void decodeSuperblock<Type::TQ2_0>(const std::uint8_t* block, __m512i (&out)[4]) {
  decodePairs(block, out);
}

/** Eight scales of one, and zeros. */
template <>
inline __m128i packedScales<Type::TQ1_0>(const std::uint8_t*) {
  return _mm_move_epi64(_mm_set1_epi8(1));
}
template <>
inline __m128i packedScales<Type::TQ2_0>(const std::uint8_t*) {
  return _mm_move_epi64(_mm_set1_epi8(1));
}

template <>
inline __m128 scaleAndMinimum<Type::TQ1_0>(const std::uint8_t* block) {
  return _mm_cvtph_ps(_mm_cvtsi32_si128(load16(block + 52)));
}
template <>
inline __m128 scaleAndMinimum<Type::TQ2_0>(const std::uint8_t* block) {
  return _mm_cvtph_ps(_mm_cvtsi32_si128(load16(block + 64)));
}

}  // namespace
}  // namespace hearth
