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

/**
 * Places of a unit's weights in a block of TQ1_0, and the powers of three that make their digit the uppermost. The
 * first 32 bytes have the digits of five chunks, the next 16 those of half chunks, and the last four four of four.
 */
struct TernaryUnit {
  alignas(64) std::int32_t fours[4][16];
  alignas(64) std::uint16_t powers[4][32];

  constexpr TernaryUnit() : fours{}, powers{} {
    constexpr std::uint16_t powersOfThree[5] = {1, 3, 9, 27, 81};
    for (std::size_t i = 0; i < 4 * 16; i++) {
      const std::size_t part = i / 16;
      const std::size_t sum = i % 16;
      const std::size_t chunk = sum / 2;
      const std::size_t four = 2 * part + sum % 2;
      const bool last = chunk == 7 && four >= 4;
      const std::size_t from = chunk < 5 ? four : last ? 12 : 8 + four % 4;
      const std::size_t digit = chunk < 5 ? chunk : last ? four - 4 : 2 * (chunk - 5) + four / 4;
      fours[part][sum] = static_cast<std::int32_t>(from);
      powers[part][2 * sum] = powers[part][2 * sum + 1] = powersOfThree[digit];
    }
  }
};

/** Three less the digits, times 64. */
template <>
inline void decodeUnit<Type::TQ1_0>(const std::uint8_t* block, __m512i (&out)[4]) {
  static constexpr TernaryUnit unit;
  const __m512i bytes = _mm512_maskz_loadu_epi8((std::uint64_t{1} << 52) - 1, block);
  const __m512i upper = _mm512_set1_epi16(static_cast<short>(0xff00));
  const __m512i ones = _mm512_set1_epi8(-1);
  for (int i = 0; i < 4; i++) {
    const __m512i from = _mm512_permutexvar_epi32(_mm512_load_si512(unit.fours[i]), bytes);
    const __m512i power = _mm512_load_si512(unit.powers[i]);
    const __m512i even = _mm512_mullo_epi16(from, power);
    const __m512i odd = _mm512_mullo_epi16(_mm512_and_si512(from, upper), power);
    // The complement c of odd bytes' products and even ones'; ⌊(3 c + 258)/4⌋ reaches 128 at 85 and 192 at 170.
    const __m512i complement = _mm512_ternarylogic_epi32(upper, odd, even, 0x35);
    const __m512i scaled = _mm512_avg_epu8(complement, _mm512_avg_epu8(complement, ones));
    out[i] = _mm512_and_si512(scaled, _mm512_set1_epi8(static_cast<char>(0xc0)));
  }
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

/** A weight is the scale times the digit less one. */
template <>
inline Factors<Type::TQ1_0> factorsOf<Type::TQ1_0>(const std::uint8_t* block) {
  const __m256 scale = _mm256_broadcastss_ps(scaleAndMinimum<Type::TQ1_0>(block));
  return {{_mm256_mul_ps(scale, _mm256_set1_ps(-1.0f / 64))}, {_mm256_mul_ps(scale, _mm256_set1_ps(-2))}};
}
template <>
inline Factors<Type::TQ2_0> factorsOf<Type::TQ2_0>(const std::uint8_t* block) {
  const __m256 scale = _mm256_broadcastss_ps(scaleAndMinimum<Type::TQ2_0>(block));
  return {{_mm256_mul_ps(scale, _mm256_broadcast_ps(reinterpret_cast<const __m128*>(partsOfPairs)))}, {scale}};
}

}  // namespace
}  // namespace hearth
