#pragma once
#include "../shared/activations.hpp"
#include "../shared/streams.hpp"
#include "decode.hpp"

/**
 * Dot products of quantized rows with activations of bytes. An instruction multiplies unsigned bytes with signed ones and
 * adds two products as 16 bits, which saturate: unsigned weights, at most 63, are multiplied as they are, signed ones
 * (isSigned) with the sizes of the activations, whose signs are moved to the weights; those of Q8_0 the other way round.
 */
namespace hearth {
namespace {

/** Sums of two products of 32 weights and activations from `at` on, as 16 bits. */
template <Type T>
inline __m256i pairSums(__m256i weights, const Activations& x, std::size_t at) {
  const __m256i values = load256(x.high + at);
  // Weights of −128 have no negative, unlike activations.
  if constexpr (T == Type::Q8_0) return _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(values, weights));
  if constexpr (isSigned(T)) return _mm256_maddubs_epi16(load256(x.low + at), _mm256_sign_epi8(weights, values));
  return _mm256_maddubs_epi16(weights, values);
}

/** A row's products with a token's activations: of weights above zero, and what is to be subtracted. */
struct RowSum {
  __m256 products = _mm256_setzero_ps();
  __m256 below = _mm256_setzero_ps();

  [[nodiscard]] float total() const { return Avx2::sum(_mm256_sub_ps(products, below)); }
};

/**
 * The numbers of the vectors of a superblock's products, for formats with a scale for 16: lane i of the first is that of
 * group laneGroups[i], of the second that of the eight groups behind them.
 */
inline constexpr std::size_t laneGroups[8] = {0, 2, 4, 6, 1, 3, 5, 7};

/** How often sums of 16 bits may be added in pairs: by the largest size of weights. */
constexpr int narrowSteps(Type type) {
  if (isWide(type)) return 0;
  return isLattice(type) || type == Type::Q6_K ? 1 : 2;
}

template <bool Narrow>
inline __m256i added(__m256i a, __m256i b) {
  return Narrow ? _mm256_add_epi16(a, b) : _mm256_add_epi32(a, b);
}

/**
 * The sums of each chunk's products, as 32 bits: of chunks 0 to 3 in the first, of 4 to 7 in the second, in either the
 * sums of the chunks' first sixteen weights before those of the others.
 */
template <Type T>
inline void sumChunks(const __m256i (&pairs)[8], __m256i (&sums)[2]) {
  constexpr int steps = narrowSteps(T);
  const auto widened = [](__m256i words) { return _mm256_madd_epi16(words, _mm256_set1_epi16(1)); };
  __m256i twos[4];
  for (int i = 0; i < 4; i++) {
    const __m256i a = steps == 0 ? widened(pairs[2 * i]) : pairs[2 * i];
    const __m256i b = steps == 0 ? widened(pairs[2 * i + 1]) : pairs[2 * i + 1];
    twos[i] = added<(steps > 0)>(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    if constexpr (steps == 1) twos[i] = widened(twos[i]);
  }
  for (int i = 0; i < 2; i++) {
    const __m256i a = twos[2 * i];
    const __m256i b = twos[2 * i + 1];
    sums[i] = added<(steps > 1)>(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    if constexpr (steps > 1) sums[i] = widened(sums[i]);
  }
}

/** Eight numbers from sixteen bytes. */
inline __m256 floatsOf(__m128i bytes) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)); }

/** What a superblock's sums are multiplied with, for all tokens. */
template <Type T>
struct SuperblockFactors {
  static constexpr bool fine = scaleWeights(T) == 16;
  __m256 scales[2];
  __m256 minimums[2];

