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

/** The nibbles of eight blocks, which begin at byte `At` of each. */
template <Type T, std::size_t At>
inline void decodeEightNibbles(const std::uint8_t* blocks, __m512i (&out)[4]) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  const __m512i mask = _mm512_set1_epi8(15);
  for (std::size_t half = 0; half < 2; half++) {
    const __m512i packed = fourSixteens(blocks + 4 * half * bytes + At, bytes);
    out[2 * half] = _mm512_and_si512(packed, mask);
    out[2 * half + 1] = _mm512_and_si512(_mm512_srli_epi16(packed, 4), mask);
  }
}

/** The same with fifth bits, 32 of each block at byte `At`, before the nibbles. */
template <Type T, std::size_t At>
inline void decodeEightFives(const std::uint8_t* blocks, __m512i (&out)[4]) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  constexpr std::uint64_t lower = 0x0000ffff0000ffffu;
  decodeEightNibbles<T, At + 4>(blocks, out);
  const __m512i sixteen = _mm512_set1_epi8(16);
  for (std::size_t half = 0; half < 2; half++) {
    const std::uint8_t* at = blocks + 4 * half * bytes + At;
    const auto pair = [at](std::size_t first) {
      return static_cast<std::uint64_t>(load32(at + (first + 1) * bytes)) << 32 | load32(at + first * bytes);
    };
    const auto bits = [&pair](std::uint64_t which) {
      return _pext_u64(pair(2), which) << 32 | _pext_u64(pair(0), which);
    };
    out[2 * half] = _mm512_mask_add_epi8(out[2 * half], bits(lower), out[2 * half], sixteen);
    out[2 * half + 1] = _mm512_mask_add_epi8(out[2 * half + 1], bits(~lower), out[2 * half + 1], sixteen);
  }
}

/** The weights of eight blocks in a unit's order. */
template <Type T>
  requires(formatOf(T).block == 32)
inline void decodeUnit(const std::uint8_t* blocks, __m512i (&out)[4]) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  if constexpr (T == Type::Q8_0) {
    for (std::size_t half = 0; half < 2; half++) {
      const std::uint8_t* at = blocks + 4 * half * bytes;
      const __m512i pairs[2] = {decodeBlocks<T>(at, at + bytes), decodeBlocks<T>(at + 2 * bytes, at + 3 * bytes)};
      out[2 * half] = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0x88);
      out[2 * half + 1] = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0xdd);
    }
  }
  if constexpr (T == Type::Q4_0) decodeEightNibbles<T, 2>(blocks, out);
  if constexpr (T == Type::Q4_1) decodeEightNibbles<T, 4>(blocks, out);
  if constexpr (T == Type::Q5_0) decodeEightFives<T, 2>(blocks, out);
  if constexpr (T == Type::Q5_1) decodeEightFives<T, 4>(blocks, out);
  if constexpr (T == Type::IQ4_NL) {
    decodeEightNibbles<T, 2>(blocks, out);
    for (__m512i& weights : out) weights = iq4LevelsOf(weights);
  }
  if constexpr (T == Type::MXFP4) {
    decodeEightNibbles<T, 1>(blocks, out);
    for (__m512i& weights : out) weights = mxfp4LevelsOf(weights);
  }
}

/** Where the scales of eight blocks, and then what follows them, are among the words of two or four loads. */
template <Type T>
struct HeadWords {
  static constexpr std::size_t bytes = formatOf(T).bytes;
  static constexpr std::size_t loads = 3 * bytes + 4 <= 64 ? 2 : 4;
  /** Blocks whose heads are in one load. */
  static constexpr std::size_t each = 8 / loads;
  /** No load reads beyond the blocks. */
  static constexpr std::size_t from(std::size_t load) {
    return each * load * bytes + 64 <= 8 * bytes ? each * load * bytes : 8 * bytes - 64;
  }
  alignas(64) std::uint16_t words[32];

  constexpr HeadWords() : words{} {
    for (std::size_t i = 0; i < 16; i++) {
      const std::size_t load = i % 8 / each;
      const std::size_t byte = i % 8 * bytes + i / 8 * 2 - from(load);
      words[i] = static_cast<std::uint16_t>(load % 2 * 32 + byte / 2);
    }
  }
};

/** Sixteen half-precision numbers: the scales of eight blocks, and what follows each of them. */
template <Type T>
inline __m512 headsOf(const std::uint8_t* blocks) {
  static constexpr HeadWords<T> heads;
  const __m512i words = _mm512_load_si512(heads.words);
  const auto pick = [blocks, words](std::size_t first) {
    return _mm512_permutex2var_epi16(load512(blocks + heads.from(first)), words, load512(blocks + heads.from(first + 1)));
  };
  __m512i found = pick(0);
  if constexpr (heads.loads == 4) found = _mm512_mask_mov_epi16(found, 0xf0f0, pick(2));
  return _mm512_cvtph_ps(_mm512_castsi512_si256(found));
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
    const __m512 heads = headsOf<T>(blocks);
    const Groups<T> scales{_mm512_castps512_ps256(heads)};
    if constexpr (!formatOf(T).hasMinimum) return aboveZero<T>(scales);
    // These minimums are added.
    return {scales, {_mm256_sub_ps(_mm256_setzero_ps(), _mm512_extractf32x8_ps(heads, 1))}};
  }
}

}  // namespace
}  // namespace hearth
