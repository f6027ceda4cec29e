#pragma once
#include "../shared/activations.hpp"
#include "../shared/matmul_float.hpp"
#include "interleave.hpp"
#include "tile_shape.hpp"

/**
 * Quantized rows times many tokens, in bytes. Lanes are rows: eight rows are interleaved four columns at a time, so that
 * four activations of a token, broadcast, are multiplied with eight rows. How products are added up depends on the
 * instructions (PairDots in tile_shape.hpp; with those of AVX-VNNI, QuadDots in ../avxvnni.cpp).
 */
namespace hearth {
namespace {

inline constexpr std::size_t packTokens = Avx2::width;
/** Rows of a tile: two packs. */
inline constexpr std::size_t tileRowCount = 2 * packRows;
/** Groups per pass: the rows of a tile and the tokens of a block stay in the first-level cache. */
inline constexpr std::size_t passGroups = 8;
/** Tokens of a block, whole packs. */
inline constexpr std::size_t blockTokens = 32;

inline __m256i broadcast32(const void* at) {
  return _mm256_castps_si256(_mm256_broadcast_ss(static_cast<const float*>(at)));
}

/** The parts of a pack of eight tokens. */
struct TokenPack {
  /** [group][token][32] */
  std::int8_t* quants;
  /** [group][token] */
  float* scales;
  /** [segment][token]: −zero·Σ quants, what sums start from (Dots::start). */
  std::int32_t* starts;
  /** [16 columns][token] or [group][token]: scale·Σ quants, the factors of minimums. */
  float* sums;
};

template <class Dots, Type T>
std::size_t tokenPackBytes(std::size_t columns) {
  constexpr TileShape shape = tileShape<Dots>(T);
  const std::size_t starts = shape.zero > 0 ? columns / shape.segment : 0;
  const std::size_t sums = shape.minimum > 0 ? columns / shape.minimum : 0;
  return roundUp64(packTokens * (columns + (columns / groupColumns + starts + sums) * 4));
}

template <class Dots, Type T>
TokenPack tokenPackAt(const std::byte* base, std::size_t columns) {
  constexpr TileShape shape = tileShape<Dots>(T);
  auto* bytes = const_cast<std::byte*>(base);
  TokenPack pack{};
  pack.quants = reinterpret_cast<std::int8_t*>(bytes);
  pack.scales = reinterpret_cast<float*>(bytes + packTokens * columns);
  pack.starts = reinterpret_cast<std::int32_t*>(pack.scales + packTokens * (columns / groupColumns));
  pack.sums = reinterpret_cast<float*>(pack.starts + ((shape.zero > 0) ? packTokens * (columns / shape.segment) : 0));
  return pack;
}

template <class Dots, Type T>
void packTokensBytes(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed) {
  constexpr TileShape shape = tileShape<Dots>(T);
  const TokenPack pack = tokenPackAt<Dots, T>(packed, columns);
  if (tokens < packTokens) __builtin_memset(packed, 0, tokenPackBytes<Dots, T>(columns));
  std::int16_t quants[groupColumns];
  for (std::size_t t = 0; t < tokens; t++) {
    for (std::size_t g = 0; g < columns / groupColumns; g++) {
      const float scale = quantizeGroup(x + t * columns + g * groupColumns, groupColumns, quants, Rounding::byte);
      std::int8_t* bytes = pack.quants + (g * packTokens + t) * groupColumns;
      for (std::size_t i = 0; i < groupColumns; i++) bytes[i] = static_cast<std::int8_t>(quants[i]);
      pack.scales[g * packTokens + t] = scale;
      if constexpr (shape.zero > 0) {
        for (std::size_t begin = 0; begin < groupColumns; begin += shape.segment) {
          std::int32_t sums[2]{};
          for (std::size_t i = begin; i < begin + shape.segment; i += 4) {
            sums[0] += quants[i] + quants[i + 1];
            sums[1] += quants[i + 2] + quants[i + 3];
          }
          const std::size_t segment = (g * groupColumns + begin) / shape.segment;
          pack.starts[segment * packTokens + t] = Dots::start(-shape.zero * sums[0], -shape.zero * sums[1]);
        }
      }
      if constexpr (shape.minimum > 0) {
        for (std::size_t begin = 0; begin < groupColumns; begin += shape.minimum) {
          std::int32_t sum = 0;
          for (std::size_t i = begin; i < begin + shape.minimum; i++) sum += quants[i];
          const std::size_t place = (g * groupColumns + begin) / shape.minimum;
          pack.sums[place * packTokens + t] = scale * static_cast<float>(sum);
        }
      }
    }
  }
}

/** The sums of products of a group's columns: of two packs of rows and N tokens. */
template <class Dots, TileShape Shape, std::size_t N>
[[gnu::always_inline]] inline void addGroup(const RowPack (&rows)[2], const TokenPack& x, std::size_t token,
                                            std::size_t group, __m256i (&dots)[2][N]) {
  constexpr std::size_t quads = Shape.segment / 4;
  constexpr std::size_t segments = groupColumns / Shape.segment;
  const std::int8_t* tokens = x.quants + (group * packTokens + token) * groupColumns;
#pragma GCC unroll 2
  for (std::size_t plane = 0; plane < Shape.planes; plane++) {
    // Otherwise compilers keep what they load for the first plane, of which most goes to memory.
    asm("" : "+r"(tokens));
    const std::size_t from = (group * Shape.planes + plane) * groupColumns * packRows;
#pragma GCC unroll 4
    for (std::size_t s = 0; s < segments; s++) {
      __m256i sums[2][N];
#pragma GCC unroll 8
      for (std::size_t q = 0; q < quads; q++) {
        const std::size_t quad = s * quads + q;
        const __m256i first = load256(rows[0].quants + from + 32 * quad);
        const __m256i second = load256(rows[1].quants + from + 32 * quad);
#pragma GCC unroll 4
        for (std::size_t t = 0; t < N; t++) {
          const __m256i four = broadcast32(tokens + t * groupColumns + 4 * quad);
          for (std::size_t v = 0; v < 2; v++) {
            const __m256i weights = v == 0 ? first : second;
            if (q > 0) {
              sums[v][t] = Dots::add(sums[v][t], weights, four);
            } else if (Shape.zero > 0 && plane == 0) {
              const std::int32_t* start = x.starts + (group * segments + s) * packTokens + token + t;
              sums[v][t] = Dots::add(broadcast32(start), weights, four);
            } else {
              sums[v][t] = Dots::multiply(weights, four);
            }
          }
        }
      }
#pragma GCC unroll 2
      for (std::size_t v = 0; v < 2; v++) {
        __m256i scale{};
        if constexpr (Shape.scale > 0) {
          scale = load256(rows[v].scales + (group * groupColumns + s * Shape.segment) / Shape.scale * packRows);
        } else if constexpr (Shape.planes == 2) {
          scale = _mm256_set1_epi16(1);
        }
        if (Shape.planes == 2 && plane == 0) scale = _mm256_slli_epi16(scale, 4);
#pragma GCC unroll 4
        for (std::size_t t = 0; t < N; t++) {
          constexpr bool scaled = Shape.scale > 0 || Shape.planes == 2;
          const __m256i wide = scaled ? Dots::scaled(sums[v][t], scale) : Dots::widened(sums[v][t]);
          dots[v][t] = plane == 0 && s == 0 ? wide : _mm256_add_epi32(dots[v][t], wide);
        }
      }
    }
  }
}

/** sums[token][16 rows] += Σ over groups from `begin` to `end` of the products of two packs of rows and N tokens. */
template <class Dots, TileShape Shape, std::size_t N>
void quantTile(const RowPack (&rows)[2], const TokenPack& x, std::size_t token, std::size_t begin, std::size_t end,
               float* sums, std::size_t stride) {
  __m256 totals[2][N];
  for (std::size_t t = 0; t < N; t++) {
    for (std::size_t v = 0; v < 2; v++) totals[v][t] = _mm256_loadu_ps(sums + t * stride + v * packRows);
  }
  for (std::size_t group = begin; group < end; group++) {
    __m256i dots[2][N];
    addGroup<Dots, Shape, N>(rows, x, token, group, dots);
    const std::size_t block = group * groupColumns / Shape.block;
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 2; v++) {
      const __m256 factor = _mm256_loadu_ps(rows[v].factors + block * packRows);
#pragma GCC unroll 4
      for (std::size_t t = 0; t < N; t++) {
        const __m256 scale = _mm256_mul_ps(factor, _mm256_broadcast_ss(x.scales + group * packTokens + token + t));
        totals[v][t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[v][t]), scale, totals[v][t]);
      }
      if constexpr (Shape.minimum > 0) {
        constexpr std::size_t minimums = groupColumns / Shape.minimum;
#pragma GCC unroll 2
        for (std::size_t m = 0; m < minimums; m++) {
          const std::size_t place = group * minimums + m;
          const __m256 minimum = _mm256_loadu_ps(rows[v].minimums + place * packRows);
#pragma GCC unroll 4
          for (std::size_t t = 0; t < N; t++) {
            const __m256 sum = _mm256_broadcast_ss(x.sums + place * packTokens + token + t);
            totals[v][t] = _mm256_fnmadd_ps(minimum, sum, totals[v][t]);
          }
        }
      }
    }
  }
  for (std::size_t t = 0; t < N; t++) {
    for (std::size_t v = 0; v < 2; v++) _mm256_storeu_ps(sums + t * stride + v * packRows, totals[v][t]);
  }
}

