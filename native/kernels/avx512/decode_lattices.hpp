#pragma once
#include <type_traits>

#include "../../formats/lattice_quants.hpp"
#include "decode_k_quants.hpp"
#include "simd.hpp"

/** Decoders of the I-quants of less than four bits: points are loaded eight bytes at a time from their tables. */
namespace hearth {
namespace {

inline std::uint64_t load64(const std::uint8_t* bytes) {
  std::uint64_t value;
  __builtin_memcpy(&value, bytes, sizeof value);
  return value;
}

/** Calls `decode` for the four registers of a superblock; their numbers are constants, so that they stay registers. */
template <class Decode>
inline void forParts(const Decode& decode) {
  decode(std::integral_constant<int, 0>{});
  decode(std::integral_constant<int, 1>{});
  decode(std::integral_constant<int, 2>{});
  decode(std::integral_constant<int, 3>{});
}

/** Numbers of points, four in a register: of each the lower eight bits, and `Count` higher ones. */
template <int Count>
inline std::uint64_t fourNumbers(const std::uint8_t* low, std::uint64_t high) {
  constexpr std::uint64_t each = 0x0001000100010001u;
  return _pdep_u64(load32(low), 255 * each) | _pdep_u64(high, ((1u << Count) - 1) * 256 * each);
}

template <int Fours>
struct PointNumbers {
  std::uint64_t fours[Fours];
  std::size_t operator()(int i) const { return fours[i / 4] >> (16 * (i % 4)) & 0xffff; }
};

/** Two points of eight values. Loaded one after the other, numbers don't have to be kept while others are computed. */
inline __m128i twoPoints(const std::uint64_t& first, const std::uint64_t& second) {
  const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&first));
  return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(low), reinterpret_cast<const __m64*>(&second)));
}

/** 64 values of eight points of eight. @param numberAt the number of the i-th */
template <std::size_t N, class NumberAt>
inline __m512i eightPoints(const std::uint64_t (&points)[N], const NumberAt& numberAt) {
  const auto pair = [&](int i) { return twoPoints(points[numberAt(i)], points[numberAt(i + 1)]); };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(pair(0)), pair(2), 1);
  return join(low, _mm256_inserti128_si256(_mm256_castsi128_si256(pair(4)), pair(6), 1));
}

/** 64 values of sixteen points of four. */
template <std::size_t N, class NumberAt>
inline __m512i sixteenPoints(const std::uint32_t (&points)[N], const NumberAt& numberAt) {
  const auto four = [&](int i) {
    __m128i values = _mm_cvtsi32_si128(static_cast<int>(points[numberAt(i)]));
    values = _mm_insert_epi32(values, static_cast<int>(points[numberAt(i + 1)]), 1);
    values = _mm_insert_epi32(values, static_cast<int>(points[numberAt(i + 2)]), 2);
    return _mm_insert_epi32(values, static_cast<int>(points[numberAt(i + 3)]), 3);
  };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(four(0)), four(4), 1);
  return join(low, _mm256_inserti128_si256(_mm256_castsi128_si256(four(8)), four(12), 1));
}

/** Magnitudes with signs, `Zero` above. */
template <int Zero>
inline __m512i signedAbove(__m512i magnitudes, std::uint64_t negative) {
  const __m512i zero = _mm512_set1_epi8(Zero);
  return _mm512_mask_sub_epi8(_mm512_add_epi8(zero, magnitudes), negative, zero, magnitudes);
}

/** The eighth sign of every byte of seven: it makes the number of negative ones even. */
inline std::uint64_t withEighths(std::uint64_t sevens) {
  std::uint64_t parity = sevens ^ sevens >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return sevens | (parity & 0x0101010101010101u) << 7;
}

/** The signs of two groups of 32, four times seven in each. */
inline std::uint64_t signsOfGroups(std::uint32_t first, std::uint32_t second) {
  constexpr std::uint64_t sevens = 0x7f7f7f7fu;
  constexpr std::uint32_t signs = (1u << 28) - 1;
  return withEighths(_pdep_u64(first & signs, sevens) | _pdep_u64(second & signs, sevens << 32));
}

