#pragma once
#include "../../formats/formats.hpp"
#include "../shared/for_each.hpp"
#include "../shared/x86_loads.hpp"

/** Weights of the ternary formats, 32 in a register: 0, 1 and 2, or, where it saves a shift, four times as much. */
namespace hearth {
namespace {

/** Three times each byte, modulo 256: what is left of bytes without their upper digit in base 3. */
inline __m256i thrice(__m256i bytes) { return _mm256_add_epi8(bytes, _mm256_add_epi8(bytes, bytes)); }

/** The upper digit of each byte in base 3. @param moved bytes less 128, as comparisons are of signed numbers */
inline __m256i upperDigits(__m256i moved) {
  const auto least = [moved](int value) {
    __m256i below = _mm256_set1_epi8(static_cast<char>(value - 129));
    // Compilers would otherwise make two instructions of a comparison with a constant.
    asm("" : "+x"(below));
    return _mm256_cmpgt_epi8(moved, below);
  };
  return _mm256_abs_epi8(_mm256_add_epi8(least(86), least(171)));
}

/** 1, 3, 9 and 27 times each of four bytes, modulo 256. */
inline __m128i powersOfThree(const std::uint8_t* four) {
  const __m256i words = _mm256_cvtepu8_epi16(_mm_set1_epi32(static_cast<int>(load32(four))));
  const __m256i powers = _mm256_setr_epi16(1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27);
  const __m256i bytes = _mm256_and_si256(_mm256_mullo_epi16(words, powers), _mm256_set1_epi16(255));
  return _mm_packus_epi16(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
}

constexpr bool isTernary(Type type) { return type == Type::TQ1_0 || type == Type::TQ2_0; }

/** The chunks of a superblock, one after another. */
template <Type T>
struct TernaryChunks;

/** Pairs of bits, of which a byte has four chunks. */
template <>
struct TernaryChunks<Type::TQ2_0> {
  const std::uint8_t* block;
  __m256i packed;

  template <int chunk>
  __m256i next() {
    if constexpr (chunk % 4 == 0) {
      packed = load256(block + chunk / 4 * 32);
    } else if constexpr (chunk % 2 == 0) {
      packed = _mm256_srli_epi16(packed, 4);
    }
    return _mm256_and_si256(packed, _mm256_set1_epi8(chunk % 2 == 0 ? 3 : 12));
  }
};

/** The digits of 32, of 16 and of four bytes, whose numbers are together; of the last, four. */
template <>
struct TernaryChunks<Type::TQ1_0> {
  const std::uint8_t* block;
  /** Less 128: three times that is, modulo 256, as much less than three times the byte. */
  __m256i rest;

  template <int chunk>
  __m256i next() {
    const __m256i above = _mm256_set1_epi8(-128);
    if constexpr (chunk == 0) {
      rest = _mm256_xor_si256(load256(block), above);
    } else if constexpr (chunk < 5) {
      rest = thrice(rest);
    } else if constexpr (chunk == 5) {
      const __m256i sixteen = _mm256_broadcastsi128_si256(load128(block + 32));
      rest = _mm256_xor_si256(_mm256_blend_epi32(sixteen, thrice(sixteen), 0xf0), above);
    } else if constexpr (chunk == 6) {
      rest = thrice(thrice(rest));
    } else {
      const __m256i fours = _mm256_xor_si256(_mm256_broadcastsi128_si256(powersOfThree(block + 48)), above);
      rest = _mm256_blend_epi32(thrice(thrice(rest)), fours, 0xf0);
    }
    return upperDigits(rest);
  }
};

}  // namespace
}  // namespace hearth
