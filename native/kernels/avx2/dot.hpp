#pragma once
#include "../shared/streams.hpp"
#include "dot_lattices.hpp"
#include "dot_minimums.hpp"
#include "dot_ternary.hpp"
#include "superblock_sums.hpp"

/** Dot products of quantized rows with the activations of a token, or of several. */
namespace hearth {
namespace {

/** sums[i] += a block's products with each token's activations. */
template <Type T, std::size_t Tokens>
inline void addBlock(RowSum (&sums)[Tokens], const std::uint8_t* block, const Activations (&x)[Tokens],
                     std::size_t index) {
  constexpr bool above = !isSigned(T) && formatOf(T).zeroPoint > 0;
  const __m256i weights = decodeBlock<T>(block);
  const __m256 scale = blockScale<T>(block);
  for (std::size_t t = 0; t < Tokens; t++) {
    __m256i dot = _mm256_madd_epi16(pairSums<T>(weights, x[t], 32 * index), _mm256_set1_epi16(1));
    if constexpr (above) dot = _mm256_add_epi32(dot, load256(x[t].corrections + 8 * index));
    const __m256 factor = _mm256_mul_ps(scale, _mm256_broadcast_ss(x[t].scales + index));
    sums[t].products = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), factor, sums[t].products);
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
constexpr std::size_t streams(Type type) { return isSuperblock(type) && !isTernary(type) ? 2 : 4; }

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
    if constexpr (isTernary(T)) {
      dotTernary<T, count>(at, stride, ahead, x, rows.columns, out, 0);
    } else if constexpr (hasBlockMinimum(T)) {
      dotWithMinimums<T, count>(at, stride, ahead, x, rows.columns, out, 0);
    } else if constexpr (isLattice(T)) {
      dotLattices<T, count>(at, stride, ahead, x, rows.columns, out, 0);
    } else {
      dotRows<T, count>(at, stride, ahead, x, rows.columns, out);
    }
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
    if constexpr (isTernary(T)) {
      dotTernary<T, 1>(row, 0, ahead, x, p.rows.columns, y, p.outStride);
    } else if constexpr (hasBlockMinimum(T)) {
      dotWithMinimums<T, 1>(row, 0, ahead, x, p.rows.columns, y, p.outStride);
    } else if constexpr (isLattice(T)) {
      dotLattices<T, 1>(row, 0, ahead, x, p.rows.columns, y, p.outStride);
    } else {
      dotTokens<T>(row, ahead, x, p.rows.columns, y, p.outStride);
    }
  }, rowBytes(T, p.rows.columns));
}

}  // namespace
}  // namespace hearth
