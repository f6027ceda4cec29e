#pragma once
#include "session.hpp"

/** Products of bfloat16 by tiles. */
namespace hearth {
namespace {

/** sums, [16·R][32], += R tiles of weights times V tiles of activations, over `blocks` consecutive blocks of each. */
template <std::size_t R, std::size_t V>
inline void addTiles(const std::byte* const (&weights)[2], const std::byte* const (&packs)[2], std::size_t blocks,
                     float* sums) {
  constexpr int sumStride = 128;
  float* const below = sums + 16 * 32;
  _tile_loadd(0, sums, sumStride);
  if constexpr (V == 2) _tile_loadd(1, sums + 16, sumStride);
  if constexpr (R == 2) _tile_loadd(2, below, sumStride);
  if constexpr (R == 2 && V == 2) _tile_loadd(3, below + 16, sumStride);
  for (std::size_t block = 0; block < blocks; block++) {
    _tile_loadd(4, weights[0] + 1024 * block, 64);
    _tile_loadd(6, packs[0] + 1024 * block, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (V == 2) {
      _tile_loadd(7, packs[1] + 1024 * block, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (R == 2) {
      _tile_loadd(5, weights[1] + 1024 * block, 64);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (V == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, sumStride);
  if constexpr (V == 2) _tile_stored(1, sums + 16, sumStride);
  if constexpr (R == 2) _tile_stored(2, below, sumStride);
  if constexpr (R == 2 && V == 2) _tile_stored(3, below + 16, sumStride);
}

/** Multiplier of matmulBf16: two tiles of rows at a time. */
struct TileMultiplier {
  using Session = TileSession;

  template <std::size_t V>
  static void multiply(const std::byte* weights, std::size_t tiles, std::size_t stride,
                       const std::byte* const (&packs)[2], std::size_t blocks, float* sums) {
    constexpr std::size_t tileSums = 16 * 32;
    storeFor(packs[0]);
    std::size_t tile = 0;
    for (; tile + 2 <= tiles; tile += 2) {
      const std::byte* const rows[2] = {weights + tile * stride, weights + (tile + 1) * stride};
      addTiles<2, V>(rows, packs, blocks, sums + tile * tileSums);
    }
    if (tile < tiles) {
      const std::byte* const rows[2] = {weights + tile * stride, nullptr};
      addTiles<1, V>(rows, packs, blocks, sums + tile * tileSums);
    }
  }
};

}  // namespace
}  // namespace hearth
