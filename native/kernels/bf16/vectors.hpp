#pragma once
#include <immintrin.h>

#include <cstddef>

#include "../../formats/half.hpp"

/** The vector instruction for products of bfloat16 (AVX512_BF16). */
namespace hearth {
namespace {

inline __m512bh bf16Of(__m512i bits) {
  __m512bh values;
  __builtin_memcpy(&values, &bits, sizeof values);
  return values;
}

/** sums, [R][32], += R rows of one block's width times V packs, over `blocks` consecutive blocks of each. */
template <std::size_t R, std::size_t V>
inline void addRows(const std::byte* rows, const std::byte* const (&packs)[2], std::size_t blocks, float* sums) {
  __m512 tile[R][V];
  for (std::size_t r = 0; r < R; r++) {
    for (std::size_t v = 0; v < V; v++) tile[r][v] = _mm512_loadu_ps(sums + (r * 2 + v) * 16);
  }
  for (std::size_t at = 0; at < 1024 * blocks; at += 64) {
    __m512bh tokens[V];
    for (std::size_t v = 0; v < V; v++) tokens[v] = bf16Of(_mm512_loadu_si512(packs[v] + at));
    // 64 bytes of a pack are a pair of columns of sixteen tokens; in each row that pair takes four bytes.
    const auto* pair = reinterpret_cast<const std::uint8_t*>(rows) + at / 1024 * 1024 + at % 1024 / 16;
    for (std::size_t r = 0; r < R; r++) {
      const __m512bh two = bf16Of(_mm512_set1_epi32(static_cast<int>(load32(pair + 64 * r))));
      for (std::size_t v = 0; v < V; v++) tile[r][v] = _mm512_dpbf16_ps(tile[r][v], two, tokens[v]);
    }
  }
  for (std::size_t r = 0; r < R; r++) {
    for (std::size_t v = 0; v < V; v++) _mm512_storeu_ps(sums + (r * 2 + v) * 16, tile[r][v]);
  }
}

/** Multiplier of matmulBf16: eight rows at a time, whose sums take half of the registers. */
struct VectorMultiplier {
  struct Session {};

  template <std::size_t V>
  static void multiply(const std::byte* weights, std::size_t tiles, std::size_t stride,
                       const std::byte* const (&packs)[2], std::size_t blocks, float* sums) {
    for (std::size_t tile = 0; tile < tiles; tile++) {
      addRows<8, V>(weights + tile * stride, packs, blocks, sums + tile * 16 * 32);
      addRows<8, V>(weights + tile * stride + 8 * 64, packs, blocks, sums + tile * 16 * 32 + 8 * 32);
    }
  }
};

}  // namespace
}  // namespace hearth
