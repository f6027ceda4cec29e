#pragma once
#include "dot_order.hpp"
#include "pair_sums.hpp"

/** How the products of a superblock, whose weights have a scale for 16 or 32, are added up. */
namespace hearth {
namespace {

/** How often sums of 16 bits may be added in pairs: by the largest size of weights. */
constexpr int narrowSteps(Type type) {
  if (isWide(type)) return 0;
  return type == Type::Q6_K ? 1 : 2;
}

template <bool Narrow>
inline __m256i added(__m256i a, __m256i b) {
  return Narrow ? _mm256_add_epi16(a, b) : _mm256_add_epi32(a, b);
}

inline __m256i widened(__m256i words) { return _mm256_madd_epi16(words, _mm256_set1_epi16(1)); }

/** Two vectors' numbers of 32 bits added in pairs. */
template <bool Narrow>
inline __m256i addPairs(__m256i a, __m256i b) {
  return added<Narrow>(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}
/** The same of 64 bits. */
template <bool Narrow>
inline __m256i addFours(__m256i a, __m256i b) {
  return added<Narrow>(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

/**
 * The sums of each chunk's products, as 32 bits, or 16 that are to be added in pairs: of chunks 0 to 3 in the first, of
 * 4 to 7 in the second, in either the sums of the chunks' first sixteen weights before those of the others.
 */
template <Type T>
inline void sumChunks(const __m256i (&pairs)[8], __m256i (&sums)[2]) {
  constexpr int steps = narrowSteps(T);
  __m256i twos[4];
  for (int i = 0; i < 4; i++) {
    if constexpr (steps == 0) {
      twos[i] = addPairs<false>(widened(pairs[2 * i]), widened(pairs[2 * i + 1]));
    } else {
      twos[i] = addPairs<true>(pairs[2 * i], pairs[2 * i + 1]);
    }
    if constexpr (steps == 1) twos[i] = widened(twos[i]);
  }
  for (int i = 0; i < 2; i++) sums[i] = addFours<(steps > 1)>(twos[2 * i], twos[2 * i + 1]);
}

/** The sums of the chunks, in natural order. */
template <Type T>
inline __m256i sumGroups(const __m256i (&pairs)[8]) {
  __m256i sums[2];
  sumChunks<T>(pairs, sums);
  if constexpr (narrowSteps(T) == 2) {
    for (__m256i& words : sums) words = widened(words);
  }
  return _mm256_add_epi32(_mm256_permute2x128_si256(sums[0], sums[1], 0x20),
                          _mm256_permute2x128_si256(sums[0], sums[1], 0x31));
}

/** The sums of the chunks, which are halved (isHalved), in the order of laneGroups. */
inline __m256i sumHalves(const __m256i (&pairs)[8]) {
  __m256i twos[4];
  for (int i = 0; i < 4; i++) twos[i] = _mm256_add_epi32(widened(pairs[2 * i]), widened(pairs[2 * i + 1]));
  return addFours<false>(addPairs<false>(twos[0], twos[1]), addPairs<false>(twos[2], twos[3]));
}

/** Eight numbers from sixteen bytes. */
inline __m256 floatsOf(__m128i bytes) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)); }

/** Factors of a superblock's sums, for all tokens. */
template <Type T>
struct SuperblockFactors {
  static constexpr bool fine = scaleWeights(T) == 16;
  __m256 scales[2];
  __m256 minimums[2];

  explicit SuperblockFactors(const Superblock<T>& row) {
    const __m256 scale = _mm256_set1_ps(row.scale);
    if constexpr (fine) {
      const __m128i inLanes = _mm_shuffle_epi8(row.scales,
                                               _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
      scales[0] = _mm256_mul_ps(floatsOf(inLanes), scale);
      scales[1] = _mm256_mul_ps(floatsOf(_mm_srli_si128(inLanes, 8)), scale);
    } else {
      const __m128i inLanes = isHalved(T) ? _mm_shuffle_epi8(row.scales, _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, -1, -1, -1,
                                                                                       -1, -1, -1, -1, -1))
                                          : row.scales;
      scales[0] = _mm256_mul_ps(floatsOf(inLanes), scale);
    }
    if constexpr (formatOf(T).hasMinimum) {
      const __m128i bytes = row.groupMinimums();
      const __m256 minimum = _mm256_set1_ps(row.minimum);
      minimums[0] = _mm256_mul_ps(floatsOf(bytes), minimum);
      if constexpr (fine) minimums[1] = _mm256_mul_ps(floatsOf(_mm_srli_si128(bytes, 8)), minimum);
    }
  }
};

/** The same of formats with word scales. */
template <Type T>
  requires(hasWordScales(T))
struct SuperblockFactors<T> {
  /** Factors of the words that sumChunks has. */
  __m256i words[2];
  /** In natural order. */
  __m256i minimums;
  __m256 scale;
  __m256 minimum;

