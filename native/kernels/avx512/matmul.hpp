#pragma once
#include "../shared/matmul_float.hpp"
#include "quant_rows.hpp"
#include "scatter.hpp"
#include "superblock_tile.hpp"

/**
 * Quantized rows times many tokens by the byte dot product. A unit's weights are unpacked once, with one scale (and
 * minimum) per group in single precision. A tile of 6 rows by two packs of sixteen tokens keeps its 12 integer and 12
 * float sums in registers. Of activations of two bytes, high and low ones share the integer sums, as no registers are
 * left: the high bytes of a group are added, the sums shifted, then the low bytes added.
 *
 * With bytes a group of 32 columns takes eight dot products, and a multiplication and an addition for the scales (one
 * more for a minimum) in the same execution units: at most 80 % (73 %) of the peak of dot products alone. A tile by
 * itself reaches 72 % on Zen 4. Superblocks take less: superblock_tile.hpp.
 */
namespace hearth {
namespace {

inline constexpr std::size_t quantTileRows = 6;
/** Columns per pass: the bytes of both packs, 16 KiB, stay in the first-level cache for all rows of a unit. */
inline constexpr std::size_t quantColumns = 256;

/**
 * Distance of unpacked rows: not a power of two, so that a tile's rows are in different cache sets.
 */
constexpr std::size_t quantStride(std::size_t columns) { return columns + 64; }

/** Bytes of a unit's sums, [row][2 packs of tokens]. */
constexpr std::size_t sumBytes(std::size_t rows) { return roundUp64(rows * 2 * packLanes * sizeof(float)); }

template <Type T>
std::size_t quantScratchBytes(std::size_t rows, std::size_t columns, std::size_t) {
  const std::size_t groups = columns / scaleWeights(T);
  return roundUp64(rows * quantStride(columns)) + 2 * roundUp64(rows * groups * sizeof(float)) +
         sumBytes(rows);
}

/** The parts of a unit's scratch memory. */
struct QuantScratch {
  QuantRows rows;
  /** [row][2 packs of tokens] */
  float* sums;
};

template <Type T>
QuantScratch quantScratchAt(std::byte* bytes, std::size_t rows, std::size_t columns) {
  const std::size_t factors = roundUp64(rows * (columns / scaleWeights(T)) * sizeof(float));
  QuantScratch scratch{};
  scratch.rows.quants = reinterpret_cast<std::uint8_t*>(bytes);
  bytes += roundUp64(rows * quantStride(columns));
  scratch.rows.scales = reinterpret_cast<float*>(bytes);
  scratch.rows.minimums = reinterpret_cast<float*>(bytes + factors);
  scratch.sums = reinterpret_cast<float*>(bytes + 2 * factors);
  return scratch;
}

/** The unpacked rows from the r-th on. */
template <Type T>
QuantRows rowAt(const QuantRows& rows, std::size_t r, std::size_t columns) {
  const std::size_t groups = columns / scaleWeights(T);
  return {rows.quants + r * quantStride(columns), rows.scales + r * groups, rows.minimums + r * groups};
}

/** The columns of the rows and packs that a tile multiplies, in groups. */
struct QuantPass {
  std::size_t columns;
  std::size_t firstGroup;
  std::size_t endGroup;
};

/** dots[row][pack] += Σ over a group of weights·x, x being one of the terms. */
template <Type T, std::size_t N, std::size_t V>
inline void addDots(const std::uint8_t* weights, std::size_t stride, const std::int8_t* const (&x)[V],
                    __m512i (&dots)[N][V]) {
  for (std::size_t c = 0; c < scaleWeights(T); c += 4) {
    __m512i tokens[V];
    for (std::size_t v = 0; v < V; v++) tokens[v] = load512(x[v] + c * packLanes);
    for (std::size_t r = 0; r < N; r++) {
      const __m512i four = _mm512_set1_epi32(static_cast<int>(load32(weights + r * stride + c)));
      for (std::size_t v = 0; v < V; v++) dots[r][v] = _mm512_dpbusd_epi32(dots[r][v], four, tokens[v]);
    }
  }
}

/** out[row][lane of V packs] += Σ over the pass's columns, for N rows. */
template <Type T, Rounding R, std::size_t N, std::size_t V>
void quantTile(const QuantRows& rows, const QuantPass& pass, const QuantPack (&packs)[2], float* out) {
  constexpr std::size_t group = scaleWeights(T);
  const std::size_t groups = pass.columns / group;
  const std::size_t stride = quantStride(pass.columns);
  __m512 sums[N][V];
  for (std::size_t r = 0; r < N; r++) {
    for (std::size_t v = 0; v < V; v++) sums[r][v] = _mm512_loadu_ps(out + (r * 2 + v) * packLanes);
  }
  for (std::size_t g = pass.firstGroup; g < pass.endGroup; g++) {
    const std::int8_t* x[V];
    for (std::size_t v = 0; v < V; v++) x[v] = packs[v].quants + terms(R) * g * group * packLanes;
    const auto startOf = [&](std::size_t v) {
      if constexpr (formatOf(T).zeroPoint == 0) return _mm512_setzero_si512();
      return load512(packs[v].starts + g * packLanes);
    };
    __m512i dots[N][V];
    for (auto& row : dots) {
      for (std::size_t v = 0; v < V; v++) row[v] = R == Rounding::byte ? startOf(v) : _mm512_setzero_si512();
    }
    addDots<T>(rows.quants + g * group, stride, x, dots);
    if constexpr (R == Rounding::word) {
      for (auto& row : dots) {
        for (std::size_t v = 0; v < V; v++) row[v] = _mm512_add_epi32(_mm512_slli_epi32(row[v], 7), startOf(v));
      }
      for (std::size_t v = 0; v < V; v++) x[v] += group * packLanes;
      addDots<T>(rows.quants + g * group, stride, x, dots);
    }
    for (std::size_t v = 0; v < V; v++) {
      const __m512 xScale = _mm512_loadu_ps(packs[v].scales + g * packLanes);
      for (std::size_t r = 0; r < N; r++) {
        const __m512 scale = _mm512_mul_ps(xScale, _mm512_set1_ps(rows.scales[r * groups + g]));
        sums[r][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[r][v]), scale, sums[r][v]);
      }
      if constexpr (formatOf(T).hasMinimum) {
        const __m512 xSum = _mm512_loadu_ps(packs[v].sums + g * packLanes);
        for (std::size_t r = 0; r < N; r++) {
          sums[r][v] = _mm512_fnmadd_ps(_mm512_set1_ps(rows.minimums[r * groups + g]), xSum, sums[r][v]);
        }
      }
    }
  }
  for (std::size_t r = 0; r < N; r++) {
    for (std::size_t v = 0; v < V; v++) _mm512_storeu_ps(out + (r * 2 + v) * packLanes, sums[r][v]);
  }
}

/** Calls `tile` with the numbers of rows of a tile and its first row, for all of them. */
template <std::size_t N = quantTileRows, class Tile>
inline void forEachTile(std::size_t count, const Tile& tile, std::size_t row = 0) {
  for (; count - row >= N; row += N) tile.template operator()<N>(row);
  if constexpr (N > 1) forEachTile<N / 2>(count, tile, row);
}

/**
 * Calls `multiply` with one or two packs of tokens at a time, which adds to sums[room for rows][2 packs], zeros before.
 * Stores them in the product.
 */
template <Type T, Rounding R, class Multiply>
inline void forEachPacks(const Product& p, float* sums, std::size_t room, const Multiply& multiply) {
  const std::size_t columns = p.rows.columns;
  const std::size_t lanes = 2 * packLanes;
  for (std::size_t token = 0; token < p.tokens; token += lanes) {
    const std::size_t tokens = p.tokens - token < lanes ? p.tokens - token : lanes;
    const std::byte* first = p.packs + token / packLanes * quantPackBytes<T, R>(columns);
    PackOf<T, R> packs[2] = {packAt<T, R>(first, columns), {}};
    __builtin_memset(sums, 0, room * lanes * sizeof(float));
    if (tokens > packLanes) {
      packs[1] = packAt<T, R>(first + quantPackBytes<T, R>(columns), columns);
      multiply.template operator()<2>(packs);
    } else {
      multiply.template operator()<1>(packs);
    }
    scatterTransposed(sums, p.rows.count, tokens, p.out + token * p.outStride, p.outStride);
  }
}

template <Type T, Rounding R>
void matmulQuantized(const Product& p) {
  const std::size_t columns = p.rows.columns;
  const std::size_t count = p.rows.count;
  const QuantScratch scratch = quantScratchAt<T>(p.scratch, count, columns);
  for (std::size_t r = 0; r < count; r++) {
    decodeRow<T>(p.rows.data + r * rowBytes(T, columns), columns, rowAt<T>(scratch.rows, r, columns));
  }
  forEachPacks<T, R>(p, scratch.sums, count, [&]<std::size_t V>(const QuantPack (&packs)[2]) {
    constexpr std::size_t step = quantColumns / scaleWeights(T);
    const std::size_t groups = columns / scaleWeights(T);
    for (std::size_t g = 0; g < groups; g += step) {
      const QuantPass pass{columns, g, g + step < groups ? g + step : groups};
      forEachTile(count, [&]<std::size_t N>(std::size_t r) {
        quantTile<T, R, N, V>(rowAt<T>(scratch.rows, r, columns), pass, packs, scratch.sums + r * 2 * packLanes);
      });
    }
  });
}

/** The parts of a unit's scratch memory where rows are superblocks with a unit of activations. */
template <Type T>
struct SuperblockScratch {
  /** [columns/256][row] */
  SuperblockOf<T>* rows;
  /** [row][2 packs of tokens] */
  float* sums;
};

template <Type T>
std::size_t superblockScratchBytes(std::size_t rows, std::size_t columns, std::size_t) {
  return rows * (columns / 256) * sizeof(SuperblockOf<T>) + sumBytes(rows);
}

/** Unpacks rows, of which `room` have room; the others are zeros. */
template <Type T>
SuperblockScratch<T> decodeSuperblocks(const Product& p, std::size_t room) {
  const std::size_t superblocks = p.rows.columns / 256;
  auto* rows = reinterpret_cast<SuperblockOf<T>*>(p.scratch);
  for (std::size_t r = 0; r < room; r++) {
    const std::uint8_t* row = p.rows.data + r * rowBytes(T, p.rows.columns);
    for (std::size_t i = 0; i < superblocks; i++) {
      if (r < p.rows.count) {
        decodeSuperblockOf<T>(row + i * formatOf(T).bytes, rows[i * room + r]);
      } else {
        rows[i * room + r] = {};
      }
    }
  }
  return {rows, reinterpret_cast<float*>(rows + room * superblocks)};
}

template <Type T>
void matmulSuperblocks(const Product& p) {
  const std::size_t count = p.rows.count;
  const SuperblockScratch<T> scratch = decodeSuperblocks<T>(p, count);
  forEachPacks<T, Rounding::byte>(p, scratch.sums, count, [&]<std::size_t V>(const SuperblockPack (&packs)[2]) {
    for (std::size_t i = 0; i < p.rows.columns / 256; i++) {
      forEachTile(count, [&]<std::size_t N>(std::size_t r) {
        superblockTile<N, V>(scratch.rows + i * count + r, i, packs, scratch.sums + r * 2 * packLanes);
      });
    }
  });
}

/** How a format is multiplied with many tokens. */
template <Type T, Rounding R>
constexpr ManyTokens manyTokensQuantized() {
  if constexpr (hasUnit(T, R)) {
    return {quantPackBytes<T, R>, packSuperblocks<T>, superblockScratchBytes<T>, matmulSuperblocks<T>};
  } else {
    return {quantPackBytes<T, R>, packQuants<T, R>, quantScratchBytes<T>, matmulQuantized<T, R>};
  }
}

}  // namespace
}  // namespace hearth
