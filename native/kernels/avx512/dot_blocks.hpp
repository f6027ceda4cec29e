#pragma once
#include "../shared/activations.hpp"
#include "../shared/streams.hpp"
#include "../shared/vector_math.hpp"
#include "../table.hpp"
#include "simd.hpp"

/**
 * Dot products of the formats of 32 weights per block, two blocks to a register. Matrix–vector products support formats
 * without a minimum; those with one use shared/dot_quantized.hpp.
 */
namespace hearth {
namespace {

/** Sixteen packed bytes of each block, low nibbles before high ones, as 64 numbers from 0 to 15. */
inline __m512i nibblesOf(const std::uint8_t* first, const std::uint8_t* second) {
  const __m512i twice = join(_mm256_broadcastsi128_si256(load128(first)), _mm256_broadcastsi128_si256(load128(second)));
  const __m512i shifts = _mm512_set_epi64(0x0004000400040004, 0x0004000400040004, 0, 0, 0x0004000400040004,
                                          0x0004000400040004, 0, 0);
  return _mm512_and_si512(_mm512_srlv_epi16(twice, shifts), _mm512_set1_epi8(15));
}

/** The 64 weights of two blocks as unsigned bytes, the zero point above zero; formats without it use shared kernels. */
template <Type T>
inline __m512i decodeBlocks(const std::uint8_t* first, const std::uint8_t* second) = delete;

template <>
inline __m512i decodeBlocks<Type::Q8_0>(const std::uint8_t* first, const std::uint8_t* second) {
  return _mm512_xor_si512(join(load256(first + 2), load256(second + 2)), _mm512_set1_epi8(-128));
}

template <>
inline __m512i decodeBlocks<Type::Q4_0>(const std::uint8_t* first, const std::uint8_t* second) {
  return nibblesOf(first + 2, second + 2);
}

template <>
inline __m512i decodeBlocks<Type::IQ4_NL>(const std::uint8_t* first, const std::uint8_t* second) {
  const __m128i levels = _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90, -75, -59, -39, -15);
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(levels), nibblesOf(first + 2, second + 2));
}

/** @tparam At byte of the block at which the fifth bits begin; the nibbles follow them. */
template <std::size_t At>
inline __m512i decodeFiveBits(const std::uint8_t* first, const std::uint8_t* second) {
  const __m512i low = nibblesOf(first + At + 4, second + At + 4);
  const __mmask64 high = static_cast<std::uint64_t>(load32(second + At)) << 32 | load32(first + At);
  return _mm512_mask_add_epi8(low, high, low, _mm512_set1_epi8(16));
}

template <>
inline __m512i decodeBlocks<Type::Q5_0>(const std::uint8_t* first, const std::uint8_t* second) {
  return decodeFiveBits<2>(first, second);
}

template <>
inline __m512i decodeBlocks<Type::Q5_1>(const std::uint8_t* first, const std::uint8_t* second) {
  return decodeFiveBits<4>(first, second);
}

/** Both blocks' scales, each in the eight lanes of its products. */
inline __m512 blockScales(const std::uint8_t* first, const std::uint8_t* second) {
  const __m128i low = _mm_set1_epi16(static_cast<short>(load16(first)));
  const __m128i high = _mm_set1_epi16(static_cast<short>(load16(second)));
  return _mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
}

/** Σ of weights·x as 32-bit integers for two blocks, in units of the activations' scale. */
template <Rounding R>
inline __m512i dotOfBlocks(__m512i weights, const Activations& x, std::size_t block) {
  const __m512i corrections = load512(x.corrections + 8 * block);
  if constexpr (R == Rounding::byte) return _mm512_dpbusd_epi32(corrections, weights, load512(x.high + 32 * block));
  const __m512i high = _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights, load512(x.high + 32 * block));
  const __m512i low = _mm512_dpbusd_epi32(corrections, weights, load512(x.low + 32 * block));
  return _mm512_add_epi32(_mm512_slli_epi32(high, 7), low);
}

/** sum + the product of a row's last block, which has no other beside it, and a token's activations of it. */
template <Rounding R>
inline __m512 addLastBlock(__m512 sum, const std::uint8_t* block, __m256i weights, const Activations& x,
                           std::size_t index) {
  __m256i dot = _mm256_dpbusd_epi32(R == Rounding::byte ? load256(x.corrections + 8 * index) : _mm256_setzero_si256(),
                                    weights, load256(x.high + 32 * index));
  if constexpr (R == Rounding::word) {
    const __m256i low = _mm256_dpbusd_epi32(load256(x.corrections + 8 * index), weights, load256(x.low + 32 * index));
    dot = _mm256_add_epi32(_mm256_slli_epi32(dot, 7), low);
  }
  const __m512 wide = _mm512_zextps256_ps512(_mm256_cvtepi32_ps(dot));
  return _mm512_fmadd_ps(wide, _mm512_set1_ps(halfAt(block) * x.scales[index]), sum);
}

