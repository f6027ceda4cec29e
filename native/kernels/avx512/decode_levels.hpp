#pragma once
#include "../../formats/i_quants.hpp"
#include "decode_lattices.hpp"
#include "decode_blocks.hpp"
#include "decode_k_quants.hpp"

/** Decoders of the I-quants in superblocks, whose chunks are in natural order. */
namespace hearth {
namespace {

template <>
inline void decodeSuperblock<Type::IQ4_XS>(const std::uint8_t* block, __m512i (&out)[4]) {
  const std::uint8_t* packed = block + 8;
  for (int part = 0; part < 4; part++) {
    out[part] = iq4LevelsOf(nibblesOf(packed + 32 * part, packed + 32 * part + 16));
  }
}

template <>
inline void decodeUnit<Type::IQ4_XS>(const std::uint8_t* block, __m512i (&out)[4]) {
  decodeNibblePairs(load512(block + 8), load512(block + 72), out);
  for (__m512i& weights : out) weights = iq4LevelsOf(weights);
}

/** Eight scales from −32 to 31, and zeros. */
template <>
inline __m128i packedScales<Type::IQ4_XS>(const std::uint8_t* block) {
  const __m128i nibbles = _mm_cvtsi32_si128(static_cast<int>(load32(block + 4)));
  const __m128i low = _mm_unpacklo_epi8(nibbles, _mm_srli_epi16(nibbles, 4));
  const std::uint64_t pairs = _pdep_u64(load16(block + 2), 0x3030303030303030u);
  const __m128i high = _mm_cvtsi64_si128(static_cast<long long>(pairs));
  const __m128i six = _mm_or_si128(_mm_and_si128(low, _mm_set1_epi8(15)), high);
  return _mm_move_epi64(_mm_sub_epi8(six, _mm_set1_epi8(32)));
}

template <>
inline __m128 scaleAndMinimum<Type::IQ4_XS>(const std::uint8_t* block) {
  return _mm_cvtph_ps(_mm_cvtsi32_si128(load16(block)));
}

}  // namespace
}  // namespace hearth
