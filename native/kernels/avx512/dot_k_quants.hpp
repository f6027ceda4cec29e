#pragma once
#include "../shared/activations.hpp"
#include "../shared/streams.hpp"
#include "../shared/vector_math.hpp"
#include "../table.hpp"
#include "simd.hpp"

/**
 * Dot products of the K-quants: superblocks of 256 weights in four registers. Chunks of 32 weights are in the order in
 * which they are cheapest to unpack, and activations are stored in the same order (chunkOrder).
 */
namespace hearth {
namespace {

/** Weights that share a scale. */
constexpr std::size_t scaleWeights(Type type) { return formatOf(type).scaleWeights; }

struct ChunkOrder {
  std::uint8_t chunk[8];
};

/** The chunk of a superblock in the i-th half register. */
constexpr ChunkOrder chunkOrder(Type type) {
  switch (type) {
    case Type::Q4_K:
    case Type::Q5_K:
      return {{0, 2, 1, 3, 4, 6, 5, 7}};
    case Type::Q2_K:
    case Type::Q3_K:
    case Type::TQ2_0:
      return {{0, 4, 1, 5, 2, 6, 3, 7}};
    default:
      return {{0, 1, 2, 3, 4, 5, 6, 7}};
  }
}

/** Adds `amount` where bit `bit` (lower half) or `next` (upper half) of the 32 bytes is set. */
inline __m512i addHighBit(__m512i low, __m256i bits, int bit, int next, char amount) {
  const __m512i wanted =
      join(_mm256_set1_epi8(static_cast<char>(1u << bit)), _mm256_set1_epi8(static_cast<char>(1u << next)));
  const __mmask64 set = _mm512_test_epi8_mask(_mm512_broadcast_i64x4(bits), wanted);
  return _mm512_mask_add_epi8(low, set, low, _mm512_set1_epi8(amount));
}

/** All weights as unsigned bytes, the zero point above zero; formats without it use shared kernels. */
template <Type T>
inline void decodeSuperblock(const std::uint8_t* block, __m512i (&out)[4]) = delete;

/** The nibbles of 128 bytes: of Q4_K the weights, of Q5_K their lower four bits. */
inline void decodeNibbles(const std::uint8_t* nibbles, __m512i (&out)[4]) {
  const __m512i mask = _mm512_set1_epi8(15);
  for (int half = 0; half < 2; half++) {
    const __m512i packed = load512(nibbles + 64 * half);
    out[2 * half] = _mm512_and_si512(packed, mask);
    out[2 * half + 1] = _mm512_and_si512(_mm512_srli_epi16(packed, 4), mask);
  }
}

template <>
inline void decodeSuperblock<Type::Q4_K>(const std::uint8_t* block, __m512i (&out)[4]) {
  decodeNibbles(block + 16, out);
}

template <>
inline void decodeSuperblock<Type::Q5_K>(const std::uint8_t* block, __m512i (&out)[4]) {
  decodeNibbles(block + 48, out);
  const __m256i bits = load256(block + 16);
  out[0] = addHighBit(out[0], bits, 0, 2, 16);
  out[1] = addHighBit(out[1], bits, 1, 3, 16);
  out[2] = addHighBit(out[2], bits, 4, 6, 16);
  out[3] = addHighBit(out[3], bits, 5, 7, 16);
}

/** The pairs of bits of 64 bytes: of Q2_K the weights, of Q3_K their lower two bits. */
inline void decodePairs(const std::uint8_t* pairs, __m512i (&out)[4]) {
  const __m512i packed = load512(pairs);
  const __m512i mask = _mm512_set1_epi8(3);
  out[0] = _mm512_and_si512(packed, mask);
  out[1] = _mm512_and_si512(_mm512_srli_epi16(packed, 2), mask);
  out[2] = _mm512_and_si512(_mm512_srli_epi16(packed, 4), mask);
  out[3] = _mm512_and_si512(_mm512_srli_epi16(packed, 6), mask);
}

template <>
inline void decodeSuperblock<Type::Q2_K>(const std::uint8_t* block, __m512i (&out)[4]) {
  decodePairs(block + 16, out);
}

template <>
inline void decodeSuperblock<Type::Q3_K>(const std::uint8_t* block, __m512i (&out)[4]) {
  decodePairs(block + 32, out);
  const __m256i bits = load256(block);
  for (int part = 0; part < 4; part++) out[part] = addHighBit(out[part], bits, part, 4 + part, 4);
}

template <>
inline void decodeSuperblock<Type::Q6_K>(const std::uint8_t* block, __m512i (&out)[4]) {
  const __m512i low = _mm512_set1_epi8(15);
  const __m512i six = _mm512_set1_epi8(63);
  const __m512i left = join(_mm256_set1_epi16(4), _mm256_set1_epi16(2));
  const __m512i right = join(_mm256_setzero_si256(), _mm256_set1_epi16(2));
  for (int half = 0; half < 2; half++) {
    const __m512i nibbles = load512(block + 64 * half);
    // Two bits of each weight are moved to bits 4 and 5 and merged with the low nibble, then cut to six bits.
    const __m512i two = _mm512_broadcast_i64x4(load256(block + 128 + 32 * half));
    const __m512i first = _mm512_ternarylogic_epi32(nibbles, _mm512_sllv_epi16(two, left), low, 0xe4);
    const __m512i second =
        _mm512_ternarylogic_epi32(_mm512_srli_epi16(nibbles, 4), _mm512_srlv_epi16(two, right), low, 0xe4);
    out[2 * half] = _mm512_and_si512(first, six);
    out[2 * half + 1] = _mm512_and_si512(second, six);
  }
}

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

/** Sixteen scales of 16 weights each, or for Q4_K and Q5_K eight scales and eight minimums of 32. */
template <Type T>
inline __m128i packedScales(const std::uint8_t* block) {
  if constexpr (scaleWeights(T) == 32) return sixBitScales(block + 4);
  if constexpr (T == Type::Q2_K) return _mm_and_si128(load128(block), _mm_set1_epi8(15));
  if constexpr (T == Type::Q3_K) return q3Scales(block + 96);
  if constexpr (T == Type::Q6_K) return load128(block + 192);
}

/** The superblock's scale and, where it has one, minimum, as the first two of four floats. */
template <Type T>
inline __m128 scaleAndMinimum(const std::uint8_t* block) {
  if constexpr (scaleWeights(T) == 32) return _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block)));
  if constexpr (T == Type::Q2_K) return _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load32(block + 80))));
  return _mm_cvtph_ps(_mm_cvtsi32_si128(load16(block + (T == Type::Q3_K ? 108 : 208))));
}

