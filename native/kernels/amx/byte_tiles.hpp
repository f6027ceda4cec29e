#pragma once
#include "../avx512/matmul.hpp"
#include "session.hpp"

/**
 * Quantized rows times many tokens in bytes, by tiles: packs, unpacked rows and results are those of
 * avx512/matmul.hpp, bit by bit. A group of weights that share a scale is a tile of 16 rows, as it lies among the
 * unpacked rows, and of a pack what the group is multiplied with is a tile too.
 *
 * A tile is as deep as a group, 32 columns or 16 of 64 that are possible: deeper ones would add up products of different
 * scales. Their sums leave the tile after every product, for a conversion, a multiplication and an addition of 16
 * vectors (one more for a minimum), which at two a cycle take 24 cycles (32) beside 16 of the product.
 */
namespace hearth {
namespace {

inline constexpr std::size_t byteTileRows = 16;

constexpr std::size_t wholeTiles(std::size_t rows) {
  return (rows + byteTileRows - 1) / byteTileRows * byteTileRows;
}

template <Type T>
std::size_t byteTileScratchBytes(std::size_t rows, std::size_t columns, std::size_t tokens) {
  return quantScratchBytes<T>(wholeTiles(rows), columns, tokens);
}

/** dots[16 rows][16 tokens] of one group, by the first tiles or by the second ones. */
template <bool First>
inline void dotGroup(const std::uint8_t* weights, std::size_t stride, const std::int8_t* x, std::int32_t* dots) {
  if constexpr (First) {
    _tile_zero(0);
    _tile_loadd(4, weights, stride);
    _tile_loadd(6, x, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_stored(0, dots, 64);
  } else {
    _tile_zero(1);
    _tile_loadd(5, weights, stride);
    _tile_loadd(7, x, 64);
    _tile_dpbssd(1, 5, 7);
    _tile_stored(1, dots, 64);
  }
}

/** out[row][lane] += Σ over the pass's columns, for 16 rows at a distance of two packs. */
template <Type T>
inline void addByteTiles(const QuantRows& rows, const QuantPass& pass, const QuantPack& pack, float* out) {
  constexpr std::size_t group = scaleWeights(T);
  const std::size_t groups = pass.columns / group;
  const std::size_t stride = quantStride(pass.columns);
  alignas(64) std::int32_t dots[2][byteTileRows * packLanes];
  __m512 sums[byteTileRows];
  for (std::size_t r = 0; r < byteTileRows; r++) sums[r] = _mm512_loadu_ps(out + r * 2 * packLanes);
  const auto addGroup = [&]<bool First>(std::size_t g) __attribute__((always_inline)) {
    std::int32_t* own = dots[First ? 0 : 1];
    dotGroup<First>(rows.quants + g * group, stride, pack.quants + g * group * packLanes, own);
    const __m512 xScale = _mm512_loadu_ps(pack.scales + g * packLanes);
    for (std::size_t r = 0; r < byteTileRows; r++) {
      const __m512 scale = _mm512_mul_ps(xScale, _mm512_set1_ps(rows.scales[r * groups + g]));
      sums[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(own + r * packLanes)), scale, sums[r]);
    }
    if constexpr (formatOf(T).hasMinimum) {
      const __m512 xSum = _mm512_loadu_ps(pack.sums + g * packLanes);
      for (std::size_t r = 0; r < byteTileRows; r++) {
        sums[r] = _mm512_fnmadd_ps(_mm512_set1_ps(rows.minimums[r * groups + g]), xSum, sums[r]);
      }
    }
  };
  // Two by turns, so that a product doesn't wait for the sums before to be stored.
  std::size_t g = pass.firstGroup;
  for (; g + 2 <= pass.endGroup; g += 2) {
    addGroup.template operator()<true>(g);
    addGroup.template operator()<false>(g + 1);
  }
  if (g < pass.endGroup) addGroup.template operator()<true>(g);
  for (std::size_t r = 0; r < byteTileRows; r++) _mm512_storeu_ps(out + r * 2 * packLanes, sums[r]);
}

/** Unpacks a row as signed bytes. */
template <Type T>
void decodeSigned(const std::uint8_t* row, std::size_t columns, const QuantRows& out) {
  decodeRow<T>(row, columns, out);
  if constexpr (formatOf(T).zeroPoint != 0) {
    const __m256i zero = _mm256_set1_epi8(static_cast<char>(formatOf(T).zeroPoint));
    for (std::size_t c = 0; c < columns; c += 32) {
      auto* at = reinterpret_cast<__m256i*>(out.quants + c);
      _mm256_storeu_si256(at, _mm256_sub_epi8(_mm256_loadu_si256(at), zero));
    }
  }
}

template <Type T>
void matmulByteTiles(const Product& p) {
  const std::size_t columns = p.rows.columns;
  const std::size_t count = p.rows.count;
  const std::size_t groups = columns / scaleWeights(T);
  const std::size_t lanes = 2 * packLanes;
  const std::size_t packBytes = quantPackBytes<T, Rounding::byte>(columns);
  const std::size_t allRows = wholeTiles(count);
  const QuantScratch scratch = quantScratchAt<T>(p.scratch, allRows, columns);
  for (std::size_t r = 0; r < allRows; r++) {
    const QuantRows row = rowAt<T>(scratch.rows, r, columns);
    if (r < count) {
      decodeSigned<T>(p.rows.data + r * rowBytes(T, columns), columns, row);
    } else {
      __builtin_memset(row.quants, 0, columns);
      __builtin_memset(row.scales, 0, groups * sizeof(float));
      __builtin_memset(row.minimums, 0, groups * sizeof(float));
    }
  }
  const TileSession session(scaleWeights(T));
  for (std::size_t token = 0; token < p.tokens; token += lanes) {
    const std::size_t tokens = p.tokens - token < lanes ? p.tokens - token : lanes;
    __builtin_memset(scratch.sums, 0, allRows * lanes * sizeof(float));
    constexpr std::size_t step = quantColumns / scaleWeights(T);
    for (std::size_t g = 0; g < groups; g += step) {
      const QuantPass pass{columns, g, g + step < groups ? g + step : groups};
      for (std::size_t r = 0; r < allRows; r += byteTileRows) {
        for (std::size_t t = 0; t < tokens; t += packLanes) {
          const QuantPack pack =
              quantPackAt<T, Rounding::byte>(p.packs + (token + t) / packLanes * packBytes, columns);
          addByteTiles<T>(rowAt<T>(scratch.rows, r, columns), pass, pack, scratch.sums + r * lanes + t);
        }
      }
    }
    scatterTransposed(scratch.sums, count, tokens, p.out + token * p.outStride, p.outStride);
  }
}

/** Makes a table of AVX-512 multiply every format that has a decoder this way. */
void setQuantizedByteTiles(KernelTable& table) {
  forEachType([&table]<Type T>() {
    if constexpr (HasDecoder<T>) {
      ManyTokens& many = table.manyTokensBytes[static_cast<std::size_t>(T)];
      many.scratchBytes = byteTileScratchBytes<T>;
      many.multiply = matmulByteTiles<T>;
    }
  });
}

}  // namespace
}  // namespace hearth
