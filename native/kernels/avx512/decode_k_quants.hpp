#pragma once
#include "../shared/packed_scales.hpp"
#include "decode_blocks.hpp"
#include "simd.hpp"
#include "unit.hpp"

/**
 * Decoders of the K-quants: superblocks of 256 weights in four registers. decodeSuperblock leaves chunks of 32 weights in
 * the order in which they are cheapest to unpack (chunkOrder), decodeUnit in that of products with few tokens.
 */
namespace hearth {
namespace {

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

/** Sixteen scales of 16 weights each, or for Q4_K and Q5_K eight scales and eight minimums of 32. */
template <Type T>
inline __m128i packedScales(const std::uint8_t* block) {
  if constexpr (scaleWeights(T) == 32) return sixBitScales(block + 4);
  if constexpr (T == Type::Q2_K) return _mm_and_si128(load128(block), _mm_set1_epi8(15));
  if constexpr (T == Type::Q3_K) return q3Scales(block + 96);
  if constexpr (T == Type::Q6_K) return load128(block + 192);
}

/** The sixteen minimums of Q2_K. */
inline __m128i packedMinimums(const std::uint8_t* block) {
  return _mm_and_si128(_mm_srli_epi16(load128(block), 4), _mm_set1_epi8(15));
}

/** The superblock's scale and, where it has one, minimum, as the first two of four floats. */
template <Type T>
inline __m128 scaleAndMinimum(const std::uint8_t* block) {
  if constexpr (scaleWeights(T) == 32) return _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block)));
  if constexpr (T == Type::Q2_K) return _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load32(block + 80))));
  return _mm_cvtph_ps(_mm_cvtsi32_si128(load16(block + (T == Type::Q3_K ? 108 : 208))));
}

/** Groups of 16 weights, four to a register, as a unit's weights. */
inline void toUnitOf16(__m512i (&weights)[4]) {
  const __m512i lower[2] = {_mm512_unpacklo_epi32(weights[0], weights[1]), _mm512_unpacklo_epi32(weights[2], weights[3])};
  const __m512i upper[2] = {_mm512_unpackhi_epi32(weights[0], weights[1]), _mm512_unpackhi_epi32(weights[2], weights[3])};
  weights[0] = _mm512_unpacklo_epi64(lower[0], lower[1]);
  weights[1] = _mm512_unpackhi_epi64(lower[0], lower[1]);
  weights[2] = _mm512_unpacklo_epi64(upper[0], upper[1]);
  weights[3] = _mm512_unpackhi_epi64(upper[0], upper[1]);
}

/** Bytes of each pair of chunks, twice, for each register of a unit: low nibbles are those of even chunks. */
inline void repeatNibbles(const std::uint8_t* nibbles, __m512i (&out)[4]) {
  const __m512i packed[2] = {load512(nibbles), load512(nibbles + 64)};
  for (int i = 0; i < 4; i++) {
    const __m512i eights = _mm512_add_epi64(_mm512_set1_epi64(i), _mm512_setr_epi64(0, 4, 8, 12, 0, 4, 8, 12));
    out[i] = _mm512_permutex2var_epi64(packed[0], eights, packed[1]);
  }
}

/** Adds the fifth bits of Q5_K, one of each byte for each chunk. */
inline void addFifthBits(const std::uint8_t* bytes, __m512i (&weights)[4]) {
  const __m512i chunks = _mm512_setr_epi64(0x0101010101010101, 0x0404040404040404, 0x1010101010101010, 0x4040404040404040,
                                           0x0202020202020202, 0x0808080808080808, 0x2020202020202020,
                                           static_cast<long long>(0x8080808080808080));
  for (int i = 0; i < 4; i++) {
    long long eight;
    __builtin_memcpy(&eight, bytes + 8 * i, sizeof eight);
    const __mmask64 set = _mm512_test_epi8_mask(_mm512_set1_epi64(eight), chunks);
    weights[i] = _mm512_mask_add_epi8(weights[i], set, weights[i], _mm512_set1_epi8(16));
  }
}

/** Unit in which each quarter of 128 pairs of bits counts if it stays where it is in its bytes. */
inline constexpr float partsOfPairs[4] = {1, 1.0f / 4, 1.0f / 16, 1.0f / 64};

