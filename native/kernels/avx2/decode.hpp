#pragma once
#include <type_traits>

#include "../../formats/unpack.hpp"
#include "../shared/packed_scales.hpp"
#include "../table.hpp"
#include "decode_lattices.hpp"
#include "decode_ternary.hpp"
#include "simd.hpp"

/**
 * Weights as bytes, 32 in a register, in natural order. Those of at most six bits are unsigned, the zero point above
 * zero; the others (isSigned) are as they are.
 */
namespace hearth {
namespace {

/** Formats with weights of eight bits. */
constexpr bool isWide(Type type) { return formatOf(type).zeroPoint == 128; }
constexpr bool isSigned(Type type) { return isWide(type) || isLattice(type); }
/** Formats whose weights all have their block's scale. */
constexpr bool hasOneScale(Type type) {
  return !isSuperblock(type) || type == Type::TQ1_0 || type == Type::TQ2_0;
}

/** Sixteen packed bytes, low nibbles before high ones, as 32 numbers from 0 to 15. */
inline __m256i nibblesOf(const std::uint8_t* packed) {
  const __m256i twice = _mm256_broadcastsi128_si256(load128(packed));
  return _mm256_and_si256(_mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 0, 4, 4)), _mm256_set1_epi8(15));
}

/** Sixteen levels at 32 places. */
inline __m256i levelsOf(const std::int8_t (&levels)[16], __m256i places) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load128(levels)), places);
}

/** The fifth bits of 32 numbers, 16 or 0. */
inline __m256i fifthBitsOf(const std::uint8_t* packed) {
  return _mm256_and_si256(bytesOfBits(load32(packed)), _mm256_set1_epi8(16));
}

/** The weights of a block of 32. */
template <Type T>
inline __m256i decodeBlock(const std::uint8_t* block) {
  if constexpr (T == Type::Q8_0) return load256(block + 2);
  if constexpr (T == Type::Q4_0) return nibblesOf(block + 2);
  if constexpr (T == Type::Q4_1) return nibblesOf(block + 4);
  if constexpr (T == Type::Q5_0) return _mm256_or_si256(nibblesOf(block + 6), fifthBitsOf(block + 2));
  if constexpr (T == Type::Q5_1) return _mm256_or_si256(nibblesOf(block + 8), fifthBitsOf(block + 4));
  if constexpr (T == Type::IQ4_NL) return levelsOf(iq4Levels, nibblesOf(block + 2));
  if constexpr (T == Type::MXFP4) {
    return _mm256_add_epi8(levelsOf(fp4Levels, nibblesOf(block + 1)), _mm256_set1_epi8(formatOf(T).zeroPoint));
  }
}

/** The scale of a block of 32, in all lanes. */
template <Type T>
inline __m256 blockScale(const std::uint8_t* block) {
  if constexpr (T == Type::MXFP4) return _mm256_set1_ps(halfPowerOfTwo(block[0]));
  return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(load16(block))));
}

/** Bit `from` of each byte as bit `to` of it. */
template <int from, int to>
inline __m256i movedBit(__m256i bytes) {
  const __m256i moved = from < to ? _mm256_slli_epi16(bytes, to - from) : _mm256_srli_epi16(bytes, from - to);
  return _mm256_and_si256(moved, _mm256_set1_epi8(1 << to));
}

/** The pairs of bits of 64 bytes: visit(chunk, the 32 numbers of a chunk). */
template <class Visit>
inline void forPairs(const std::uint8_t* pairs, const Visit& visit) {
  forEach<8>([&](auto chunk) {
    const __m256i packed = load256(pairs + chunk / 4 * 32);
    visit(chunk, _mm256_and_si256(_mm256_srli_epi16(packed, chunk % 4 * 2), _mm256_set1_epi8(3)));
  });
}

/** The same, with the numbers of every other chunk four times as large: bytes are shifted half as often. */
template <class Visit>
inline void forRaisedPairs(const std::uint8_t* pairs, const Visit& visit) {
  forEach<8>([&](auto chunk) {
    const __m256i packed = _mm256_srli_epi16(load256(pairs + chunk / 4 * 32), chunk % 4 / 2 * 4);
    visit(chunk, _mm256_and_si256(packed, _mm256_set1_epi8(chunk % 2 == 0 ? 3 : 12)));
  });
}

/** The nibbles of 128 bytes. */
template <class Visit>
inline void forNibbles(const std::uint8_t* nibbles, const Visit& visit) {
  forEach<8>([&](auto chunk) {
    const __m256i packed = load256(nibbles + chunk / 2 * 32);
    visit(chunk, _mm256_and_si256(_mm256_srli_epi16(packed, chunk % 2 * 4), _mm256_set1_epi8(15)));
  });
}