  explicit SuperblockFactors(const Superblock<T>& row) {
    const __m256 scale = _mm256_set1_ps(row.scale);
    if constexpr (hasOneScale(T)) {
      scales[0] = scale;
    } else if constexpr (fine) {
      const __m128i inLanes = _mm_shuffle_epi8(row.scales,
                                               _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
      scales[0] = _mm256_mul_ps(floatsOf(inLanes), scale);
      scales[1] = _mm256_mul_ps(floatsOf(_mm_srli_si128(inLanes, 8)), scale);
    } else {
      scales[0] = _mm256_mul_ps(floatsOf(row.scales), scale);
    }
    if constexpr (formatOf(T).hasMinimum) {
      const __m128i bytes = row.groupMinimums();
      const __m256 minimum = _mm256_set1_ps(row.minimum);
      minimums[0] = _mm256_mul_ps(floatsOf(bytes), minimum);
      if constexpr (fine) minimums[1] = _mm256_mul_ps(floatsOf(_mm_srli_si128(bytes, 8)), minimum);
    }
  }
};

/** sum += a superblock's products with a token's activations, whose pairs are added already. */
template <Type T>
inline void addChunks(RowSum& sum, const __m256i (&pairs)[8], const SuperblockFactors<T>& row, const Activations& x,
                      std::size_t index) {
  constexpr bool above = !isSigned(T) && formatOf(T).zeroPoint > 0;
  __m256i dots[2];
  sumChunks<T>(pairs, dots);
  if constexpr (scaleWeights(T) == 32) {
    const __m256i all = _mm256_add_epi32(_mm256_permute2x128_si256(dots[0], dots[1], 0x20),
                                         _mm256_permute2x128_si256(dots[0], dots[1], 0x31));
    const __m256 sums = _mm256_loadu_ps(x.pairSums + 8 * index);
    const __m256 scales = _mm256_loadu_ps(x.scales + 8 * index);
    __m256 values = _mm256_mul_ps(_mm256_cvtepi32_ps(all), scales);
    if constexpr (above) {
      static_assert(formatOf(T).zeroPoint == 1);
      values = _mm256_fmsub_ps(_mm256_cvtepi32_ps(all), scales, sums);
    }
    sum.products = _mm256_fmadd_ps(values, row.scales[0], sum.products);
    if constexpr (formatOf(T).hasMinimum) sum.below = _mm256_fmadd_ps(row.minimums[0], sums, sum.below);
  } else {
    for (std::size_t i = 0; i < 2; i++) {
      const float* lanes = x.laneScales + 32 * index + 16 * i;
      __m256 values = _mm256_mul_ps(_mm256_cvtepi32_ps(dots[i]), _mm256_loadu_ps(lanes));
      if constexpr (above) {
        const __m256 zero = _mm256_set1_ps(static_cast<float>(formatOf(T).zeroPoint));
        values = _mm256_fnmadd_ps(_mm256_loadu_ps(lanes + 8), zero, values);
      }
      sum.products = _mm256_fmadd_ps(values, row.scales[i], sum.products);
      if constexpr (formatOf(T).hasMinimum) {
        const __m256 sums = _mm256_loadu_ps(x.sums + 16 * index + 8 * i);
        sum.below = _mm256_fmadd_ps(row.minimums[i], sums, sum.below);
      }
    }
  }
}

/** Writes the sizes of activations where their second bytes would be. */
inline void setSizes(const Activations& x, std::size_t columns) {
  for (std::size_t c = 0; c < columns; c += 32) store256(x.low + c, _mm256_abs_epi8(load256(x.high + c)));
}

/** Writes what addBlock reads of laneScales: of each block four numbers, the second of which is its sum. */
inline void setSums(const Activations& x, std::size_t columns) {
  for (std::size_t i = 0; i < columns / 32; i++) {
    _mm_storeu_ps(x.laneScales + 4 * i, _mm_setr_ps(0, x.pairSums[i], 0, 0));
  }
}

/** Writes what addChunks reads of laneScales: of each eight groups the scales, then the sums, in its lanes. */
inline void setLanes(const Activations& x, std::size_t columns) {
  for (std::size_t i = 0; i < columns / 128; i++) {
    for (std::size_t lane = 0; lane < 8; lane++) {
      const std::size_t group = 8 * i + laneGroups[lane];
      x.laneScales[16 * i + lane] = x.scales[group / 2];
      x.laneScales[16 * i + 8 + lane] = x.sums[group];
    }
  }
}

/** sums[i] += a superblock's products with each token's activations. */
template <Type T, std::size_t Tokens>
inline void addSuperblock(RowSum (&sums)[Tokens], const std::uint8_t* block, const Activations (&x)[Tokens],
                          std::size_t index) {
  const Superblock<T> row(block);
  __m256i chunks[8];
  row.forChunks([&](auto chunk, __m256i weights) {
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

/** sums[i] += a block's products with each token's activations. */
template <Type T, std::size_t Tokens>
inline void addBlock(RowSum (&sums)[Tokens], const std::uint8_t* block, const Activations (&x)[Tokens],
                     std::size_t index) {
  constexpr bool above = !isSigned(T) && formatOf(T).zeroPoint > 0;
  const __m256i weights = decodeBlock<T>(block);
  // The scale and the minimum, as the first two of four floats.
  __m128 both = _mm_setzero_ps();
  if constexpr (formatOf(T).hasMinimum) both = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load32(block))));
  const __m256 scale = formatOf(T).hasMinimum ? _mm256_broadcastss_ps(both) : blockScale<T>(block);
  for (std::size_t t = 0; t < Tokens; t++) {
    __m256i dot = _mm256_madd_epi16(pairSums<T>(weights, x[t], 32 * index), _mm256_set1_epi16(1));
    if constexpr (above) dot = _mm256_add_epi32(dot, load256(x[t].corrections + 8 * index));
    const __m256 factor = _mm256_mul_ps(scale, _mm256_broadcast_ss(x[t].scales + index));
    sums[t].products = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), factor, sums[t].products);
    if constexpr (formatOf(T).hasMinimum) {
      // The file's minimum is added: its negative is subtracted.
      const __m128 below = _mm256_castps256_ps128(sums[t].below);
      sums[t].below = _mm256_zextps128_ps256(_mm_fnmadd_ps(both, _mm_loadu_ps(x[t].laneScales + 4 * index), below));
    }
  }
}

