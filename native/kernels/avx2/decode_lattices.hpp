#pragma once
#include "../../formats/lattice_quants.hpp"
#include "for_each.hpp"
#include "simd.hpp"

/**
 * Chunks of 32 weights of the I-quants of less than four bits, signed. Instructions that deposit bits are not used, since
 * some processors with AVX2 take hundreds of cycles for them.
 */
namespace hearth {
namespace {

/** Bytes of ones where the bits of a number are set, of zeros elsewhere. */
inline __m256i bytesOfBits(std::uint32_t bits) {
  const __m256i places = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), places);
  const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, wanted), wanted);
}

/** Magnitudes with signs. */
inline __m256i withSigns(__m256i magnitudes, std::uint32_t negative) {
  const __m256i mask = bytesOfBits(negative);
  return _mm256_sub_epi8(_mm256_xor_si256(magnitudes, mask), mask);
}

/** Of eight times eight bytes the last four of each. */
inline __m256i upperHalves(const std::uint8_t* bytes) {
  const __m256 first = _mm256_castsi256_ps(load256(bytes));
  const __m256 second = _mm256_castsi256_ps(load256(bytes + 32));
  return _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(first, second, 0xdd)), 0xd8);
}

/** Formats that keep seven of eight signs: the eighth makes the number of negative ones even. */
constexpr bool hasEvenSigns(Type type) {
  return type == Type::IQ2_XXS || type == Type::IQ2_XS || type == Type::IQ3_XXS;
}

/** The signs of the eight chunks. */
template <Type T>
inline __m256i evenSigns(const std::uint8_t* block) {
  __m256i sevens;
  if constexpr (T == Type::IQ2_XS) {
    const __m256i words = _mm256_packus_epi16(_mm256_srli_epi16(load256(block + 2), 9),
                                              _mm256_srli_epi16(load256(block + 34), 9));
    sevens = _mm256_permute4x64_epi64(words, 0xd8);
  } else {
    // Four times seven bits of each number.
    const __m256i numbers = T == Type::IQ2_XXS ? upperHalves(block + 2) : load256(block + 66);
    const auto part = [numbers](int i) {
      return _mm256_and_si256(_mm256_slli_epi32(numbers, i), _mm256_set1_epi32(0x7f << (8 * i)));
    };
    sevens = _mm256_or_si256(_mm256_or_si256(part(0), part(1)), _mm256_or_si256(part(2), part(3)));
  }
  // 128 for a number of four bits of which an odd number is set.
  const __m256i odd = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
  const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(sevens, 4), _mm256_set1_epi8(7));
  return _mm256_or_si256(sevens, _mm256_xor_si256(_mm256_shuffle_epi8(odd, _mm256_and_si256(sevens, _mm256_set1_epi8(15))),
                                                  _mm256_shuffle_epi8(odd, upper)));
}

/** Four points of eight values. @param numberAt the number of the i-th */
template <std::size_t N, class NumberAt>
inline __m256i fourPoints(const std::uint64_t (&points)[N], const NumberAt& numberAt) {
  const auto two = [&](int i) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(points + numberAt(i)));
    const __m128 both = _mm_loadh_pi(_mm_castsi128_ps(low), reinterpret_cast<const __m64*>(points + numberAt(i + 1)));
    return _mm_castps_si128(both);
  };
  return join(two(0), two(2));
}

/** Eight points of four values. */
template <std::size_t N, class NumberAt>
inline __m256i eightPoints(const std::uint32_t (&points)[N], const NumberAt& numberAt) {
  const auto four = [&](int i) {
    __m128i values = _mm_cvtsi32_si128(static_cast<int>(points[numberAt(i)]));
    values = _mm_insert_epi32(values, static_cast<int>(points[numberAt(i + 1)]), 1);
    values = _mm_insert_epi32(values, static_cast<int>(points[numberAt(i + 2)]), 2);
    return _mm_insert_epi32(values, static_cast<int>(points[numberAt(i + 3)]), 3);
  };
  return join(four(0), four(4));
}

