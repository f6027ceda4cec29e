#pragma once
#include "../../formats/i_quants.hpp"
#include "simd.hpp"
#include "unit.hpp"

/** Decoders of the formats of 32 weights per block: of two blocks, and of units of eight. */
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

/** The doubled levels of MXFP4, 12 above. */
inline __m512i mxfp4LevelsOf(__m512i nibbles) {
  const __m128i levels = _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(levels), nibbles);
}

template <>
inline __m512i decodeBlocks<Type::MXFP4>(const std::uint8_t* first, const std::uint8_t* second) {
  return mxfp4LevelsOf(nibblesOf(first + 1, second + 1));
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

/** Sixteen bytes of each of four blocks. */
inline __m512i fourSixteens(const std::uint8_t* at, std::size_t stride) {
  const __m256i first = _mm256_inserti128_si256(_mm256_castsi128_si256(load128(at)), load128(at + stride), 1);
  const __m256i second =
      _mm256_inserti128_si256(_mm256_castsi128_si256(load128(at + 2 * stride)), load128(at + 3 * stride), 1);
  return join(first, second);
}

/** Sixteen packed bytes of each of eight chunks as a unit's weights. */
inline void decodeNibblePairs(__m512i first, __m512i second, __m512i (&out)[4]) {
  const __m512i mask = _mm512_set1_epi8(15);
  const __m512i packed[2] = {_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second)};
  for (int half = 0; half < 2; half++) {
    out[half] = _mm512_and_si512(packed[half], mask);
    out[2 + half] = _mm512_and_si512(_mm512_srli_epi16(packed[half], 4), mask);
  }
}

/** Four chunks of 32 weights, two to a register, as a unit's weights. */
inline void toUnitOf32(__m512i (&weights)[4]) {
  const __m512i evens[2] = {_mm512_unpacklo_epi64(weights[0], weights[1]), _mm512_unpacklo_epi64(weights[2], weights[3])};
  const __m512i odds[2] = {_mm512_unpackhi_epi64(weights[0], weights[1]), _mm512_unpackhi_epi64(weights[2], weights[3])};
  weights[0] = _mm512_shuffle_i64x2(evens[0], evens[1], 0x88);
  weights[1] = _mm512_shuffle_i64x2(odds[0], odds[1], 0x88);
  weights[2] = _mm512_shuffle_i64x2(evens[0], evens[1], 0xdd);
  weights[3] = _mm512_shuffle_i64x2(odds[0], odds[1], 0xdd);
}

constexpr bool hasFifthBits(Type type) { return type == Type::Q5_0 || type == Type::Q5_1; }
/** Bytes of a block before its packed weights. */
constexpr std::size_t headBytes(Type type) { return formatOf(type).bytes - 16; }

/**
 * Places of the first words of eight blocks among those of two or four loads: all first words, all second ones, and so
 * on; four, or two where there are no more.
 */
template <Type T>
struct HeadWords {
  static constexpr std::size_t bytes = formatOf(T).bytes;
  static constexpr std::size_t count = hasFifthBits(T) ? 4 : 2;
  static constexpr std::size_t loads = 3 * bytes + 2 * count <= 64 ? 2 : 4;
  /** Blocks whose heads are in one load. */
  static constexpr std::size_t each = 8 / loads;
  /** No load reads beyond the blocks. */
  static constexpr std::size_t from(std::size_t load) {
    return each * load * bytes + 64 <= 8 * bytes ? each * load * bytes : 8 * bytes - 64;
  }
  alignas(64) std::uint16_t words[32];

  constexpr HeadWords() : words{} {
    for (std::size_t i = 0; i < 8 * count; i++) {
      const std::size_t load = i % 8 / each;
      const std::size_t byte = i % 8 * bytes + i / 8 * 2 - from(load);
      words[i] = static_cast<std::uint16_t>(load % 2 * 32 + byte / 2);
    }
  }
};

