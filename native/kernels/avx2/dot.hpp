#pragma once
#include "../shared/activations.hpp"
#include "../shared/streams.hpp"
#include "decode.hpp"

/**
 * Dot products of quantized rows with activations of bytes. An instruction multiplies unsigned bytes with signed ones and
 * adds two products as 16 bits, which saturate: weights of at most 126 are multiplied as they are, signed ones (isSigned)
 * by their size, with their signs moved to the activations.
 */
namespace hearth {
namespace {

/** Sums of two products of 32 weights, as 16 bits. */
template <Type T>
inline __m256i pairSums(__m256i weights, __m256i x) {
  if constexpr (isSigned(T)) return _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(x, weights));
  return _mm256_maddubs_epi16(weights, x);
}

/** A row's products with a token's activations: of weights above zero, and what is to be subtracted. */
struct RowSum {
  __m256 products = _mm256_setzero_ps();
  __m256 below = _mm256_setzero_ps();

  [[nodiscard]] float total() const { return Avx2::sum(_mm256_sub_ps(products, below)); }
};

inline __m256 broadcast(const float* at) { return _mm256_broadcast_ss(at); }

/** The scales of a superblock's groups, each twice: of the first eight groups, of the last eight. */
struct GroupScales {
  __m256i halves[2];

  explicit GroupScales(__m128i bytes) {
    const __m256i words = _mm256_cvtepi8_epi16(bytes);
    halves[0] = _mm256_permute2x128_si256(words, words, 0x00);
    halves[1] = _mm256_permute2x128_si256(words, words, 0x11);
  }

  /** The scales of the two groups of a chunk, in the words of their pairs. */
  template <int Chunk>
  [[nodiscard]] __m256i of() const {
    constexpr long long first = 0x0101010101010101 * (Chunk % 4 * 4) + 0x0100010001000100;
    constexpr long long second = first + 0x0202020202020202;
    return _mm256_shuffle_epi8(halves[Chunk / 4], _mm256_setr_epi64x(first, first, second, second));
  }
};

/** sums[i] += a superblock's products with each token's activations. */
template <Type T, std::size_t Tokens>
inline void addSuperblock(RowSum (&sums)[Tokens], const std::uint8_t* block, const Activations (&x)[Tokens],
                          std::size_t index) {
  const Superblock<T> row(block);
  const __m128i bytes = [&row] {
    if constexpr (hasOneScale(T)) return _mm_set1_epi8(1);
    return row.groupScales();
  }();
  const GroupScales scales(bytes);
  // Sums of even and of odd chunks: one sum would wait for itself.
  __m256 dots[2][Tokens];
  for (auto& parts : dots) {
    for (__m256& dot : parts) dot = _mm256_setzero_ps();
  }
  row.forChunks([&](auto chunk, __m256i weights) {
    const __m256i factors = hasOneScale(T) ? _mm256_set1_epi16(1) : scales.template of<chunk>();
    for (std::size_t t = 0; t < Tokens; t++) {
      const __m256i pairs = pairSums<T>(weights, load256(x[t].high + 256 * index + 32 * chunk));
      const __m256 scaled = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, factors));
      __m256& dot = dots[chunk % 2][t];
      dot = _mm256_fmadd_ps(scaled, broadcast(x[t].scales + 8 * index + chunk), dot);
    }
  });
  const __m256 scale = _mm256_set1_ps(row.scale);
  if constexpr (!isSigned(T)) {
    // In units of the superblock's scale or minimum: what each group's activations, summed, are multiplied with.
    const auto subtract = [&](__m128i levels, const float* (*of)(const Activations&), std::size_t at, __m256 unit) {
      const __m256 factors = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(levels)), unit);
      for (std::size_t t = 0; t < Tokens; t++) {
        sums[t].below = _mm256_fmadd_ps(factors, _mm256_loadu_ps(of(x[t]) + at), sums[t].below);
      }
    };
    const auto ofGroups = [](const Activations& a) -> const float* { return a.sums; };
    const auto ofPairs = [](const Activations& a) -> const float* { return a.pairSums; };
    const __m256 unit = formatOf(T).hasMinimum
                            ? _mm256_set1_ps(row.minimum)
                            : _mm256_mul_ps(scale, _mm256_set1_ps(static_cast<float>(formatOf(T).zeroPoint)));
    if constexpr (hasOneScale(T)) {
      subtract(bytes, ofPairs, 8 * index, unit);
    } else if constexpr (scaleWeights(T) == 32) {
      subtract(row.groupMinimums(), ofPairs, 8 * index, unit);
    } else {
      const __m128i levels = [&] {
        if constexpr (formatOf(T).hasMinimum) return row.groupMinimums();
        return bytes;
      }();
      subtract(levels, ofGroups, 16 * index, unit);
      subtract(_mm_srli_si128(levels, 8), ofGroups, 16 * index + 8, unit);
    }
  }
  for (std::size_t t = 0; t < Tokens; t++) {
    sums[t].products = _mm256_fmadd_ps(_mm256_add_ps(dots[0][t], dots[1][t]), scale, sums[t].products);
  }
}

/** sums[i] += a block's products with each token's activations. */
template <Type T, std::size_t Tokens>
inline void addBlock(RowSum (&sums)[Tokens], const std::uint8_t* block, const Activations (&x)[Tokens],
                     std::size_t index) {
  const __m256i weights = decodeBlock<T>(block);
  const __m256 scale = blockScale<T>(block);
  for (std::size_t t = 0; t < Tokens; t++) {
    __m256i dot = _mm256_madd_epi16(pairSums<T>(weights, load256(x[t].high + 32 * index)), _mm256_set1_epi16(1));
    if constexpr (!isSigned(T) && !formatOf(T).hasMinimum) {
      dot = _mm256_add_epi32(dot, load256(x[t].corrections + 8 * index));
    }
    const __m256 factor = _mm256_mul_ps(scale, broadcast(x[t].scales + index));
    sums[t].products = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), factor, sums[t].products);
    if constexpr (formatOf(T).hasMinimum) {
      // The file's minimum is added: its negative is subtracted.
      const __m128 minimum = _mm_cvtph_ps(_mm_cvtsi32_si128(load16(block + 2)));
      const __m128 below = _mm_fnmadd_ss(minimum, _mm_load_ss(x[t].pairSums + index), _mm256_castps256_ps128(sums[t].below));
      sums[t].below = _mm256_zextps128_ps256(below);
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