template <>
inline void decodeSuperblock<Type::IQ2_XXS>(const std::uint8_t* block, __m512i (&out)[4]) {
  forParts([&](auto part) {
    const std::uint8_t* groups = block + 2 + 16 * part;
    const __m512i sizes = eightPoints(iq2XxsPoints, [groups](int i) { return groups[i / 4 * 8 + i % 4]; });
    out[part] = signedAbove<64>(sizes, signsOfGroups(load32(groups + 4), load32(groups + 12)));
  });
}

template <>
inline void decodeSuperblock<Type::IQ2_XS>(const std::uint8_t* block, __m512i (&out)[4]) {
  constexpr std::uint64_t number = 0x01ff01ff01ff01ffu;
  forParts([&](auto part) {
    const std::uint8_t* eight = block + 2 + 16 * part;
    const PointNumbers<2> numbers{load64(eight) & number, load64(eight + 8) & number};
    const __m128i sevens = _mm_packus_epi16(_mm_srli_epi16(load128(eight), 9), _mm_setzero_si128());
    const std::uint64_t signs = withEighths(static_cast<std::uint64_t>(_mm_cvtsi128_si64(sevens)));
    out[part] = signedAbove<64>(eightPoints(iq2XsPoints, numbers), signs);
  });
}

template <>
inline void decodeSuperblock<Type::IQ2_S>(const std::uint8_t* block, __m512i (&out)[4]) {
  forParts([&](auto part) {
    const std::uint8_t* low = block + 2 + 8 * part;
    const std::uint8_t* high = block + 66 + 2 * part;
    const PointNumbers<2> numbers{fourNumbers<2>(low, high[0]), fourNumbers<2>(low + 4, high[1])};
    out[part] = signedAbove<64>(eightPoints(iq2SPoints, numbers), load64(block + 34 + 8 * part));
  });
}

template <>
inline void decodeSuperblock<Type::IQ3_XXS>(const std::uint8_t* block, __m512i (&out)[4]) {
  forParts([&](auto part) {
    const std::uint8_t* numbers = block + 2 + 16 * part;
    const std::uint8_t* signs = block + 66 + 8 * part;
    const __m512i sizes = sixteenPoints(iq3XxsPoints, [numbers](int i) { return numbers[i]; });
    out[part] = signedAbove<64>(sizes, signsOfGroups(load32(signs), load32(signs + 4)));
  });
}

template <>
inline void decodeSuperblock<Type::IQ3_S>(const std::uint8_t* block, __m512i (&out)[4]) {
  forParts([&](auto part) {
    const std::uint8_t* low = block + 2 + 16 * part;
    const std::uint32_t high = load16(block + 66 + 2 * part);
    const PointNumbers<4> numbers{fourNumbers<1>(low, high), fourNumbers<1>(low + 4, high >> 4),
                                  fourNumbers<1>(low + 8, high >> 8), fourNumbers<1>(low + 12, high >> 12)};
    out[part] = signedAbove<16>(sixteenPoints(iq3SPoints, numbers), load64(block + 74 + 8 * part));
  });
}

/** Values, 16 above, each eight of them moved up by one, or down. */
inline __m512i movedAbove(__m512i values, __mmask8 down) {
  return _mm512_add_epi8(values, _mm512_mask_blend_epi64(down, _mm512_set1_epi8(17), _mm512_set1_epi8(15)));
}

template <>
inline void decodeSuperblock<Type::IQ1_S>(const std::uint8_t* block, __m512i (&out)[4]) {
  forParts([&](auto part) {
    const std::uint8_t* low = block + 2 + 8 * part;
    const std::uint32_t rest = load32(block + 34 + 4 * part);
    const PointNumbers<2> numbers{fourNumbers<3>(low, rest), fourNumbers<3>(low + 4, rest >> 16)};
    const auto down = static_cast<__mmask8>((rest >> 15 & 1) * 0x0f | (rest >> 31) * 0xf0);
    out[part] = movedAbove(eightPoints(iq1Points, numbers), down);
  });
}

template <>
inline void decodeSuperblock<Type::IQ1_M>(const std::uint8_t* block, __m512i (&out)[4]) {
  forParts([&](auto part) {
    const std::uint8_t* low = block + 8 * part;
    const std::uint32_t rest = load32(block + 32 + 4 * part);
    const std::uint32_t high = _pext_u32(rest, 0x77777777);
    const PointNumbers<2> numbers{fourNumbers<3>(low, high), fourNumbers<3>(low + 4, high >> 12)};
    const auto down = static_cast<__mmask8>(_pext_u32(rest, 0x88888888));
    out[part] = movedAbove(eightPoints(iq1Points, numbers), down);
  });
}