/** As load16, but never kept in memory as two bytes, of which four would be loaded again. */
inline std::uint32_t sixteenBits(const std::uint8_t* bytes) {
  std::uint32_t value = load16(bytes);
  asm("" : "+r"(value));
  return value;
}

/** The 32 weights of a chunk. @param signs evenSigns of a format that has them */
template <Type T>
inline __m256i latticeChunk(const std::uint8_t* block, int chunk, const std::uint32_t (&signs)[8]) {
  if constexpr (T == Type::IQ2_XXS) {
    const std::uint8_t* numbers = block + 2 + 8 * chunk;
    const __m256i sizes = fourPoints(iq2XxsPoints, [numbers](int i) { return numbers[i]; });
    return withSigns(sizes, signs[chunk]);
  }
  if constexpr (T == Type::IQ2_XS) {
    const std::uint32_t two[2] = {load32(block + 2 + 8 * chunk), load32(block + 6 + 8 * chunk)};
    const __m256i sizes = fourPoints(iq2XsPoints, [two](int i) { return two[i / 2] >> (16 * (i % 2)) & 511; });
    return withSigns(sizes, signs[chunk]);
  }
  if constexpr (T == Type::IQ2_S) {
    const std::uint8_t* low = block + 2 + 4 * chunk;
    const std::uint32_t high = block[66 + chunk];
    const __m256i sizes = fourPoints(iq2SPoints, [low, high](int i) { return low[i] | (high << (8 - 2 * i) & 0x300); });
    return withSigns(sizes, load32(block + 34 + 4 * chunk));
  }
  if constexpr (T == Type::IQ3_XXS) {
    const std::uint8_t* numbers = block + 2 + 8 * chunk;
    const __m256i sizes = eightPoints(iq3XxsPoints, [numbers](int i) { return numbers[i]; });
    return withSigns(sizes, signs[chunk]);
  }
  if constexpr (T == Type::IQ3_S) {
    const std::uint8_t* low = block + 2 + 8 * chunk;
    const std::uint32_t high = block[66 + chunk];
    const __m256i sizes = eightPoints(iq3SPoints, [low, high](int i) { return low[i] | (high << (8 - i) & 0x100); });
    return withSigns(sizes, load32(block + 74 + 4 * chunk));
  }
  if constexpr (T == Type::IQ1_S) {
    const std::uint8_t* low = block + 2 + 4 * chunk;
    const std::uint32_t rest = sixteenBits(block + 34 + 2 * chunk);
    const __m256i values = fourPoints(iq1Points, [low, rest](int i) { return low[i] | ((rest >> (3 * i) & 7) << 8); });
    return _mm256_add_epi8(values, _mm256_set1_epi8(static_cast<char>(1 - static_cast<int>(rest >> 15) * 2)));
  }
  if constexpr (T == Type::IQ1_M) {
    const std::uint8_t* low = block + 4 * chunk;
    const std::uint32_t rest = sixteenBits(block + 32 + 2 * chunk);
    const __m256i values = fourPoints(iq1Points, [low, rest](int i) { return low[i] | ((rest >> (4 * i) & 7) << 8); });
    // Each point has a bit of its own that moves it down rather than up.
    const __m256i words = _mm256_set1_epi64x(rest);
    const __m256i bits = _mm256_and_si256(words, _mm256_setr_epi64x(0x8, 0x80, 0x800, 0x8000));
    const __m256i down = _mm256_cmpgt_epi64(bits, _mm256_setzero_si256());
    return _mm256_add_epi8(values, _mm256_blendv_epi8(_mm256_set1_epi8(1), _mm256_set1_epi8(-1), down));
  }
}