/** The pairs of bits of 64 bytes in a unit's order. They stay where they are: their scales make up for it. */
template <Type T>
inline void decodeUnitPairs(const std::uint8_t* pairs, __m512i (&out)[4]) {
  constexpr bool halves = scaleWeights(T) == 16;
  const __m512i packed = load512(pairs);
  const __m512i masks = _mm512_broadcast_i64x4(_mm256_setr_epi64x(
      0x0303030303030303, 0x0c0c0c0c0c0c0c0c, 0x3030303030303030, static_cast<long long>(0xc0c0c0c0c0c0c0c0)));
  // Fours of each register's first 128 columns, for every quarter of them, then of the others.
  const __m512i eights = _mm512_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1, 8, 9, 8, 9, 8, 9, 8, 9);
  const __m512i sixteens = _mm512_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4, 8, 12, 8, 12, 8, 12, 8, 12);
  for (int i = 0; i < 4; i++) {
    const __m512i fours = _mm512_add_epi32(_mm512_set1_epi32(halves ? i : 2 * i), halves ? sixteens : eights);
    out[i] = _mm512_and_si512(_mm512_permutexvar_epi32(fours, packed), masks);
  }
}

/** The weights of a superblock in a unit's order. */
template <Type T>
  requires(isSuperblock(T))
inline void decodeUnit(const std::uint8_t* block, __m512i (&out)[4]) {
  const __m256i nibble = _mm256_set1_epi8(15);
  if constexpr (T == Type::Q4_K) {
    // The weights of odd chunks stay where they are, sixteen times too large: their scales make up for it.
    repeatNibbles(block + 16, out);
    for (__m512i& weights : out) weights = _mm512_and_si512(weights, join(nibble, _mm256_slli_epi16(nibble, 4)));
  } else if constexpr (T == Type::Q5_K) {
    repeatNibbles(block + 48, out);
    const __m512i shifts = join(_mm256_setzero_si256(), _mm256_set1_epi16(4));
    for (__m512i& weights : out) {
      weights = _mm512_and_si512(_mm512_srlv_epi16(weights, shifts), join(nibble, nibble));
    }
    addFifthBits(block + 16, out);
  } else if constexpr (isPairs(T)) {
    decodeUnitPairs<T>(block + (T == Type::Q2_K ? 16 : 0), out);
  } else {
    decodeSuperblock<T>(block, out);
    if constexpr (scaleWeights(T) == 32) toUnitOf32(out);
    if constexpr (scaleWeights(T) == 16) toUnitOf16(out);
  }
}

template <Type T>
  requires(isSuperblock(T))
inline Factors<T> factorsOf(const std::uint8_t* block) {
  const __m128i packed = packedScales<T>(block);
  const __m128 factors = scaleAndMinimum<T>(block);
  const __m512 scale = _mm512_broadcastss_ps(factors);
  const __m512 minimum = _mm512_broadcastss_ps(_mm_movehdup_ps(factors));
  if constexpr (T == Type::Q2_K) {
    const __m512i quarters = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3);
    const __m512 parts = _mm512_permutexvar_ps(quarters, _mm512_castps128_ps512(_mm_loadu_ps(partsOfPairs)));
    return {{_mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(packed)), _mm512_mul_ps(scale, parts))},
            {_mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(packedMinimums(block))), minimum)}};
  } else if constexpr (formatOf(T).hasMinimum) {
    // Scales of even chunks, of odd ones, minimums.
    const float odd = T == Type::Q4_K ? 1.0f / 16 : 1;
    const __m128 twice = _mm_cvtph_ps(_mm_set1_epi32(static_cast<int>(load32(block))));
    const __m512i which = _mm512_setr_epi32(0, 2, 0, 2, 0, 2, 0, 2, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512 units = _mm512_permutexvar_ps(
        which, _mm512_castps128_ps512(_mm_mul_ps(twice, _mm_setr_ps(1, 1, odd, 1))));
    const __m512 all = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(packed)), units);
    return {{_mm512_castps512_ps256(all)}, {_mm512_extractf32x8_ps(all, 1)}};
  } else if constexpr (unitGroups(T) == 8) {
    return aboveZero<T>({_mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(packed)), _mm512_castps512_ps256(scale))});
  } else {
    return aboveZero<T>({_mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(packed)), scale)});
  }
}

}  // namespace
}  // namespace hearth
