#pragma once
#include "../../formats/i_quants.hpp"
#include "decode_lattices.hpp"
#include "dot_blocks.hpp"
#include "dot_k_quants.hpp"
#include "dot_ternary.hpp"
#include "matmul.hpp"

/**
 * Dot products of the I-quants in superblocks. Most have weights of more than six bits: the byte products of four don't
 * fit into 16 bits, so that sums are scaled in single precision rather than, as those of the K-quants, as integers. A
 * lane's sum is below 2^24, and so exact. Chunks of weights are in natural order.
 */
namespace hearth {
namespace {

/** The formats whose products this file has. */
constexpr bool hasLevels(Type type) {
  switch (type) {
    case Type::IQ4_XS:
    case Type::IQ2_XXS:
    case Type::IQ2_XS:
    case Type::IQ2_S:
    case Type::IQ3_XXS:
    case Type::IQ3_S:
    case Type::IQ1_S:
    case Type::IQ1_M:
      return true;
    default:
      return false;
  }
}

template <>
inline void decodeSuperblock<Type::IQ4_XS>(const std::uint8_t* block, __m512i (&out)[4]) {
  const std::uint8_t* packed = block + 8;
  for (int part = 0; part < 4; part++) {
    out[part] = iq4LevelsOf(nibblesOf(packed + 32 * part, packed + 32 * part + 16));
  }
}

/** Eight scales from −32 to 31, and zeros. */
template <>
inline __m128i packedScales<Type::IQ4_XS>(const std::uint8_t* block) {
  const __m128i nibbles = _mm_cvtsi32_si128(static_cast<int>(load32(block + 4)));
  const __m128i low = _mm_unpacklo_epi8(nibbles, _mm_srli_epi16(nibbles, 4));
  const std::uint64_t pairs = _pdep_u64(load16(block + 2), 0x3030303030303030u);
  const __m128i high = _mm_cvtsi64_si128(static_cast<long long>(pairs));
  const __m128i six = _mm_or_si128(_mm_and_si128(low, _mm_set1_epi8(15)), high);
  return _mm_move_epi64(_mm_sub_epi8(six, _mm_set1_epi8(32)));
}

template <>
inline __m128 scaleAndMinimum<Type::IQ4_XS>(const std::uint8_t* block) {
  return _mm_cvtph_ps(_mm_cvtsi32_si128(load16(block)));
}

/** A row's superblock, unpacked. */
template <Type T>
  requires(hasLevels(T))
struct Superblock<T> {
  __m512i weights[4];
  /** The scales of the groups, as many as there are, in single precision. */
  __m512 scales;

  explicit Superblock(const std::uint8_t* block) {
    decodeSuperblock<T>(block, weights);
    const __m512 units = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(packedScales<T>(block)));
    scales = _mm512_mul_ps(units, _mm512_broadcastss_ps(scaleAndMinimum<T>(block)));
  }
};

/** The group of each lane, four weights, of the products of a register. */
struct GroupIndex {
  alignas(64) std::int32_t lanes[16];
};
constexpr GroupIndex groupIndex(Type type, int part) {
  GroupIndex index{};
  for (int lane = 0; lane < 16; lane++) {
    index.lanes[lane] = (64 * part + 4 * lane) / static_cast<int>(scaleWeights(type));
  }
  return index;
}
template <Type T, int Part>
inline constexpr GroupIndex groupIndexes = groupIndex(T, Part);

/**
 * sum + scale·Σ of weights·x for 64 weights, in units of the superblock's scale of activations, or with bytes with their
 * scales.
 */
template <Type T, Rounding R, int Part>
inline __m512 addPart(__m512 sum, const Superblock<T>& row, const Activations& x, std::size_t superblock) {
  const std::size_t at = 256 * superblock + 64 * Part;
  const __m512i weights = row.weights[Part];
  const __m512i corrections = load512(x.corrections + at / 4);
  __m512i dot = _mm512_dpbusd_epi32(R == Rounding::byte ? corrections : _mm512_setzero_si512(), weights,
                                    load512(x.high + at));
  __m512 scales = _mm512_permutexvar_ps(_mm512_load_si512(groupIndexes<T, Part>.lanes), row.scales);
  if constexpr (R == Rounding::byte) {
    scales = _mm512_mul_ps(scales, activationScales(x, at / 32));
  } else {
    const __m512i low = _mm512_dpbusd_epi32(corrections, weights, load512(x.low + at));
    dot = _mm512_add_epi32(_mm512_slli_epi32(dot, 7), low);
  }
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), scales, sum);
}

/** sum + the product of a row's superblock and a token's activations of it. */
template <Type T, Rounding R>
  requires(hasLevels(T))
inline __m512 addSuperblock(__m512 sum, const std::uint8_t*, const Superblock<T>& row, const Activations& x,
                            std::size_t superblock) {
  __m512 dots = addPart<T, R, 0>(R == Rounding::byte ? sum : _mm512_setzero_ps(), row, x, superblock);
  dots = addPart<T, R, 1>(dots, row, x, superblock);
  dots = addPart<T, R, 2>(dots, row, x, superblock);
  dots = addPart<T, R, 3>(dots, row, x, superblock);
  if constexpr (R == Rounding::byte) return dots;
  return _mm512_fmadd_ps(dots, _mm512_set1_ps(x.scales[superblock]), sum);
}

}  // namespace
}  // namespace hearth