/** The points of IQ1_S, by chunk: weights that are not moved up or down yet. */
template <class Visit>
inline void forIq1Points(const std::uint8_t* block, const Visit& visit) {
  const __m256i all = _mm256_broadcastsi128_si256(load128(block + 34));
  forEach<2>([&](auto half) {
    // The word of a chunk for each of its four points, whose three bits are moved to its upper ones.
    const __m256i words = _mm256_shuffle_epi8(
        half == 0 ? all : _mm256_srli_si256(all, 8),
        _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4, 5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7));
    const __m256i upper = _mm256_mullo_epi16(words, _mm256_set1_epi64x(1ll << 13 | 1ll << 26 | 1ll << 39 | 1ll << 52));
    const __m256i low = _mm256_cvtepu8_epi16(load128(block + 2 + 16 * half));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(upper, 5), _mm256_set1_epi16(0x700));
    const __m256i numbers = _mm256_or_si256(low, high);
    forEach<4>([&](auto part) {
      const auto four = static_cast<std::uint64_t>(_mm256_extract_epi64(numbers, part));
      visit(std::integral_constant<int, 4 * half + part>{},
            fourPoints(iq1Points, [four](int i) { return four >> (16 * i) & 0xffff; }));
    });
  });
}

/** The bits of signs of floats where a chunk of IQ1_S is moved down. */
inline __m256i movesDown(const std::uint8_t* block) {
  return _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_and_si128(load128(block + 34), _mm_set1_epi16(-32768))), 16);
}

/** 2 s + 1 of each byte. */
inline __m128i oddScales(__m128i s) { return _mm_add_epi8(_mm_add_epi8(s, s), _mm_set1_epi8(1)); }

/** The nibbles of eight bytes, the low one of each before its high one. */
inline __m128i sixteenNibbles(const std::uint8_t* packed) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(packed));
  return _mm_and_si128(_mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4)), _mm_set1_epi8(15));
}

/** The upper four bits of eight numbers, as bytes. */
inline __m128i upperFours(__m256i numbers) {
  const __m256i fours = _mm256_srli_epi32(numbers, 28);
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
  return _mm_packus_epi16(words, words);
}

/** Sixteen scales of 16 weights each, or eight of 32. */
template <Type T>
inline __m128i latticeScales(const std::uint8_t* block) {
  if constexpr (T == Type::IQ2_XXS) return oddScales(upperFours(upperHalves(block + 2)));
  if constexpr (T == Type::IQ2_XS) return oddScales(sixteenNibbles(block + 66));
  if constexpr (T == Type::IQ2_S) return oddScales(sixteenNibbles(block + 74));
  if constexpr (T == Type::IQ3_XXS) return oddScales(upperFours(load256(block + 66)));
  if constexpr (T == Type::IQ3_S) {
    const __m128i bytes = _mm_cvtsi32_si128(static_cast<int>(load32(block + 106)));
    return oddScales(_mm_and_si128(_mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4)), _mm_set1_epi8(15)));
  }
  if constexpr (T == Type::IQ1_S) {
    const __m128i three = _mm_and_si128(_mm_srli_epi16(load128(block + 34), 12), _mm_set1_epi16(7));
    return oddScales(_mm_packus_epi16(three, three));
  }
  if constexpr (T == Type::IQ1_M) {
    // Four times three bits of each of four words, moved to the upper bits of a word of their own.
    const __m128i four = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 48));
    const __m128i first = _mm_shuffle_epi8(four, _mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3));
    const __m128i second = _mm_shuffle_epi8(four, _mm_setr_epi8(4, 5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7));
    const __m128i places = _mm_setr_epi16(1 << 13, 1 << 10, 1 << 7, 1 << 4, 1 << 13, 1 << 10, 1 << 7, 1 << 4);
    return oddScales(_mm_packus_epi16(_mm_srli_epi16(_mm_mullo_epi16(first, places), 13),
                                      _mm_srli_epi16(_mm_mullo_epi16(second, places), 13)));
  }
}

/** The block's scale, in which scales are whole numbers. */
template <Type T>
inline float latticeScale(const std::uint8_t* block) {
  if constexpr (T == Type::IQ1_M) {
    return 0.125f * _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(scatteredHalf(block + 48))));
  }
  return (T == Type::IQ3_S ? 1 : T == Type::IQ3_XXS ? 0.25f : 0.125f) * halfAt(block);
}

}  // namespace
}  // namespace hearth
