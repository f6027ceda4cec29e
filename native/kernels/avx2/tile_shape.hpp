#pragma once
#include "decode.hpp"

/** How products of bytes are added up, by the instructions and by the format, so that no sum overflows. */
namespace hearth {
namespace {

inline constexpr std::size_t packRows = 8;
/** Columns of a group, whose activations have one scale. */
inline constexpr std::size_t groupColumns = 32;

/** Two sums of 16 bits in one number. */
inline std::int32_t twoWords(std::int32_t low, std::int32_t high) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(low) & 0xffff) | static_cast<std::uint32_t>(high) << 16);
}

/**
 * Sums of 16 bits, two for every four columns. An instruction multiplies and adds two products, which saturate; further
 * additions may wrap, as long as the whole sum fits. So eight instructions are added up before the sums are widened and
 * scaled by one more, if weights have four bits; others need shorter segments. Weights of eight bits are multiplied as
 * two planes of four.
 */
struct PairDots {
  static constexpr bool narrow = true;
  static __m256i multiply(__m256i weights, __m256i x) { return _mm256_maddubs_epi16(weights, x); }
  static __m256i add(__m256i sums, __m256i weights, __m256i x) {
    __m256i result = _mm256_add_epi16(sums, multiply(weights, x));
    // Compilers would otherwise reorder sums until no registers are left.
    asm("" : "+x"(result));
    return result;
  }
  /** Starting value of sums: for the first two of every four columns, and for the others. */
  static std::int32_t start(std::int32_t first, std::int32_t second) { return twoWords(first, second); }
  /** An integer scale as `scaled` wants it. */
  static __m256i scale(__m256i number) { return _mm256_blend_epi16(number, _mm256_slli_epi32(number, 16), 0xaa); }
  static __m256i scaled(__m256i sums, __m256i scale) { return _mm256_madd_epi16(sums, scale); }
  static __m256i widened(__m256i sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi16(1)); }
};

/** Properties of a format that the innermost loop needs. */
struct TileShape {
  /** Planes of four bits, or one of all bits. */
  std::size_t planes;
  /** Columns whose products are added before they are scaled. */
  std::size_t segment;
  /** Number subtracted from weights; with planes, from those of the upper one. */
  int zero;
  /** Columns of an integer scale; 0 if there is none. */
  std::size_t scale;
  /** Columns of a minimum; 0 if there is none. */
  std::size_t minimum;
  /** Columns of a scale in single precision: a block of weights. */
  std::size_t block;
};

/** Columns of which half, two of every four, have products that sum to 16 bits, from the largest size of weights. */
constexpr std::size_t segmentColumns(Type type) {
  switch (type) {
    // 31 from zero.
    case Type::Q5_1:
    case Type::Q5_K:
      return 16;
    // 62 at most.
    case Type::IQ2_XXS:
    case Type::IQ2_XS:
    case Type::IQ2_S:
    case Type::IQ3_XXS:
      return 8;
    // 16 at most, but those of Q6_K, which have a scale for 16: 32.
    default:
      return scaleWeights(type);
  }
}

template <class Dots>
constexpr TileShape tileShape(Type type) {
  const bool planes = Dots::narrow && isWide(type);
  return {planes ? 2u : 1u,
          Dots::narrow ? segmentColumns(type) : scaleWeights(type),
          planes ? 8 : formatOf(type).zeroPoint,
          hasOneScale(type) ? 0 : scaleWeights(type),
          formatOf(type).hasMinimum ? scaleWeights(type) : 0,
          formatOf(type).block};
}

}  // namespace
}  // namespace hearth
