#pragma once
#include "decode_levels.hpp"
#include "decode_ternary.hpp"
#include "quant_packs.hpp"

/** Rows of weights, unpacked once for many tokens: unsigned bytes, in the registers' order of chunks. */
namespace hearth {
namespace {

/** Formats whose blocks have a decoder for AVX-512; others keep the shared kernels. */
template <Type T>
concept HasDecoder = requires(const std::uint8_t* block, __m512i (&out)[4]) { decodeSuperblock<T>(block, out); } ||
                     requires(const std::uint8_t* block) { decodeBlocks<T>(block, block); };

/** The group of a superblock at each place of the registers' order, and the same for minimums behind eight scales. */
struct GroupOrder {
  alignas(64) std::int32_t groups[16];
};
template <Type T>
constexpr GroupOrder makeGroupOrder() {
  constexpr std::size_t count = 256 / scaleWeights(T);
  GroupOrder order{};
  for (std::size_t i = 0; i < 16; i++) {
    const std::size_t group = orderedColumn<T>(i % count * scaleWeights(T)) / scaleWeights(T);
    order.groups[i] = static_cast<std::int32_t>(i / count * count + group);
  }
  return order;
}
template <Type T>
inline constexpr GroupOrder groupOrder = makeGroupOrder<T>();

/** The weights of a superblock. */
template <Type T>
inline void unpackQuants(const std::uint8_t* block, std::uint8_t* out) {
  __m512i weights[4];
  decodeSuperblock<T>(block, weights);
  for (std::size_t part = 0; part < 4; part++) _mm512_storeu_si512(out + 64 * part, weights[part]);
}

/** The scales of a superblock's groups: sixteen, or eight and then eight minimums or zeros. */
template <Type T>
inline __m512 unpackedScales(const std::uint8_t* block) {
  const __m128i packed = packedScales<T>(block);
  const __m128 factors = scaleAndMinimum<T>(block);
  const __m512 scale = _mm512_broadcastss_ps(factors);
  const __m512 minimum = _mm512_broadcastss_ps(_mm_movehdup_ps(factors));
  const __m512 all = _mm512_cvtepi32_ps(scaleWeights(T) == 32 && formatOf(T).hasMinimum ? _mm512_cvtepu8_epi32(packed)
                                                                                       : _mm512_cvtepi8_epi32(packed));
  const __m512 units = scaleWeights(T) == 32 ? _mm512_mask_blend_ps(0xff00, scale, minimum) : scale;
  return _mm512_permutexvar_ps(_mm512_load_si512(groupOrder<T>.groups), _mm512_mul_ps(all, units));
}

/** The minimums of a superblock's groups in whole numbers: sixteen, or in the upper half eight. */
template <Type T>
inline __m512i wholeMinimums(const std::uint8_t* block) {
  const __m512i packed = _mm512_cvtepu8_epi32(T == Type::Q2_K ? packedMinimums(block) : packedScales<T>(block));
  return _mm512_permutexvar_epi32(_mm512_load_si512(groupOrder<T>.groups), packed);
}

/** The unit of a superblock's minimums. */
template <Type T>
inline float minimumUnit(const std::uint8_t* block) {
  return _mm_cvtss_f32(_mm_movehdup_ps(scaleAndMinimum<T>(block)));
}

/** Unpacked rows: weights, and one scale and minimum per group. */
struct QuantRows {
  std::uint8_t* quants;
  float* scales;
  float* minimums;
};

template <Type T>
void decodeRow(const std::uint8_t* row, std::size_t columns, const QuantRows& out) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  if constexpr (isSuperblock(T)) {
    for (std::size_t i = 0; i < columns / 256; i++) {
      const std::uint8_t* block = row + i * bytes;
      unpackQuants<T>(block, out.quants + 256 * i);
      const __m512 scales = unpackedScales<T>(block);
      if constexpr (scaleWeights(T) == 32) {
        _mm256_storeu_ps(out.scales + 8 * i, _mm512_castps512_ps256(scales));
        _mm256_storeu_ps(out.minimums + 8 * i, _mm512_extractf32x8_ps(scales, 1));
      } else {
        _mm512_storeu_ps(out.scales + 16 * i, scales);
        if constexpr (T == Type::Q2_K) {
          const __m512 minimums = _mm512_cvtepi32_ps(wholeMinimums<T>(block));
          _mm512_storeu_ps(out.minimums + 16 * i, _mm512_mul_ps(minimums, _mm512_set1_ps(minimumUnit<T>(block))));
        }
      }
    }
  } else {
    for (std::size_t i = 0; i < columns / 32; i++) {
      const std::uint8_t* block = row + i * bytes;
      const __m256i weights = _mm512_castsi512_si256(decodeBlocks<T>(block, block));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.quants + i * 32), weights);
      out.scales[i] = blockScale<T>(block);
      if constexpr (formatOf(T).hasMinimum) out.minimums[i] = -halfAt(block + 2);
    }
  }
}

/** An unpacked superblock of a row, with a scale for every `Group` weights. Formats without minimums have a zero point. */
template <std::size_t Group, bool Minimums>
struct alignas(64) Superblock {
  static constexpr std::size_t groups = 256 / Group;
  std::uint8_t quants[256];
  /** Multiples of every group's scale. */
  float scales[groups][mostUnits];
  /** Minimums of two groups each, as words. */
  std::int32_t minimums[Minimums ? groups / 2 : 0];
  /** That of the minimums. */
  float unit;
};

template <Type T>
using SuperblockOf = Superblock<scaleWeights(T), formatOf(T).hasMinimum>;

template <Type T>
inline void decodeSuperblockOf(const std::uint8_t* block, SuperblockOf<T>& out) {
  static_assert(formatOf(T).hasMinimum != (formatOf(T).zeroPoint != 0));
  unpackQuants<T>(block, out.quants);
  alignas(64) float scales[16];
  _mm512_store_ps(scales, unpackedScales<T>(block));
  const __m256 multiples = _mm256_setr_ps(1, 2, 3, 4, 5, 6, 7, mostUnits);
  for (std::size_t g = 0; g < 256 / scaleWeights(T); g++) {
    _mm256_storeu_ps(out.scales[g], _mm256_mul_ps(_mm256_set1_ps(scales[g]), multiples));
  }
  if constexpr (formatOf(T).hasMinimum) {
    const __m256i words = _mm512_cvtepi32_epi16(wholeMinimums<T>(block));
    if constexpr (scaleWeights(T) == 32) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out.minimums), _mm256_extracti128_si256(words, 1));
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.minimums), words);
    }
    out.unit = minimumUnit<T>(block);
  }
}

}  // namespace
}  // namespace hearth
