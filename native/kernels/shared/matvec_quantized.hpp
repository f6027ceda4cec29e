#pragma once
#include "../../formats/unpack.hpp"
#include "../table.hpp"
#include "activations.hpp"

/** Quantized rows times rounded activations: each block is unpacked to bytes, then multiplied by S::dotGroups. */
namespace hearth {
namespace {

template <class S, Type T>
float dotQuantized(const std::uint8_t* row, const Activations& x, std::size_t columns) {
  constexpr std::size_t block = formatOf(T).block;
  constexpr bool hasMinimum = T == Type::Q5_1 || T == Type::Q2_K || T == Type::Q4_K || T == Type::Q5_K;
  Unpacked<block> weights;
  float sum = 0;
  for (std::size_t i = 0; i < columns / block; i++) {
    unpack<T>(row + i * formatOf(T).bytes, weights);
    const float scale = x.scales[i];
    const std::int32_t dot = S::dotGroups(weights.quants, x.quants + i * block, weights.scales, block);
    sum += weights.scale * scale * static_cast<float>(dot);
    if constexpr (hasMinimum) {
      std::int32_t below = 0;
      for (std::size_t group = 0; group < block / 16; group++) {
        below += weights.minimums[group] * x.sums[i * (block / 16) + group];
      }
      sum -= weights.minimum * scale * static_cast<float>(below);
    }
  }
  return sum;
}

template <class S, Type T>
void matvecQuantized(const Rows& rows, const std::byte* activations, float* y) {
  const Activations x = activationsAt(activations, rows.columns);
  const std::size_t stride = rowBytes(T, rows.columns);
  for (std::size_t r = 0; r < rows.count; r++) y[r] = dotQuantized<S, T>(rows.data + r * stride, x, rows.columns);
}

/** Many tokens without a tile: each one's rounded activations, multiplied one after another with rows in the cache. */
template <class S>
std::size_t tokenPackBytes(std::size_t columns) {
  return S::width * quantizedActivationBytes(columns);
}

template <class S, Type T>
void packTokens(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed) {
  for (std::size_t t = 0; t < tokens; t++) {
    quantizeActivations<false>(T, x + t * columns, columns, packed + t * quantizedActivationBytes(columns));
  }
}

inline std::size_t noScratch(std::size_t, std::size_t, std::size_t) { return 0; }

template <class S, Type T>
void matmulByToken(const Product& p) {
  for (std::size_t t = 0; t < p.tokens; t++) {
    matvecQuantized<S, T>(p.rows, p.packs + t * quantizedActivationBytes(p.rows.columns), p.out + t * p.outStride);
  }
}

}  // namespace
}  // namespace hearth