template <Type T>
inline __m512i headsOf(const std::uint8_t* blocks) {
  static constexpr HeadWords<T> heads;
  const __m512i words = _mm512_load_si512(heads.words);
  const auto pick = [blocks, words](std::size_t first) {
    return _mm512_permutex2var_epi16(load512(blocks + heads.from(first)), words, load512(blocks + heads.from(first + 1)));
  };
  if constexpr (heads.loads == 2) return pick(0);
  return _mm512_mask_mov_epi16(pick(0), 0xf0f0f0f0, pick(2));
}

/** Adds the fifth bits of eight blocks: byte i of a block's four has those of register i. */
template <Type T>
inline void addFifthBits(const std::uint8_t* blocks, __m512i (&weights)[4]) {
  // Q5_1 has a minimum before them.
  constexpr int at = formatOf(T).hasMinimum ? 2 : 1;
  const __m512i heads = headsOf<T>(blocks);
  const __m512i sixteen = _mm512_set1_epi8(16);
  // Bytes 0 and 1 of all blocks, then 2 and 3, in the order of the unit's chunks.
  const __m128i order = _mm_setr_epi8(0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15);
  const __m128i bytes[2] = {_mm_shuffle_epi8(_mm512_extracti32x4_epi32(heads, at), order),
                            _mm_shuffle_epi8(_mm512_extracti32x4_epi32(heads, at + 1), order)};
  for (int i = 0; i < 4; i++) {
    const __m128i pair = i % 2 == 0 ? bytes[i / 2] : _mm_unpackhi_epi64(bytes[i / 2], bytes[i / 2]);
    const auto bits = static_cast<std::uint64_t>(_mm_cvtsi128_si64(pair));
    weights[i] = _mm512_mask_add_epi8(weights[i], bits, weights[i], sixteen);
  }
}

/** The weights of eight blocks in a unit's order. */
template <Type T>
  requires(formatOf(T).block == 32)
inline void decodeUnit(const std::uint8_t* blocks, __m512i (&out)[4]) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  if constexpr (T == Type::Q8_0) {
    for (std::size_t i = 0; i < 4; i++) {
      out[i] = decodeBlocks<T>(blocks + 2 * i * bytes, blocks + (2 * i + 1) * bytes);
    }
    toUnitOf32(out);
    return;
  }
  const std::uint8_t* packed = blocks + headBytes(T);
  decodeNibblePairs(fourSixteens(packed, bytes), fourSixteens(packed + 4 * bytes, bytes), out);
  if constexpr (hasFifthBits(T)) addFifthBits<T>(blocks, out);
  for (__m512i& weights : out) {
    if constexpr (T == Type::IQ4_NL) weights = iq4LevelsOf(weights);
    if constexpr (T == Type::MXFP4) weights = mxfp4LevelsOf(weights);
  }
}

/** Powers of two of MXFP4, halved since its levels are doubled: 2^(e − 128). */
inline __m256 halfPowersOfTwo(__m256i exponents) {
  const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(exponents, _mm256_set1_epi32(1)), 23);
  const __m256i subnormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), exponents);
  return _mm256_castsi256_ps(
      _mm256_mask_blend_epi32(_mm256_cmplt_epi32_mask(exponents, _mm256_set1_epi32(2)), normal, subnormal));
}

template <Type T>
  requires(formatOf(T).block == 32)
inline Factors<T> factorsOf(const std::uint8_t* blocks) {
  if constexpr (T == Type::MXFP4) {
    std::uint64_t exponents = 0;
    for (int i = 8; i-- > 0;) exponents = exponents << 8 | blocks[i * formatOf(T).bytes];
    return aboveZero<T>({halfPowersOfTwo(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(exponents))))});
  } else {
    const __m512 heads = _mm512_cvtph_ps(_mm512_castsi512_si256(headsOf<T>(blocks)));
    const Groups<T> scales{_mm512_castps512_ps256(heads)};
    if constexpr (!formatOf(T).hasMinimum) return aboveZero<T>(scales);
    // These minimums are added.
    return {scales, {_mm256_sub_ps(_mm256_setzero_ps(), _mm512_extractf32x8_ps(heads, 1))}};
  }
}

}  // namespace
}  // namespace hearth
