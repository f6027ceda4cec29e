#pragma once
#include "activations.hpp"
#include "rows.hpp"

/**
 * Rows of any format, widened to single precision, times many tokens, exactly. Lanes are tokens: x is packed
 * [column][lane] once for all rows, so that a widened weight is broadcast against it and weights needn't be transposed.
 * A tile of tileRows rows by two vectors of tokens stays in registers over a block of columns.
 */
namespace hearth {
namespace {

/** Columns per pass: two packs of x and a unit's widened weights stay in the second-level cache. */
inline constexpr std::size_t columnBlock = 512;
/** Padding of a row: rows at a distance of a power of two would share cache sets, which can't hold a tile's rows. */
inline constexpr std::size_t rowPadding = 16;

template <class S>
std::size_t floatPackBytes(std::size_t columns) {
  return roundUp64(columns * S::width * sizeof(float));
}

template <class S>
void packFloats(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed) {
  auto* out = reinterpret_cast<float*>(packed);
  for (std::size_t lane = 0; lane < S::width; lane++) {
    if (lane < tokens) {
      for (std::size_t c = 0; c < columns; c++) out[c * S::width + lane] = x[lane * columns + c];
    } else {
      for (std::size_t c = 0; c < columns; c++) out[c * S::width + lane] = 0;
    }
  }
}

template <class S>
std::size_t floatScratchBytes(std::size_t rows, std::size_t columns, std::size_t tokens) {
  const std::size_t block = columns < columnBlock ? columns : columnBlock;
  const std::size_t lanes = 2 * S::width;
  return roundUp64(rows * (block + rowPadding) * sizeof(float)) +
         roundUp64(rows * ((tokens + lanes - 1) / lanes * lanes) * sizeof(float));
}

/** sums[row][V vectors] += Σ weights[row][c]·x[c] for R rows. */
template <class S, std::size_t R, std::size_t V>
void floatTile(const float* weights, std::size_t stride, std::size_t columns, const float* x0, const float* x1,
               float* sums) {
  typename S::Floats tile[R][V];
  for (std::size_t r = 0; r < R; r++) {
    for (std::size_t v = 0; v < V; v++) tile[r][v] = S::load(sums + (r * 2 + v) * S::width);
  }
  for (std::size_t c = 0; c < columns; c++) {
    typename S::Floats x[V];
    x[0] = S::load(x0 + c * S::width);
    if constexpr (V == 2) x[1] = S::load(x1 + c * S::width);
    for (std::size_t r = 0; r < R; r++) {
      const auto weight = S::set(weights[r * stride + c]);
      for (std::size_t v = 0; v < V; v++) tile[r][v] = S::multiplyAdd(weight, x[v], tile[r][v]);
    }
  }
  for (std::size_t r = 0; r < R; r++) {
    for (std::size_t v = 0; v < V; v++) S::store(sums + (r * 2 + v) * S::width, tile[r][v]);
  }
}

/** Tiles of R rows, then of half as many for the remainder, so that no missing rows are computed. */
template <class S, std::size_t R, std::size_t V>
void floatTiles(const float* weights, std::size_t rows, std::size_t stride, std::size_t columns, const float* x0,
                const float* x1, float* sums) {
  std::size_t r = 0;
  for (; r + R <= rows; r += R) {
    floatTile<S, R, V>(weights + r * stride, stride, columns, x0, x1, sums + r * 2 * S::width);
  }
  if constexpr (R > 1) {
    floatTiles<S, R / 2, V>(weights + r * stride, rows - r, stride, columns, x0, x1, sums + r * 2 * S::width);
  }
}

/** Copies the sums of up to two packs, [row][2·width], to their places [token][row]. */
inline void scatterSums(const float* sums, std::size_t rows, std::size_t lanes, std::size_t tokens, float* out,
                        std::size_t outStride) {
  for (std::size_t t = 0; t < tokens; t++) {
    for (std::size_t r = 0; r < rows; r++) out[t * outStride + r] = sums[r * lanes + t];
  }
}

template <class S, Type T>
void matmulFloat(const Product& p) {
  const std::size_t columns = p.rows.columns;
  const std::size_t rows = p.rows.count;
  const std::size_t block = columns < columnBlock ? columns : columnBlock;
  const std::size_t stride = block + rowPadding;
  const std::size_t lanes = 2 * S::width;
  auto* weights = reinterpret_cast<float*>(p.scratch);
  // Sums of all tokens, [two packs of tokens][row][lane], which are copied once to their places, which are far apart.
  auto* sums = reinterpret_cast<float*>(p.scratch + roundUp64(rows * stride * sizeof(float)));
  __builtin_memset(sums, 0, rows * ((p.tokens + lanes - 1) / lanes * lanes) * sizeof(float));
  for (std::size_t begin = 0; begin < columns; begin += block) {
    const std::size_t count = columns - begin < block ? columns - begin : block;
    for (std::size_t r = 0; r < rows; r++) {
      dequantizeRow<S, T>(p.rows.data + r * rowBytes(T, columns) + rowBytes(T, begin), count, weights + r * stride);
    }
    for (std::size_t token = 0; token < p.tokens; token += lanes) {
      const std::byte* pack = p.packs + token / S::width * floatPackBytes<S>(columns);
      const auto* x0 = reinterpret_cast<const float*>(pack) + begin * S::width;
      const auto* x1 = reinterpret_cast<const float*>(pack + floatPackBytes<S>(columns)) + begin * S::width;
      if (p.tokens - token > S::width) {
        floatTiles<S, S::tileRows, 2>(weights, rows, stride, count, x0, x1, sums + token * rows);
      } else {
        floatTiles<S, S::tileRows, 1>(weights, rows, stride, count, x0, x0, sums + token * rows);
      }
    }
  }
  for (std::size_t token = 0; token < p.tokens; token += lanes) {
    const std::size_t tokens = p.tokens - token < lanes ? p.tokens - token : lanes;
    scatterSums(sums + token * rows, rows, lanes, tokens, p.out + token * p.outStride, p.outStride);
  }
}

}  // namespace
}  // namespace hearth
