#pragma once
#include "../../formats/unpack.hpp"
#include "../table.hpp"
#include "activations.hpp"

/**
 * Dot products of quantized rows of every format with rounded activations: each block is unpacked to bytes, then
 * multiplied by S::dotGroups.
 */
namespace hearth {
namespace {

template <class S, Type T>
float dotQuantized(const std::uint8_t* row, const Activations& x, std::size_t columns) {
  constexpr std::size_t block = formatOf(T).block;
  Unpacked<block> weights;
  auto sums = S::set(0);
  float below = 0;
  for (std::size_t i = 0; i < columns / block; i++) {
    unpack<T>(row + i * formatOf(T).bytes, weights);
    const auto dots = S::dotGroups(weights.quants, x.high + i * block, x.low + i * block, weights.scales, block);
    sums = S::multiplyAdd(dots, S::set(weights.scale * x.scales[i]), sums);
    if constexpr (formatOf(T).hasMinimum) {
      float products = 0;
      for (std::size_t group = 0; group < block / 16; group++) {
        products += static_cast<float>(weights.minimums[group]) * x.sums[i * (block / 16) + group];
      }
      below += weights.minimum * products;
    }
  }
  return S::sum(sums) - below;
}

template <class S, Type T>
void matvecQuantized(const Rows& rows, const std::byte* activations, float* y) {
  const Activations x = activationsAt(activations, rows.columns);
  const std::size_t stride = rowBytes(T, rows.columns);
  for (std::size_t r = 0; r < rows.count; r++) y[r] = dotQuantized<S, T>(rows.data + r * stride, x, rows.columns);
}

}  // namespace
}  // namespace hearth