/** The scales of a token's activations of two blocks, each in the eight lanes of its products. */
inline __m512 activationScales(const Activations& x, std::size_t block) {
  const __m512i spread = _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x.scales + block));
  return _mm512_castsi512_ps(_mm512_permutexvar_epi32(spread, _mm512_castsi128_si512(two)));
}

/** y of `Count` rows; activations are loaded once for all of them. */
template <Type T, Rounding R, std::size_t Count>
inline void dotBlocks(const std::uint8_t* rows, std::size_t stride, std::size_t ahead, const Activations& x,
                      std::size_t columns, float* y) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  const std::size_t blocks = columns / 32;
  __m512 sums[Count];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  std::size_t i = 0;
  for (; i + 2 <= blocks; i += 2) {
    const __m512 xScales = activationScales(x, i);
    for (std::size_t r = 0; r < Count; r++) {
      const std::uint8_t* first = rows + r * stride + i * bytes;
      const std::uint8_t* second = first + bytes;
      prefetch(first + ahead);
      const __m512 dot = _mm512_cvtepi32_ps(dotOfBlocks<R>(decodeBlocks<T>(first, second), x, i));
      sums[r] = _mm512_fmadd_ps(dot, _mm512_mul_ps(blockScales(first, second), xScales), sums[r]);
    }
  }
  if (i < blocks) {
    for (std::size_t r = 0; r < Count; r++) {
      const std::uint8_t* last = rows + r * stride + i * bytes;
      sums[r] = addLastBlock<R>(sums[r], last, _mm512_castsi512_si256(decodeBlocks<T>(last, last)), x, i);
    }
  }
  for (std::size_t r = 0; r < Count; r++) y[r] = _mm512_reduce_add_ps(sums[r]);
}

/** With fewer rows the processor waits for its own sums: with one it is a third slower (Q8_0). */
inline constexpr std::size_t blockStreams = 4;

template <Type T, Rounding R>
void matvecBlocks(const Rows& rows, const std::byte* activations, float* y) {
  const Activations x = activationsAt(activations, rows.columns);
  const std::size_t stride = rowBytes(T, rows.columns);
  inGroups<blockStreams>(rows, stride, y, [&](const std::uint8_t* at, std::size_t ahead, float* out, auto count) {
    dotBlocks<T, R, count>(at, stride, ahead, x, rows.columns, out);
  });
}

/** The products of one row and `Tokens` tokens, with the row unpacked once; those of dotBlocks, bit by bit. */
template <Type T, Rounding R, std::size_t Tokens>
inline void dotBlocksTokens(const std::uint8_t* row, std::size_t ahead, const Activations (&x)[Tokens],
                            std::size_t columns, float* y, std::size_t stride) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  const std::size_t blocks = columns / 32;
  __m512 sums[Tokens];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  std::size_t i = 0;
  for (; i + 2 <= blocks; i += 2) {
    const std::uint8_t* first = row + i * bytes;
    const std::uint8_t* second = first + bytes;
    prefetch(first + ahead);
    const __m512i weights = decodeBlocks<T>(first, second);
    const __m512 scales = blockScales(first, second);
    for (std::size_t t = 0; t < Tokens; t++) {
      const __m512 dot = _mm512_cvtepi32_ps(dotOfBlocks<R>(weights, x[t], i));
      sums[t] = _mm512_fmadd_ps(dot, _mm512_mul_ps(scales, activationScales(x[t], i)), sums[t]);
    }
  }
  if (i < blocks) {
    const std::uint8_t* last = row + i * bytes;
    const __m256i weights = _mm512_castsi512_si256(decodeBlocks<T>(last, last));
    for (std::size_t t = 0; t < Tokens; t++) sums[t] = addLastBlock<R>(sums[t], last, weights, x[t], i);
  }
  for (std::size_t t = 0; t < Tokens; t++) y[t * stride] = _mm512_reduce_add_ps(sums[t]);
}

template <Type T, Rounding R>
void matvecsBlocks(const Matvecs& p) {
  byTokens(p, [&](const std::uint8_t* row, std::size_t ahead, const auto& x, float* y) {
    dotBlocksTokens<T, R>(row, ahead, x, p.rows.columns, y, p.outStride);
  }, rowBytes(T, p.rows.columns));
}

}  // namespace
}  // namespace hearth
