#pragma once
#include "../../formats/i_quants.hpp"
#include "../shared/activations.hpp"
#include "../shared/streams.hpp"
#include "../shared/vector_math.hpp"
#include "../table.hpp"
#include "simd.hpp"

/** Dot products of the formats of 32 weights per block, two blocks to a register. */
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
inline __m512i decodeBlocks<Type::Q4_1>(const std::uint8_t* first, const std::uint8_t* second) {
  return nibblesOf(first + 4, second + 4);
}

template <>
inline __m512i decodeBlocks<Type::MXFP4>(const std::uint8_t* first, const std::uint8_t* second) {
  const __m128i levels = _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(levels), nibblesOf(first + 1, second + 1));
}

/** The levels of IQ4_NL and IQ4_XS, 128 above. */
inline __m512i iq4LevelsOf(__m512i nibbles) {
  const __m128i levels = _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90, -75, -59, -39, -15);
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(levels), nibbles);
}

template <>
inline __m512i decodeBlocks<Type::IQ4_NL>(const std::uint8_t* first, const std::uint8_t* second) {
  return iq4LevelsOf(nibblesOf(first + 2, second + 2));
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

template <Type T>
inline float blockScale(const std::uint8_t* block) {
  return T == Type::MXFP4 ? halfPowerOfTwo(block[0]) : halfAt(block);
}

/** Two numbers, each in the eight lanes of a block's products. */
inline __m512 inHalves(float first, float second) {
  return _mm512_mask_broadcastss_ps(_mm512_set1_ps(first), 0xff00, _mm_set_ss(second));
}

/** Two blocks' scales, in the lanes of their products, and their minimums, in lanes 1 and 3; these are added. */
struct BlockFactors {
  __m512 scales;
  __m128 minimums;
};

template <Type T>
inline BlockFactors blockFactors(const std::uint8_t* first, const std::uint8_t* second) {
  if constexpr (T == Type::MXFP4) {
    return {inHalves(halfPowerOfTwo(first[0]), halfPowerOfTwo(second[0])), _mm_setzero_ps()};
  } else if constexpr (formatOf(T).hasMinimum) {
    const auto lanes = [](std::uint32_t two) { return _mm_cvtsi32_si128(static_cast<int>(two)); };
    const __m128 four = _mm_cvtph_ps(_mm_unpacklo_epi32(lanes(load32(first)), lanes(load32(second))));
    const __m512i spread = _mm512_set_epi32(2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0);
    return {_mm512_permutexvar_ps(spread, _mm512_castps128_ps512(four)), four};
  } else {
    const __m128i low = _mm_set1_epi16(static_cast<short>(load16(first)));
    const __m128i high = _mm_set1_epi16(static_cast<short>(load16(second)));
    return {_mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1)), _mm_setzero_ps()};
  }
}

/** A row's products with a token's activations: those of weights without minimums, and those of minimums. */
struct RowSum {
  __m512 products = _mm512_setzero_ps();
  __m128 minimums = _mm_setzero_ps();

  [[nodiscard]] float total() const {
    const __m128 both = _mm_add_ss(_mm_movehdup_ps(minimums), _mm_shuffle_ps(minimums, minimums, 3));
    return _mm512_reduce_add_ps(products) + _mm_cvtss_f32(both);
  }
};

/** The scales of a token's activations of two blocks, each in the eight lanes of its products. */
inline __m512 activationScales(const Activations& x, std::size_t block) {
  const __m512i spread = _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x.scales + block));
  return _mm512_castsi512_ps(_mm512_permutexvar_epi32(spread, _mm512_castsi128_si512(two)));
}

/** A token's activations of two blocks. */
template <Type T, Rounding R>
struct BlockActivations {
  __m512i high;
  /** Of Rounding::word only. */
  __m512i low;
  __m512i corrections;
  __m512 scales;
  /** Their sums in lanes 1 and 3. */
  __m128 sums;

  BlockActivations(const Activations& x, std::size_t block)
      : high(load512(x.high + 32 * block)),
        low(R == Rounding::word ? load512(x.low + 32 * block) : _mm512_setzero_si512()),
        corrections(load512(x.corrections + 8 * block)), scales(activationScales(x, block)), sums(_mm_setzero_ps()) {
    if constexpr (formatOf(T).hasMinimum) {
      const __m128i pair = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x.pairSums + block));
      sums = _mm_castsi128_ps(_mm_unpacklo_epi32(_mm_setzero_si128(), pair));
    }
  }
};

