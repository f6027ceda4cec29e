#pragma once
#include "../shared/activations.hpp"
#include "decode.hpp"
#include "dot_order.hpp"
#include "dot_side_by_side.hpp"

/**
 * Dot products of rows of the I-quants of less than four bits. Sizes are unsigned, so that the weights' signs go to the
 * activations; the points of IQ1_S and IQ1_M are raised to be unsigned, which their moves take back: what is to be added
 * for them are sums of activations. A chunk's products leave the integers with their groups' scales.
 */
namespace hearth {
namespace {

/** Scales of a superblock's activations. Stands in Activations::low. */
struct ChunkScales {
  /** Scale of each chunk, in all lanes. */
  float lanes[8][8];
};
/** Factors of moves. Stands in Activations::laneScales. */
struct PointSums {
  /** Sums of the activations of each eight, in whole numbers. */
  std::int16_t sums[32];
  /** Scale of every sixteen activations. */
  float scales[16];
};

inline const ChunkScales& chunkScalesOf(const Activations& x, std::size_t index) {
  return reinterpret_cast<const ChunkScales*>(x.low)[index];
}
inline const PointSums& pointSumsOf(const Activations& x, std::size_t index) {
  return reinterpret_cast<const PointSums*>(x.laneScales)[index];
}

/** Writes ChunkScales. */
inline void setChunkScales(const Activations& x, std::size_t columns) {
  auto* out = reinterpret_cast<ChunkScales*>(x.low);
  for (std::size_t i = 0; i < columns / 32; i++) {
    for (float& lane : out[i / 8].lanes[i % 8]) lane = x.scales[i];
  }
}

/** Writes PointSums. */
inline void setPointSums(const Activations& x, std::size_t columns) {
  auto* out = reinterpret_cast<PointSums*>(x.laneScales);
  for (std::size_t point = 0; point < columns / 8; point++) {
    int sum = 0;
    for (std::size_t c = 0; c < 8; c++) sum += x.high[8 * point + c];
    out[point / 32].sums[point % 32] = static_cast<std::int16_t>(sum);
  }
  for (std::size_t group = 0; group < columns / 16; group++) out[group / 16].scales[group % 16] = x.scales[group / 2];
}

/** Amount by which the points of IQ1_S and IQ1_M are raised. */
inline constexpr int raised = 8;

/** The scales of a superblock's groups as words: chunk c's in the c-th words of both lanes, of which each has a group. */
template <Type T>
inline __m256i groupWords(__m128i scales) {
  if constexpr (scaleWeights(T) == 32) return _mm256_broadcastsi128_si256(_mm_cvtepi8_epi16(scales));
  return _mm256_cvtepi8_epi16(
      _mm_shuffle_epi8(scales, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15)));
}

/** Eight sums of moves times activations, scaled, of the sixteen points that follow the first 16·half. */
template <int half>
inline __m256 movedHalf(__m128i scales, const std::uint8_t* moves, const PointSums& x) {
  static constexpr Spread<2> spread(8 * half);
  const __m256i bits = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load128(moves)), load256(spread.places));
  const __m256i up = _mm256_cmpeq_epi16(_mm256_and_si256(bits, _mm256_set1_epi32(0x800008)), _mm256_setzero_si256());
  // One up from what was raised, or one down.
  const __m256i by = _mm256_add_epi16(_mm256_and_si256(up, _mm256_set1_epi16(2)), _mm256_set1_epi16(-raised - 1));
  const __m128i two = _mm_shuffle_epi8(scales, _mm_add_epi8(_mm_setr_epi8(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7),
                                                            _mm_set1_epi8(8 * half)));
  const __m256i sums = _mm256_madd_epi16(_mm256_mullo_epi16(by, load256(x.sums + 16 * half)), _mm256_cvtepi8_epi16(two));
  return _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_loadu_ps(x.scales + 8 * half));
}