/** The scale of each of the 32 words that result from packing registers 2·pair and 2·pair + 1. */
struct ScaleIndex {
  alignas(64) std::uint16_t words[32];
};
constexpr ScaleIndex scaleIndex(Type type, int pair) {
  ScaleIndex index{};
  for (int word = 0; word < 32; word++) {
    const int part = 2 * pair + word % 8 / 4;
    const int lane = word / 8 * 4 + word % 4;
    const int group = 2 * chunkOrder(type).chunk[2 * part + lane / 8] + lane % 8 / 4;
    index.words[word] = static_cast<std::uint16_t>(scaleWeights(type) == 32 ? group / 2 : group);
  }
  return index;
}
template <Type T, int Pair>
inline constexpr ScaleIndex scaleIndexes = scaleIndex(T, Pair);

/** sums += scale·Σ of weights·x for 128 weights: the byte products of four weights stay below 2^15 in every format. */
template <int Pair>
inline __m512i addProducts(__m512i sums, const __m512i (&weights)[4], const std::int8_t* x, __m512i scales) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i first = _mm512_dpbusd_epi32(zero, weights[2 * Pair], load512(x + 128 * Pair));
  const __m512i second = _mm512_dpbusd_epi32(zero, weights[2 * Pair + 1], load512(x + 128 * Pair + 64));
  return _mm512_dpwssd_epi32(sums, _mm512_packs_epi32(first, second), scales);
}

