#pragma once
#include <immintrin.h>

#include <cstddef>

#include "../shared/matmul_float.hpp"

namespace hearth {
namespace {

/** Swaps rows and columns of 16 by 16 floats. */
inline void transpose16(__m512 (&rows)[16]) {
  __m512 pairs[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  __m512 fours[16];
  for (int i = 0; i < 16; i += 4) {
    for (int half = 0; half < 2; half++) {
      const __m512d first = _mm512_castps_pd(pairs[i + half]);
      const __m512d second = _mm512_castps_pd(pairs[i + 2 + half]);
      fours[i + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(first, second));
      fours[i + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(first, second));
    }
  }
  // fours[4·g + c] has, in each 128-bit lane l, column 4·l + c of the rows 4·g to 4·g + 3.
  for (int c = 0; c < 4; c++) {
    const __m512 low02 = _mm512_shuffle_f32x4(fours[c], fours[4 + c], 0x88);
    const __m512 low13 = _mm512_shuffle_f32x4(fours[c], fours[4 + c], 0xdd);
    const __m512 high02 = _mm512_shuffle_f32x4(fours[8 + c], fours[12 + c], 0x88);
    const __m512 high13 = _mm512_shuffle_f32x4(fours[8 + c], fours[12 + c], 0xdd);
    rows[c] = _mm512_shuffle_f32x4(low02, high02, 0x88);
    rows[8 + c] = _mm512_shuffle_f32x4(low02, high02, 0xdd);
    rows[4 + c] = _mm512_shuffle_f32x4(low13, high13, 0x88);
    rows[12 + c] = _mm512_shuffle_f32x4(low13, high13, 0xdd);
  }
}

/** scatterSums for rows of 32 lanes, sixteen rows and tokens at a time. */
inline void scatterTransposed(const float* sums, std::size_t rows, std::size_t tokens, float* out,
                              std::size_t outStride) {
  constexpr std::size_t lanes = 32;
  std::size_t r = 0;
  for (; r + 16 <= rows; r += 16) {
    for (std::size_t begin = 0; begin < tokens; begin += 16) {
      __m512 block[16];
      for (std::size_t i = 0; i < 16; i++) block[i] = _mm512_loadu_ps(sums + (r + i) * lanes + begin);
      transpose16(block);
      const std::size_t count = tokens - begin < 16 ? tokens - begin : 16;
      for (std::size_t t = 0; t < count; t++) _mm512_storeu_ps(out + (begin + t) * outStride + r, block[t]);
    }
  }
  scatterSums(sums + r * lanes, rows - r, lanes, tokens, out + r, outStride);
}

}  // namespace
}  // namespace hearth
