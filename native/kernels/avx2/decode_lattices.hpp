#pragma once
#include "../../formats/lattice_quants.hpp"
#include "../shared/for_each.hpp"
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

/** One for each byte, or minus one where a number's bit is set. */
inline __m256i signsOfBits(std::uint32_t bits) { return _mm256_or_si256(bytesOfBits(bits), _mm256_set1_epi8(1)); }

/** The last four of each of eight times eight bytes. */
inline __m256i upperHalves(const std::uint8_t* bytes) {
  const __m256 first = _mm256_castsi256_ps(load256(bytes));
  const __m256 second = _mm256_castsi256_ps(load256(bytes + 32));
  return _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(first, second, 0xdd)), 0xd8);
}

/** Formats that keep seven of eight signs: the eighth makes the number of negative ones even. */
constexpr bool hasEvenSigns(Type type) {
  return type == Type::IQ2_XXS || type == Type::IQ2_XS || type == Type::IQ3_XXS;
}

/** The bits of signs of the eight chunks. */
template <Type T>
inline __m256i evenSigns(const std::uint8_t* block) {
  __m256i sevens;
  if constexpr (T == Type::IQ2_XS) {
    const __m256i words = _mm256_packus_epi16(_mm256_srli_epi16(load256(block + 2), 9),
                                              _mm256_srli_epi16(load256(block + 34), 9));
    sevens = _mm256_permute4x64_epi64(words, 0xd8);
  } else {
    // Four times seven bits of each number: two in each word, of which the upper is doubled by adding it once more.
    const __m256i numbers = T == Type::IQ2_XXS ? upperHalves(block + 2) : load256(block + 66);
    const __m256i words = _mm256_and_si256(_mm256_blend_epi16(numbers, _mm256_slli_epi32(numbers, 2), 0xaa),
                                           _mm256_set1_epi16(0x3fff));
    sevens = _mm256_add_epi16(words, _mm256_and_si256(words, _mm256_set1_epi16(0x3f80)));
  }
  // 128 for a number of four bits of which an odd number is set.
  const __m256i odd = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
  const __m256i four = _mm256_and_si256(_mm256_xor_si256(sevens, _mm256_srli_epi16(sevens, 4)), _mm256_set1_epi8(15));
  return _mm256_or_si256(sevens, _mm256_shuffle_epi8(odd, four));
}

/** Four points of eight values. */
template <std::size_t N>
inline __m256i fourPoints(const std::uint64_t (&points)[N], const std::uint32_t (&numbers)[4]) {
  const auto two = [&](int i) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(points + numbers[i]));
    const __m128 both = _mm_loadh_pi(_mm_castsi128_ps(low), reinterpret_cast<const __m64*>(points + numbers[i + 1]));
    return _mm_castps_si128(both);
  };
  return join(two(0), two(2));
}

/** Eight points of four values. */
template <std::size_t N>
inline __m256i eightPoints(const std::uint32_t (&points)[N], const std::uint32_t (&low)[4],
                           const std::uint32_t (&high)[4]) {
  const auto four = [&points](const std::uint32_t (&numbers)[4]) {
    __m128i values = _mm_cvtsi32_si128(static_cast<int>(points[numbers[0]]));
    values = _mm_insert_epi32(values, static_cast<int>(points[numbers[1]]), 1);
    values = _mm_insert_epi32(values, static_cast<int>(points[numbers[2]]), 2);
    return _mm_insert_epi32(values, static_cast<int>(points[numbers[3]]), 3);
  };
  return join(four(low), four(high));
}

/** The places of bytes in sixteen words, each of which takes the next byte after `times` words. */
template <int times>
struct Spread {
  alignas(32) std::int8_t places[32]{};
  constexpr explicit Spread(int first) {
    for (int i = 0; i < 32; i++) places[i] = static_cast<std::int8_t>(i % 2 == 0 ? first + i / 2 / times : -1);
  }
};

/** Sixteen numbers of points, from the i-th sixteen on. */
template <Type T, int i>
inline __m256i sixteenNumbers(const std::uint8_t* block) {
  if constexpr (T == Type::IQ2_XS) {
    return _mm256_and_si256(load256(block + 2 + 32 * i), _mm256_set1_epi16(511));
  } else if constexpr (T == Type::IQ1_S) {
    // The word of a chunk for each of its four points, whose three bits are moved to its upper ones.
    const __m256i first = _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4, 5, 4, 5, 4, 5, 4, 5, 6, 7, 6,
                                           7, 6, 7, 6, 7);
    const __m256i words = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load128(block + 34)),
                                              _mm256_add_epi8(first, _mm256_set1_epi8(8 * i)));
    const __m256i upper = _mm256_mullo_epi16(words, _mm256_set1_epi64x(1ll << 13 | 1ll << 26 | 1ll << 39 | 1ll << 52));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(upper, 5), _mm256_set1_epi16(0x700));
    return _mm256_or_si256(_mm256_cvtepu8_epi16(load128(block + 2 + 16 * i)), high);
  } else {
    // A byte has the upper bits of two, four or eight points, each of which a product moves to the ninth of its word.
    constexpr int points = T == Type::IQ1_M ? 2 : T == Type::IQ2_S ? 4 : 8;
    constexpr int kept = T == Type::IQ1_M ? 0x700 : T == Type::IQ2_S ? 0x300 : 0x100;
    const __m256i products = T == Type::IQ1_M   ? _mm256_set1_epi32(1 << 8 | 1 << 20)
                             : T == Type::IQ2_S ? _mm256_set1_epi64x(1ll << 8 | 1ll << 22 | 1ll << 36 | 1ll << 50)
                                                : _mm256_broadcastsi128_si256(_mm_setr_epi16(256, 128, 64, 32, 16, 8, 4, 2));
    static constexpr Spread<points> spread(16 / points * i);
    const __m256i bytes = _mm256_broadcastsi128_si256(load128(block + (T == Type::IQ1_M ? 32 : 66)));
    const __m256i moved = _mm256_mullo_epi16(_mm256_shuffle_epi8(bytes, load256(spread.places)), products);
    const __m256i low = _mm256_cvtepu8_epi16(load128(block + (T == Type::IQ1_M ? 0 : 2) + 16 * i));
    return _mm256_or_si256(low, _mm256_and_si256(moved, _mm256_set1_epi16(kept)));
  }
}