/**
 * Σ over a superblock of scale·weights·x, in units of the activations' scale, or with bytes with that scale; weights are
 * the zero point above zero.
 */
template <Type T, Rounding R>
inline __m512 dotSuperblock(const __m512i (&weights)[4], const Activations& x, std::size_t superblock,
                            __m512i scales) {
  const std::int8_t* high = x.high + 256 * superblock;
  const __m512i scales0 = _mm512_permutexvar_epi16(_mm512_load_si512(scaleIndexes<T, 0>.words), scales);
  const __m512i scales1 = _mm512_permutexvar_epi16(_mm512_load_si512(scaleIndexes<T, 1>.words), scales);
  const __m512i zero = _mm512_setzero_si512();
  if constexpr (R == Rounding::byte) {
    const float* laneScales = x.laneScales + 32 * superblock;
    const __m512 first = _mm512_cvtepi32_ps(addProducts<0>(zero, weights, high, scales0));
    const __m512 second = _mm512_cvtepi32_ps(addProducts<1>(zero, weights, high, scales1));
    return _mm512_fmadd_ps(first, _mm512_loadu_ps(laneScales),
                           _mm512_mul_ps(second, _mm512_loadu_ps(laneScales + 16)));
  }
  const std::int8_t* low = x.low + 256 * superblock;
  const __m512i highs = addProducts<1>(addProducts<0>(zero, weights, high, scales0), weights, high, scales1);
  const __m512i lows = addProducts<1>(addProducts<0>(zero, weights, low, scales0), weights, low, scales1);
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(highs), _mm512_set1_ps(highStep), _mm512_cvtepi32_ps(lows));
}

/** What must be subtracted, in units of the superblock's minimum, or of its scale if weights are above zero. */
template <Type T>
inline __m512 belowZero(const std::uint8_t* block, __m128i packed, const Activations& x, std::size_t superblock) {
  if constexpr (scaleWeights(T) == 32) {
    const __m256i minimums = _mm256_cvtepu8_epi32(_mm_srli_si128(packed, 8));
    return _mm512_zextps256_ps512(
        _mm256_mul_ps(_mm256_cvtepi32_ps(minimums), _mm256_loadu_ps(x.pairSums + 8 * superblock)));
  } else {
    const __m512 sums = _mm512_loadu_ps(x.sums + 16 * superblock);
    if constexpr (T == Type::Q2_K) {
      const __m128i minimums = _mm_and_si128(_mm_srli_epi16(load128(block), 4), _mm_set1_epi8(15));
      return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(minimums)), sums);
    }
    const __m512 offset = _mm512_mul_ps(sums, _mm512_set1_ps(static_cast<float>(formatOf(T).zeroPoint)));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(packed)), offset);
  }
}

/** A row's superblock, unpacked. */
template <Type T>
struct Superblock {
  __m512i weights[4];
  __m128i packed;
  __m512i scales;
  __m128 factors;
  __m512 unit;

  explicit Superblock(const std::uint8_t* block) {
    decodeSuperblock<T>(block, weights);
    packed = packedScales<T>(block);
    scales = _mm512_castsi256_si512(formatOf(T).hasMinimum ? _mm256_cvtepu8_epi16(packed)
                                                           : _mm256_cvtepi8_epi16(packed));
    factors = scaleAndMinimum<T>(block);
    unit = _mm512_broadcastss_ps(formatOf(T).hasMinimum ? _mm_movehdup_ps(factors) : factors);
  }
};

/** sum + the product of a row's superblock and a token's activations of it. */
template <Type T, Rounding R>
inline __m512 addSuperblock(__m512 sum, const std::uint8_t* block, const Superblock<T>& row, const Activations& x,
                            std::size_t superblock) {
  const __m512 dot = dotSuperblock<T, R>(row.weights, x, superblock, row.scales);
  __m128 scale = row.factors;
  if constexpr (R == Rounding::word) scale = _mm_mul_ss(scale, _mm_load_ss(x.scales + superblock));
  const __m512 below = _mm512_mul_ps(belowZero<T>(block, row.packed, x, superblock), row.unit);
  return _mm512_add_ps(sum, _mm512_fmsub_ps(dot, _mm512_broadcastss_ps(scale), below));
}