  explicit SuperblockFactors(const Superblock<T>& row) {
    words[0] = _mm256_cvtepi8_epi16(
        _mm_shuffle_epi8(row.scales, _mm_setr_epi8(0, 0, 2, 2, 4, 4, 6, 6, 1, 1, 3, 3, 5, 5, 7, 7)));
    words[1] = _mm256_cvtepi8_epi16(
        _mm_shuffle_epi8(row.scales, _mm_setr_epi8(8, 8, 10, 10, 12, 12, 14, 14, 9, 9, 11, 11, 13, 13, 15, 15)));
    scale = _mm256_set1_ps(row.scale);
    minimums = _mm256_cvtepi8_epi16(row.groupMinimums());
    minimum = _mm256_set1_ps(row.minimum);
  }
};

/** sum += a superblock's products with a token's activations, whose pairs are added already. */
template <Type T>
inline void addChunks(RowSum& sum, const __m256i (&pairs)[8], const SuperblockFactors<T>& row, const Activations& x,
                      std::size_t index) {
  const float* lanes = x.laneScales + 32 * index;
  const auto scaled = [](__m256i dots, const float* scales) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(dots), _mm256_loadu_ps(scales));
  };
  if constexpr (isHalved(T)) {
    sum.products = _mm256_fmadd_ps(scaled(sumHalves(pairs), lanes), row.scales[0], sum.products);
  } else if constexpr (scaleWeights(T) == 32) {
    const __m256 values = scaled(sumGroups<T>(pairs), x.scales + 8 * index);
    sum.products = _mm256_fmadd_ps(values, row.scales[0], sum.products);
    if constexpr (formatOf(T).hasMinimum) {
      sum.below = _mm256_fmadd_ps(row.minimums[0], _mm256_loadu_ps(x.pairSums + 8 * index), sum.below);
    }
  } else {
    __m256i dots[2];
    sumChunks<T>(pairs, dots);
    for (std::size_t i = 0; i < 2; i++) {
      if constexpr (narrowSteps(T) == 2) dots[i] = widened(dots[i]);
      __m256 values = scaled(dots[i], lanes + 16 * i);
      if constexpr (!isSigned(T)) {
        const __m256 zero = _mm256_set1_ps(static_cast<float>(formatOf(T).zeroPoint));
        values = _mm256_fnmadd_ps(_mm256_loadu_ps(lanes + 16 * i + 8), zero, values);
      }
      sum.products = _mm256_fmadd_ps(values, row.scales[i], sum.products);
    }
  }
}

/** The same of formats with word scales. */
template <Type T>
  requires(hasWordScales(T))
inline void addChunks(RowSum& sum, const __m256i (&pairs)[8], const SuperblockFactors<T>& row, const Activations& x,
                      std::size_t index) {
  const float* lanes = x.laneScales + 32 * index;
  __m256i dots[2];
  sumChunks<T>(pairs, dots);
  for (int i = 0; i < 2; i++) dots[i] = _mm256_madd_epi16(dots[i], row.words[i]);
  __m256 values = _mm256_mul_ps(_mm256_cvtepi32_ps(dots[0]), _mm256_loadu_ps(lanes));
  values = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[1]), _mm256_loadu_ps(lanes + 8), values);
  sum.products = _mm256_fmadd_ps(values, row.scale, sum.products);
  const __m256i below = _mm256_madd_epi16(row.minimums, load256(lanes + 16));
  const __m256 scales = _mm256_mul_ps(_mm256_loadu_ps(x.scales + 8 * index), row.minimum);
  sum.below = _mm256_fmadd_ps(_mm256_cvtepi32_ps(below), scales, sum.below);
}

/** sums[i] += a superblock's products with each token's activations. */
template <Type T, std::size_t Tokens>
inline void addSuperblock(RowSum (&sums)[Tokens], const std::uint8_t* block, const Activations (&x)[Tokens],
                          std::size_t index) {
  const Superblock<T> row(block);
  __m256i chunks[8];
  row.forDotChunks([&](auto chunk, __m256i weights) {
    chunks[chunk] = Tokens == 1 ? pairSums<T>(weights, x[0], 256 * index + 32 * chunk) : weights;
  });
  const SuperblockFactors<T> factors(row);
  if constexpr (Tokens == 1) {
    addChunks<T>(sums[0], chunks, factors, x[0], index);
  } else {
    for (std::size_t t = 0; t < Tokens; t++) {
      __m256i pairs[8];
      for (std::size_t c = 0; c < 8; c++) pairs[c] = pairSums<T>(chunks[c], x[t], 256 * index + 32 * c);
      addChunks<T>(sums[t], pairs, factors, x[t], index);
    }
  }
}

}  // namespace
}  // namespace hearth