/** visit(chunk, its 32 weights) for the eight chunks of a superblock, whose number is a constant. */
template <Type T, class Visit>
inline void forChunksOf(const std::uint8_t* block, const Visit& visit) {
  if constexpr (T == Type::Q4_K) {
    forNibbles(block + 16, visit);
  } else if constexpr (T == Type::Q5_K) {
    const __m256i bits = load256(block + 16);
    forNibbles(block + 48, [&](auto chunk, __m256i low) {
      visit(chunk, _mm256_or_si256(low, movedBit<chunk, 4>(bits)));
    });
  } else if constexpr (T == Type::Q2_K) {
    forPairs(block + 16, visit);
  } else if constexpr (T == Type::Q3_K) {
    const __m256i bits = load256(block);
    forPairs(block + 32, [&](auto chunk, __m256i low) {
      visit(chunk, _mm256_or_si256(low, movedBit<chunk, 2>(bits)));
    });
  } else if constexpr (T == Type::Q6_K) {
    forEach<8>([&](auto chunk) {
      const __m256i nibbles = load256(block + chunk / 4 * 64 + chunk % 2 * 32);
      const __m256i two = load256(block + 128 + chunk / 4 * 32);
      constexpr int shift = chunk % 4 * 2;
      const __m256i low = _mm256_and_si256(_mm256_srli_epi16(nibbles, chunk % 4 / 2 * 4), _mm256_set1_epi8(15));
      const __m256i high = shift < 4 ? _mm256_slli_epi16(two, 4 - shift) : _mm256_srli_epi16(two, shift - 4);
      visit(chunk, _mm256_or_si256(low, _mm256_and_si256(high, _mm256_set1_epi8(48))));
    });
  } else if constexpr (T == Type::IQ4_XS) {
    forEach<8>([&](auto chunk) { visit(chunk, levelsOf(iq4Levels, nibblesOf(block + 8 + 16 * chunk))); });
  } else if constexpr (T == Type::TQ2_0) {
    forPairs(block, visit);
  } else if constexpr (T == Type::TQ1_0) {
    TernaryChunks<T> chunks{block, {}};
    forEach<8>([&](auto chunk) { visit(chunk, chunks.template next<chunk>()); });
  } else {
    LatticeChunks<T> chunks;
    chunks.take(block);
    forEach<8>([&](auto chunk) { visit(chunk, chunks.template weights<chunk>()); });
  }
}

/** Eight scales of IQ4_XS, from −32 to 31, and zeros. */
inline __m128i iq4XsScales(const std::uint8_t* block) {
  const __m128i nibbles = _mm_cvtsi32_si128(static_cast<int>(load32(block + 4)));
  const __m128i low = _mm_unpacklo_epi8(nibbles, _mm_srli_epi16(nibbles, 4));
  // The pair of bits of each scale, multiplied to the upper two bits of a word of its own.
  const __m128i pairs = _mm_mullo_epi16(_mm_set1_epi16(static_cast<short>(load16(block + 2))),
                                        _mm_setr_epi16(1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4, 1 << 2, 1));
  const __m128i high = _mm_packus_epi16(_mm_slli_epi16(_mm_srli_epi16(pairs, 14), 4), _mm_setzero_si128());
  const __m128i six = _mm_or_si128(_mm_and_si128(low, _mm_set1_epi8(15)), high);
  return _mm_move_epi64(_mm_sub_epi8(six, _mm_set1_epi8(32)));
}

/** Sixteen scales of 16 weights each, or eight of 32 and, where there are any, eight minimums. */
template <Type T>
inline __m128i packedScales(const std::uint8_t* block) {
  if constexpr (T == Type::Q4_K || T == Type::Q5_K) return sixBitScales(block + 4);
  if constexpr (T == Type::Q2_K) return _mm_and_si128(load128(block), _mm_set1_epi8(15));
  if constexpr (T == Type::Q3_K) return q3Scales(block + 96);
  if constexpr (T == Type::Q6_K) return load128(block + 192);
  if constexpr (T == Type::IQ4_XS) return iq4XsScales(block);
  if constexpr (isLattice(T)) return latticeScales<T>(block);
}

/** Byte of a superblock at which its scale is, in half precision, and behind it its minimum, where it has one. */
constexpr std::size_t scalePlace(Type type) {
  switch (type) {
    case Type::Q2_K:
      return 80;
    case Type::Q3_K:
      return 108;
    case Type::Q6_K:
      return 208;
    case Type::TQ1_0:
      return 52;
    case Type::TQ2_0:
      return 64;
    default:
      return 0;
  }
}

/** The weights as dot products want them (dot_order.hpp): visit(register, 32 weights). */
template <Type T, class Visit>
inline void forDotChunksOf(const std::uint8_t* block, const Visit& visit) {
  if constexpr (T == Type::Q2_K) {
    forRaisedPairs(block + 16, visit);
  } else if constexpr (T == Type::IQ4_XS) {
    forNibbles(block + 8, [&](auto i, __m256i places) { visit(i, levelsOf(iq4Levels, places)); });
  } else {
    forChunksOf<T>(block, visit);
  }
}

/** A superblock's weights, on demand, and its scales. */
template <Type T>
struct Superblock {
  const std::uint8_t* block;
  /** Result of packedScales. */
  __m128i scales;
  float scale;
  float minimum = 0;

  explicit Superblock(const std::uint8_t* at) : block(at) {
    if constexpr (isLattice(T)) {
      scale = latticeScale<T>(at);
    } else {
      scale = halfAt(at + scalePlace(T));
    }
    if constexpr (!hasOneScale(T)) scales = packedScales<T>(at);
    if constexpr (formatOf(T).hasMinimum) minimum = halfAt(at + scalePlace(T) + 2);
  }

  template <class Visit>
  void forChunks(const Visit& visit) const {
    forChunksOf<T>(block, visit);
  }
  /** The same as dot products want them. */
  template <class Visit>
  void forDotChunks(const Visit& visit) const {
    forDotChunksOf<T>(block, visit);
  }
  /** The minimums of the groups. */
  [[nodiscard]] __m128i groupMinimums() const {
    if constexpr (T == Type::Q2_K) return _mm_and_si128(_mm_srli_epi16(load128(block), 4), _mm_set1_epi8(15));
    return _mm_srli_si128(scales, 8);
  }
};

}  // namespace
}  // namespace hearth
