#pragma once
#include "x86_loads.hpp"

/** The scales of K-quants in a register of 128 bits, for processors with AVX2. */
namespace hearth {
namespace {

/** Eight scales and then eight minimums of six bits each, from the twelve bytes of Q4_K and Q5_K. */
inline __m128i sixBitScales(const std::uint8_t* packed) {
  // Sixteen bytes from four bytes before the scales: the block's header is there, so nothing outside the block is read.
  const __m128i all = load128(packed - 4);
  const __m128i low = _mm_shuffle_epi8(all, _mm_setr_epi8(4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15));
  const __m128i high = _mm_shuffle_epi8(all, _mm_setr_epi8(-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11));
  const __m128i kept = _mm_and_si128(_mm_srlv_epi32(low, _mm_setr_epi32(0, 0, 0, 4)),
                                     _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
  return _mm_or_si128(kept, _mm_and_si128(_mm_srli_epi32(high, 2), _mm_set1_epi8(0x30)));
}

/** The sixteen scales of Q3_K, from −32 to 31. */
inline __m128i q3Scales(const std::uint8_t* packed) {
  const std::uint32_t a = load32(packed);
  const std::uint32_t b = load32(packed + 4);
  const std::uint32_t c = load32(packed + 8);
  const auto part = [c](std::uint32_t low, int shift) {
    return static_cast<int>((low & 0x0f0f0f0fu) | (c >> shift & 0x03030303u) << 4);
  };
  const __m128i above = _mm_setr_epi32(part(a, 0), part(b, 2), part(a >> 4, 4), part(b >> 4, 6));
  return _mm_sub_epi8(above, _mm_set1_epi8(32));
}

}  // namespace
}  // namespace hearth