/** Eight sums of moves times activations, scaled. */
template <Type T>
inline __m256 movedSums(const std::uint8_t* block, __m128i scales, const Activations& x, std::size_t index) {
  if constexpr (T == Type::IQ1_S) {
    // The bit of the sign is set where the chunk is moved down. Not in whole numbers of 32 bits: where one of two factors
    // was widened from bytes, GCC 12 multiplies both as 16 bits.
    const __m256 down = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load128(block + 34)), 16));
    const __m256 by = _mm256_blendv_ps(_mm256_set1_ps(1 - raised), _mm256_set1_ps(-1 - raised), down);
    const __m256 factors = _mm256_mul_ps(by, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(scales)));
    return _mm256_mul_ps(factors, _mm256_loadu_ps(x.pairSums + 8 * index));
  } else {
    const PointSums& sums = pointSumsOf(x, index);
    return _mm256_add_ps(movedHalf<0>(scales, block + 32, sums), movedHalf<1>(scales, block + 32, sums));
  }
}

/** sums[row][token] += the products of the index-th superblocks of `Count` rows and `Tokens` tokens. */
template <Type T, std::size_t Count, std::size_t Tokens>
[[gnu::always_inline]] inline void addLattices(__m256 (&sums)[Count][Tokens], const std::uint8_t* rows, std::size_t stride,
                                               const Activations (&x)[Tokens], std::size_t index) {
  LatticeChunks<T> chunks[Count];
  // Scales of chunks 0 to 3 and 4 to 7, twice in each number of 32 bits.
  __m256i words[Count][2];
  __m256 values[Count][Tokens];
  forEach<Count>([&](auto r) {
    const std::uint8_t* block = rows + r * stride + index * formatOf(T).bytes;
    chunks[r].take(block);
    const __m128i scales = latticeScales<T>(block);
    const __m256i all = groupWords<T>(scales);
    words[r][0] = _mm256_unpacklo_epi16(all, all);
    words[r][1] = _mm256_unpackhi_epi16(all, all);
    if constexpr (isMoved(T)) forEach<Tokens>([&](auto t) { values[r][t] = movedSums<T>(block, scales, x[t], index); });
  });
  forEach<8>([&](auto chunk) {
    __m256i sizes[Count], signs[Count], scale[Count];
    forEach<Count>([&](auto r) {
      scale[r] = _mm256_shuffle_epi32(words[r][chunk / 4], 0x55 * (chunk % 4));
      sizes[r] = chunks[r].template values<chunk>();
      if constexpr (isMoved(T)) sizes[r] = _mm256_add_epi8(sizes[r], _mm256_set1_epi8(raised));
      if constexpr (!isMoved(T)) signs[r] = chunks[r].template signs<chunk>();
    });
    forEach<Tokens>([&](auto t) {
      const __m256i own = load256(x[t].high + 256 * index + 32 * chunk);
      const __m256 by = _mm256_loadu_ps(chunkScalesOf(x[t], index).lanes[chunk]);
      forEach<Count>([&](auto r) {
        __m256i signedOwn = own;
        if constexpr (!isMoved(T)) signedOwn = _mm256_sign_epi8(own, signs[r]);
        const __m256 dots = _mm256_cvtepi32_ps(_mm256_madd_epi16(_mm256_maddubs_epi16(sizes[r], signedOwn), scale[r]));
        values[r][t] = chunk == 0 && !isMoved(T) ? _mm256_mul_ps(dots, by) : _mm256_fmadd_ps(dots, by, values[r][t]);
      });
    });
  });
  forEach<Count>([&](auto r) {
    const __m256 scale = _mm256_set1_ps(latticeScale<T>(chunks[r].block));
    forEach<Tokens>([&](auto t) { sums[r][t] = _mm256_fmadd_ps(values[r][t], scale, sums[r][t]); });
  });
}

template <Type T, std::size_t Count, std::size_t Tokens>
[[gnu::flatten]] inline void dotLattices(const std::uint8_t* rows, std::size_t stride, std::size_t ahead,
                                         const Activations (&x)[Tokens], std::size_t columns, float* y,
                                         std::size_t yStride) {
  const auto add = [&](auto& sums, std::size_t i) __attribute__((always_inline)) {
    addLattices<T>(sums, rows, stride, x, i);
  };
  dotSideBySide<T, Count, Tokens>(rows, stride, ahead, columns, y, yStride, add);
}

}  // namespace
}  // namespace hearth