constexpr std::size_t tilesOf(std::size_t rows) { return (rows + tileRowCount - 1) / tileRowCount; }

template <class Dots, Type T>
std::size_t byteScratchBytes(std::size_t rows, std::size_t columns, std::size_t) {
  return 2 * tilesOf(rows) * rowPackBytes<Dots, T>(columns) + blockTokens * tilesOf(rows) * tileRowCount * sizeof(float);
}

template <class Dots, Type T>
void matmulBytes(const Product& p) {
  constexpr TileShape shape = tileShape<Dots>(T);
  const std::size_t columns = p.rows.columns;
  const std::size_t count = p.rows.count;
  const std::size_t tiles = tilesOf(count);
  const std::size_t stride = tiles * tileRowCount;
  const std::size_t groups = columns / groupColumns;
  const auto packOf = [&](std::size_t pack) { return rowPackAt<Dots, T>(p.scratch + pack * rowPackBytes<Dots, T>(columns), columns); };
  auto* sums = reinterpret_cast<float*>(p.scratch + 2 * tiles * rowPackBytes<Dots, T>(columns));
  for (std::size_t pack = 0; pack < 2 * tiles; pack++) {
    const std::size_t row = pack * packRows;
    const std::size_t rows = row >= count ? 0 : count - row < packRows ? count - row : packRows;
    interleaveRows<Dots, T>(p.rows.data + row * rowBytes(T, columns), rows, columns, packOf(pack));
  }
  for (std::size_t first = 0; first < p.tokens; first += blockTokens) {
    const std::size_t tokens = p.tokens - first < blockTokens ? p.tokens - first : blockTokens;
    __builtin_memset(sums, 0, tokens * stride * sizeof(float));
    for (std::size_t begin = 0; begin < groups; begin += passGroups) {
      const std::size_t end = begin + passGroups < groups ? begin + passGroups : groups;
      for (std::size_t tile = 0; tile < tiles; tile++) {
        const RowPack rows[2] = {packOf(2 * tile), packOf(2 * tile + 1)};
        const auto multiply = [&]<std::size_t N>(std::size_t token) {
          const TokenPack x =
              tokenPackAt<Dots, T>(p.packs + (first + token) / packTokens * tokenPackBytes<Dots, T>(columns), columns);
          float* to = sums + token * stride + tile * tileRowCount;
          quantTile<Dots, shape, N>(rows, x, token % packTokens, begin, end, to, stride);
        };
        std::size_t token = 0;
        for (; token + 4 <= tokens; token += 4) multiply.template operator()<4>(token);
        if (tokens - token >= 2) {
          multiply.template operator()<2>(token);
          token += 2;
        }
        if (token < tokens) multiply.template operator()<1>(token);
      }
    }
    for (std::size_t t = 0; t < tokens; t++) {
      __builtin_memcpy(p.out + (first + t) * p.outStride, sums + t * stride, count * sizeof(float));
    }
  }
}

template <class Dots, Type T>
inline constexpr ManyTokens manyTokensInBytes = {tokenPackBytes<Dots, T>, packTokensBytes<Dots, T>, byteScratchBytes<Dots, T>,
                                                 matmulBytes<Dots, T>};

}  // namespace
}  // namespace hearth