template <Type T, Rounding R>
inline void addBlocks(RowSum& sum, __m512i weights, const BlockFactors& factors, const BlockActivations<T, R>& x) {
  __m512i dot = _mm512_dpbusd_epi32(R == Rounding::byte ? x.corrections : _mm512_setzero_si512(), weights, x.high);
  if constexpr (R == Rounding::word) {
    const __m512i low = _mm512_dpbusd_epi32(x.corrections, weights, x.low);
    dot = _mm512_add_epi32(_mm512_slli_epi32(dot, 7), low);
  }
  sum.products = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_mul_ps(factors.scales, x.scales), sum.products);
  if constexpr (formatOf(T).hasMinimum) sum.minimums = _mm_fmadd_ps(factors.minimums, x.sums, sum.minimums);
}

/** Adds the product of a row's last block, which has no other beside it, and a token's activations of it. */
template <Type T, Rounding R>
inline void addLastBlock(RowSum& sum, const std::uint8_t* block, __m256i weights, const Activations& x,
                         std::size_t index) {
  const __m256i corrections = load256(x.corrections + 8 * index);
  __m256i dot = _mm256_dpbusd_epi32(R == Rounding::byte ? corrections : _mm256_setzero_si256(), weights,
                                    load256(x.high + 32 * index));
  if constexpr (R == Rounding::word) {
    const __m256i low = _mm256_dpbusd_epi32(corrections, weights, load256(x.low + 32 * index));
    dot = _mm256_add_epi32(_mm256_slli_epi32(dot, 7), low);
  }
  const __m512 wide = _mm512_zextps256_ps512(_mm256_cvtepi32_ps(dot));
  sum.products = _mm512_fmadd_ps(wide, _mm512_set1_ps(blockScale<T>(block) * x.scales[index]), sum.products);
  if constexpr (formatOf(T).hasMinimum) {
    sum.minimums = _mm_fmadd_ps(_mm_set1_ps(halfAt(block + 2)), _mm_setr_ps(0, x.pairSums[index], 0, 0), sum.minimums);
  }
}

/** y of `Count` rows; activations are loaded once for all of them. */
template <Type T, Rounding R, std::size_t Count>
inline void dotBlocks(const std::uint8_t* rows, std::size_t stride, std::size_t ahead, const Activations& x,
                      std::size_t columns, float* y) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  const std::size_t blocks = columns / 32;
  RowSum sums[Count];
  std::size_t i = 0;
  for (; i + 2 <= blocks; i += 2) {
    const BlockActivations<T, R> activations(x, i);
    for (std::size_t r = 0; r < Count; r++) {
      const std::uint8_t* first = rows + r * stride + i * bytes;
      const std::uint8_t* second = first + bytes;
      prefetch(first + ahead);
      addBlocks<T, R>(sums[r], decodeBlocks<T>(first, second), blockFactors<T>(first, second), activations);
    }
  }
  if (i < blocks) {
    for (std::size_t r = 0; r < Count; r++) {
      const std::uint8_t* last = rows + r * stride + i * bytes;
      addLastBlock<T, R>(sums[r], last, _mm512_castsi512_si256(decodeBlocks<T>(last, last)), x, i);
    }
  }
  for (std::size_t r = 0; r < Count; r++) y[r] = sums[r].total();
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
  RowSum sums[Tokens];
  std::size_t i = 0;
  for (; i + 2 <= blocks; i += 2) {
    const std::uint8_t* first = row + i * bytes;
    const std::uint8_t* second = first + bytes;
    prefetch(first + ahead);
    const __m512i weights = decodeBlocks<T>(first, second);
    const BlockFactors factors = blockFactors<T>(first, second);
    for (std::size_t t = 0; t < Tokens; t++) addBlocks<T, R>(sums[t], weights, factors, BlockActivations<T, R>(x[t], i));
  }
  if (i < blocks) {
    const std::uint8_t* last = row + i * bytes;
    const __m256i weights = _mm512_castsi512_si256(decodeBlocks<T>(last, last));
    for (std::size_t t = 0; t < Tokens; t++) addLastBlock<T, R>(sums[t], last, weights, x[t], i);
  }
  for (std::size_t t = 0; t < Tokens; t++) y[t * stride] = sums[t].total();
}

template <Type T, Rounding R>
void matvecsBlocks(const Matvecs& p) {
  byTokens(p, [&](const std::uint8_t* row, std::size_t ahead, const auto& x, float* y) {
    dotBlocksTokens<T, R>(row, ahead, x, p.rows.columns, y, p.outStride);
  }, rowBytes(T, p.rows.columns));
}

}  // namespace
}  // namespace hearth