/** 2 s + 1 of each byte. */
inline __m128i oddScales(__m128i s) { return _mm_add_epi8(_mm_add_epi8(s, s), _mm_set1_epi8(1)); }

/** Sixteen scales of four bits, or eight and zeros. */
inline __m128i nibbleScales(std::uint64_t nibbles) {
  return oddScales(_mm_set_epi64x(static_cast<long long>(_pdep_u64(nibbles >> 32, 0x0f0f0f0f0f0f0f0fu)),
                                  static_cast<long long>(_pdep_u64(nibbles, 0x0f0f0f0f0f0f0f0fu))));
}

/** The uppermost four bits of each group's 32. */
template <>
inline __m128i packedScales<Type::IQ2_XXS>(const std::uint8_t* block) {
  return _mm_move_epi64(oddScales(_mm512_cvtepi64_epi8(_mm512_srli_epi64(load512(block + 2), 60))));
}
template <>
inline __m128i packedScales<Type::IQ2_XS>(const std::uint8_t* block) {
  return nibbleScales(load64(block + 66));
}
template <>
inline __m128i packedScales<Type::IQ2_S>(const std::uint8_t* block) {
  return nibbleScales(load64(block + 74));
}
template <>
inline __m128i packedScales<Type::IQ3_XXS>(const std::uint8_t* block) {
  return _mm_move_epi64(oddScales(_mm256_cvtepi32_epi8(_mm256_srli_epi32(load256(block + 66), 28))));
}
template <>
inline __m128i packedScales<Type::IQ3_S>(const std::uint8_t* block) {
  return _mm_move_epi64(nibbleScales(load32(block + 106)));
}
template <>
inline __m128i packedScales<Type::IQ1_S>(const std::uint8_t* block) {
  const __m128i three = _mm_and_si128(_mm_srli_epi16(load128(block + 34), 12), _mm_set1_epi16(7));
  return _mm_move_epi64(oddScales(_mm_packus_epi16(three, three)));
}
template <>
inline __m128i packedScales<Type::IQ1_M>(const std::uint8_t* block) {
  const std::uint64_t twelves = _pext_u64(load64(block + 48), 0x0fff0fff0fff0fffu);
  constexpr std::uint64_t threes = 0x0707070707070707u;
  return oddScales(_mm_set_epi64x(static_cast<long long>(_pdep_u64(twelves >> 24, threes)),
                                  static_cast<long long>(_pdep_u64(twelves, threes))));
}

/** @param unit what scales are in units of, as a part of the block's scale */
inline __m128 unitOf(std::uint16_t half, float unit) {
  return _mm_mul_ss(_mm_cvtph_ps(_mm_cvtsi32_si128(half)), _mm_set_ss(unit));
}

template <>
inline __m128 scaleAndMinimum<Type::IQ2_XXS>(const std::uint8_t* block) {
  return unitOf(load16(block), 0.125f);
}
template <>
inline __m128 scaleAndMinimum<Type::IQ2_XS>(const std::uint8_t* block) {
  return unitOf(load16(block), 0.125f);
}
template <>
inline __m128 scaleAndMinimum<Type::IQ2_S>(const std::uint8_t* block) {
  return unitOf(load16(block), 0.125f);
}
template <>
inline __m128 scaleAndMinimum<Type::IQ3_XXS>(const std::uint8_t* block) {
  return unitOf(load16(block), 0.25f);
}
template <>
inline __m128 scaleAndMinimum<Type::IQ3_S>(const std::uint8_t* block) {
  return unitOf(load16(block), 1);
}
template <>
inline __m128 scaleAndMinimum<Type::IQ1_S>(const std::uint8_t* block) {
  return unitOf(load16(block), 0.125f);
}
template <>
inline __m128 scaleAndMinimum<Type::IQ1_M>(const std::uint8_t* block) {
  return unitOf(scatteredHalf(block + 48), 0.125f);
}

}  // namespace
}  // namespace hearth