template <Type T, Rounding R, std::size_t Count>
inline void dotSuperblocks(const std::uint8_t* rows, std::size_t stride, std::size_t ahead, const Activations& x,
                           std::size_t columns, float* y) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  __m512 sums[Count];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (std::size_t i = 0; i < columns / 256; i++) {
    for (std::size_t r = 0; r < Count; r++) {
      const std::uint8_t* block = rows + r * stride + i * bytes;
      prefetchLines(block + ahead, bytes);
      sums[r] = addSuperblock<T, R>(sums[r], block, Superblock<T>(block), x, i);
    }
  }
  for (std::size_t r = 0; r < Count; r++) y[r] = _mm512_reduce_add_ps(sums[r]);
}

/** 3 % faster than one or four (Q4_K_M). */
inline constexpr std::size_t superblockStreams = 2;

template <Type T, Rounding R>
void matvecSuperblocks(const Rows& rows, const std::byte* activations, float* y) {
  const Activations x = activationsAt(activations, rows.columns);
  const std::size_t stride = rowBytes(T, rows.columns);
  inGroups<superblockStreams>(rows, stride, y, [&](const std::uint8_t* at, std::size_t ahead, float* out, auto count) {
    dotSuperblocks<T, R, count>(at, stride, ahead, x, rows.columns, out);
  });
}

/** The products of one row and `Tokens` tokens, with the row unpacked once; those of dotSuperblocks, bit by bit. */
template <Type T, Rounding R, std::size_t Tokens>
inline void dotTokens(const std::uint8_t* row, std::size_t ahead, const Activations (&x)[Tokens], std::size_t columns,
                      float* y, std::size_t stride) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  __m512 sums[Tokens];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (std::size_t i = 0; i < columns / 256; i++) {
    const std::uint8_t* block = row + i * bytes;
    prefetchLines(block + ahead, bytes);
    const Superblock<T> unpacked(block);
    for (std::size_t t = 0; t < Tokens; t++) sums[t] = addSuperblock<T, R>(sums[t], block, unpacked, x[t], i);
  }
  for (std::size_t t = 0; t < Tokens; t++) y[t * stride] = _mm512_reduce_add_ps(sums[t]);
}

template <Type T, Rounding R>
void matvecsSuperblocks(const Matvecs& p) {
  byTokens(p, [&](const std::uint8_t* row, std::size_t ahead, const auto& x, float* y) {
    dotTokens<T, R>(row, ahead, x, p.rows.columns, y, p.outStride);
  }, rowBytes(T, p.rows.columns));
}

/** The chunk of a superblock whose products are in a lane of the first (0 to 15) or second sums of addProducts. */
constexpr std::size_t laneChunk(Type type, std::size_t lane) {
  const std::size_t part = lane / 16 * 2 + lane % 4 / 2;
  return chunkOrder(type).chunk[2 * part + lane % 16 / 8];
}

/** Puts one token's activations in the order of these kernels' registers. */
inline void orderChunks(Type type, Rounding rounding, const Activations& x, std::size_t columns) {
  const ChunkOrder order = chunkOrder(type);
  std::int8_t* const terms[2] = {x.high, x.low};
  for (std::size_t term = 0; term < (rounding == Rounding::byte ? 1 : 2); term++) {
    for (std::size_t i = 0; i < columns / 256; i++) {
      std::int8_t* quants = terms[term] + 256 * i;
      __m256i chunks[8];
      for (int c = 0; c < 8; c++) chunks[c] = load256(quants + 32 * order.chunk[c]);
      for (int c = 0; c < 8; c++) _mm256_storeu_si256(reinterpret_cast<__m256i*>(quants + 32 * c), chunks[c]);
    }
  }
  if (rounding == Rounding::word) return;
  for (std::size_t i = 0; i < columns / 8; i++) x.laneScales[i] = x.scales[i / 32 * 8 + laneChunk(type, i % 32)];
}

}  // namespace
}  // namespace hearth