/** Formats whose points' values have signs of their own, and are moved up or down. */
constexpr bool isMoved(Type type) { return type == Type::IQ1_S || type == Type::IQ1_M; }

/** A number that compilers keep in a register, rather than load its parts. */
inline std::uint32_t held(std::uint32_t value) {
  asm("" : "+r"(value));
  return value;
}

/** The points of a format's lattice. */
template <Type T>
constexpr const auto& pointsOf() {
  if constexpr (T == Type::IQ2_XXS) return iq2XxsPoints;
  if constexpr (T == Type::IQ2_XS) return iq2XsPoints;
  if constexpr (T == Type::IQ2_S) return iq2SPoints;
  if constexpr (T == Type::IQ3_XXS) return iq3XxsPoints;
  if constexpr (T == Type::IQ3_S) return iq3SPoints;
  if constexpr (isMoved(T)) return iq1Points;
}

/** A superblock's weights by chunk, taken apart. */
template <Type T>
struct LatticeChunks {
  static constexpr bool hasBytes = T == Type::IQ2_XXS || T == Type::IQ3_XXS;
  static constexpr bool ofFour = T == Type::IQ3_XXS || T == Type::IQ3_S;

  const std::uint8_t* block;
  alignas(32) std::uint16_t numbers[ofFour ? 64 : 32];
  alignas(32) std::uint32_t bits[8];

  void take(const std::uint8_t* at) {
    block = at;
    if constexpr (!hasBytes) {
      forEach<(ofFour ? 4 : 2)>([this](auto i) { store256(numbers + 16 * i, sixteenNumbers<T, i>(block)); });
    }
    if constexpr (hasEvenSigns(T)) store256(bits, evenSigns<T>(block));
    // Compilers would otherwise take numbers out of registers, by shuffles, of which there are many.
    if constexpr (!hasBytes) asm("" : "+m"(numbers));
    if constexpr (hasEvenSigns(T)) asm("" : "+m"(bits));
  }

  /** Four numbers of points from the first-th on, loaded at once, as loads are what there is most of. */
  void loadNumbers(int first, std::uint32_t (&four)[4]) const {
    if constexpr (hasBytes) {
      const std::uint32_t all = held(load32(block + 2 + first));
      for (int i = 0; i < 4; i++) four[i] = all >> (8 * i) & 255;
    } else {
      for (int i = 0; i < 4; i += 2) {
        const std::uint32_t two = held(load32(reinterpret_cast<const std::uint8_t*>(numbers + first + i)));
        four[i] = two & 0xffff;
        four[i + 1] = two >> 16;
      }
    }
  }

  /** The values of a chunk's points. */
  template <int chunk>
  __m256i values() const {
    std::uint32_t four[4];
    loadNumbers((ofFour || hasBytes ? 8 : 4) * chunk, four);
    constexpr auto& points = pointsOf<T>();
    if constexpr (!ofFour) return fourPoints(points, four);
    if constexpr (ofFour) {
      std::uint32_t more[4];
      loadNumbers(8 * chunk + 4, more);
      return eightPoints(points, four, more);
    }
  }

  /** Bytes with the weights' signs, one or minus one. */
  template <int chunk>
    requires(!isMoved(T))
  __m256i signs() const {
    if constexpr (hasEvenSigns(T)) return signsOfBits(bits[chunk]);
    return signsOfBits(load32(block + (T == Type::IQ2_S ? 34 : 74) + 4 * chunk));
  }

  /** One or minus one for each byte: what the values are moved by. */
  template <int chunk>
    requires(isMoved(T))
  __m256i moves() const {
    const std::uint32_t rest = load16(block + (T == Type::IQ1_S ? 34 : 32) + 2 * chunk);
    if constexpr (T == Type::IQ1_S) return _mm256_set1_epi8(static_cast<char>(1 - static_cast<int>(rest >> 15) * 2));
    const __m256i bits = _mm256_and_si256(_mm256_set1_epi64x(rest), _mm256_setr_epi64x(0x8, 0x80, 0x800, 0x8000));
    const __m256i down = _mm256_cmpgt_epi64(bits, _mm256_setzero_si256());
    return _mm256_or_si256(down, _mm256_set1_epi8(1));
  }

  /** The chunk's weights. */
  template <int chunk>
  __m256i weights() const {
    if constexpr (isMoved(T)) return _mm256_add_epi8(values<chunk>(), moves<chunk>());
    if constexpr (!isMoved(T)) return _mm256_sign_epi8(values<chunk>(), signs<chunk>());
  }
};

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