template <Type T, std::size_t Tokens>
inline void addWeights(RowSum (&sums)[Tokens], const std::uint8_t* block, const Activations (&x)[Tokens],
                       std::size_t index) {
  if constexpr (isSuperblock(T)) {
    addSuperblock<T>(sums, block, x, index);
  } else {
    addBlock<T>(sums, block, x, index);
  }
}

/** Rows multiplied side by side. */
constexpr std::size_t streams(Type type) { return isSuperblock(type) ? 2 : 4; }

/** y of `Count` rows. Compilers would otherwise call what takes blocks apart, with registers through memory. */
template <Type T, std::size_t Count>
[[gnu::flatten]] inline void dotRows(const std::uint8_t* rows, std::size_t stride, std::size_t ahead, const Activations (&x)[1],
                    std::size_t columns, float* y) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  RowSum sums[Count][1];
  for (std::size_t i = 0; i < columns / formatOf(T).block; i++) {
    for (std::size_t r = 0; r < Count; r++) {
      const std::uint8_t* block = rows + r * stride + i * bytes;
      prefetchLines(block + ahead, bytes);
      addWeights<T>(sums[r], block, x, i);
    }
  }
  for (std::size_t r = 0; r < Count; r++) y[r] = sums[r][0].total();
}

template <Type T>
void matvecBytes(const Rows& rows, const std::byte* activations, float* y) {
  const Activations x[1] = {activationsAt(activations, rows.columns)};
  const std::size_t stride = rowBytes(T, rows.columns);
  inGroups<streams(T)>(rows, stride, y, [&](const std::uint8_t* at, std::size_t ahead, float* out, auto count) {
    dotRows<T, count>(at, stride, ahead, x, rows.columns, out);
  });
}

/** The products of one row and `Tokens` tokens, with the row unpacked once; those of dotRows, bit by bit. */
template <Type T, std::size_t Tokens>
[[gnu::flatten]] inline void dotTokens(const std::uint8_t* row, std::size_t ahead, const Activations (&x)[Tokens], std::size_t columns,
                      float* y, std::size_t stride) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  RowSum sums[Tokens];
  for (std::size_t i = 0; i < columns / formatOf(T).block; i++) {
    prefetchLines(row + i * bytes + ahead, bytes);
    addWeights<T>(sums, row + i * bytes, x, i);
  }
  for (std::size_t t = 0; t < Tokens; t++) y[t * stride] = sums[t].total();
}

template <Type T>
void matvecsBytes(const Matvecs& p) {
  byTokens(p, [&](const std::uint8_t* row, std::size_t ahead, const auto& x, float* y) {
    dotTokens<T>(row, ahead, x, p.rows.columns, y, p.outStride);
  }, rowBytes(T, p.rows.columns));
}

}  // namespace
}  // namespace hearth
