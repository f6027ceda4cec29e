#pragma once
#include "../avx512/matmul.hpp"
#include "session.hpp"

/**
 * Quantized rows times many tokens in bytes, by tiles: packs, unpacked rows and results are those of
 * avx512/matmul.hpp, bit by bit. A group of weights that share a scale is a tile of 16 rows, as it lies among the
 * unpacked rows, and of a pack what the group is multiplied with is a tile too.
 *
 * A tile is as deep as a group, 32 columns or 16 of 64 that are possible: deeper ones would add up products of different
 * scales. Their sums leave the tile after every product, for a conversion, a multiplication or permutation of scales, and
 * an addition of 16 vectors (one more for a minimum, of superblocks half of one), which at two a cycle take 24 cycles
 * (32, 29) next to 16 of the product.
 */
namespace hearth {
namespace {

inline constexpr std::size_t byteTileRows = 16;

constexpr std::size_t wholeTiles(std::size_t rows) {
  return (rows + byteTileRows - 1) / byteTileRows * byteTileRows;
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

/**
 * Calls `add` with every group from `begin` to `end` and its dots[16 rows][16 tokens]. `weights` and x are those of
 * `begin`.
 */
template <std::size_t Group, class Add>
[[gnu::always_inline]] inline void forEachGroup(const std::uint8_t* weights, std::size_t stride, const std::int8_t* x,
                                                std::size_t groups, const Add& add) {
  alignas(64) std::int32_t dots[2][byteTileRows * packLanes];
  storeFor(x);
  // Two by turns, so that a product doesn't wait for the sums before to be stored.
  std::size_t g = 0;
  const auto addGroup = [&]<bool First>() __attribute__((always_inline)) {
    std::int32_t* own = dots[First ? 0 : 1];
    dotGroup<First>(weights + g * Group, stride, x + g * Group * packLanes, own);
    add(g, own);
    g++;
  };
  while (g + 2 <= groups) {
    addGroup.template operator()<true>();
    addGroup.template operator()<false>();
  }
  if (g < groups) addGroup.template operator()<true>();
}

/** out[row][lane] += Σ over the pass's columns, for 16 rows at a distance of two packs. */
template <Type T>
inline void addByteTiles(const QuantRows& rows, const QuantPass& pass, const QuantPack& pack, float* out) {
  constexpr std::size_t group = scaleWeights(T);
  const std::size_t groups = pass.columns / group;
  const std::size_t first = pass.firstGroup;
  __m512 sums[byteTileRows];
  for (std::size_t r = 0; r < byteTileRows; r++) sums[r] = _mm512_loadu_ps(out + r * 2 * packLanes);
  const auto add = [&](std::size_t i, const std::int32_t* dots) __attribute__((always_inline)) {
    const std::size_t g = first + i;
    const __m512 xScale = _mm512_loadu_ps(pack.scales + g * packLanes);
    for (std::size_t r = 0; r < byteTileRows; r++) {
      const __m512 scale = _mm512_mul_ps(xScale, _mm512_set1_ps(rows.scales[r * groups + g]));
      sums[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(dots + r * packLanes)), scale, sums[r]);
    }
    if constexpr (formatOf(T).hasMinimum) {
      const __m512 xSum = _mm512_loadu_ps(pack.sums + g * packLanes);
      for (std::size_t r = 0; r < byteTileRows; r++) {
        sums[r] = _mm512_fnmadd_ps(_mm512_set1_ps(rows.minimums[r * groups + g]), xSum, sums[r]);
      }
    }
  };
  forEachGroup<group>(rows.quants + first * group, quantStride(pass.columns), pack.quants + first * group * packLanes,
                      pass.endGroup - first, add);
  for (std::size_t r = 0; r < byteTileRows; r++) _mm512_storeu_ps(out + r * 2 * packLanes, sums[r]);
}

/** The same of one superblock of 16 rows. */
template <std::size_t Group, bool Minimums>
inline void addByteSuperblocks(const Superblock<Group, Minimums>* rows, std::size_t superblock, const SuperblockPack& pack,
                               float* out) {
  constexpr std::size_t groups = 256 / Group;
  const std::size_t first = superblock * groups;
  __m512 sums[byteTileRows];
  for (std::size_t r = 0; r < byteTileRows; r++) sums[r] = superblockStart(rows[r], pack, superblock);
  const auto add = [&](std::size_t g, const std::int32_t* dots) __attribute__((always_inline)) {
    const __m512i multiples = load512(pack.multiples + (first + g) * packLanes);
    for (std::size_t r = 0; r < byteTileRows; r++) {
      const __m512 products = _mm512_cvtepi32_ps(_mm512_load_si512(dots + r * packLanes));
      sums[r] = _mm512_fmadd_ps(products, pickScale(rows[r].scales[g], multiples), sums[r]);
    }
  };
  forEachGroup<Group>(rows->quants, sizeof *rows, pack.quants + superblock * 256 * packLanes, groups, add);
  const __m512 unit = _mm512_loadu_ps(pack.units + superblock * packLanes);
  for (std::size_t r = 0; r < byteTileRows; r++) {
    float* own = out + r * 2 * packLanes;
    _mm512_storeu_ps(own, _mm512_fmadd_ps(sums[r], unit, _mm512_loadu_ps(own)));
  }
}

/** Makes unpacked weights signed. */
template <Type T>
inline void toSigned(std::uint8_t* weights, std::size_t columns) {
  if constexpr (formatOf(T).zeroPoint != 0) {
    const __m256i zero = _mm256_set1_epi8(static_cast<char>(formatOf(T).zeroPoint));
    for (std::size_t c = 0; c < columns; c += 32) {
      auto* at = reinterpret_cast<__m256i*>(weights + c);
      _mm256_storeu_si256(at, _mm256_sub_epi8(_mm256_loadu_si256(at), zero));
    }
  }
}

/** Calls `multiply` with every pack of tokens and the first of its sums. */
template <Type T, class Multiply>
inline void forEachPack(const Product& p, std::size_t room, float* sums, const Multiply& multiply) {
  forEachPacks<T, Rounding::byte>(p, sums, room, [&]<std::size_t V>(const auto& packs) {
    for (std::size_t v = 0; v < V; v++) multiply(packs[v], sums + v * packLanes);
  });
}

template <Type T>
void matmulByteTiles(const Product& p) {
  const std::size_t columns = p.rows.columns;
  const std::size_t groups = columns / scaleWeights(T);
  const std::size_t room = wholeTiles(p.rows.count);
  const QuantScratch scratch = quantScratchAt<T>(p.scratch, room, columns);
  for (std::size_t r = 0; r < room; r++) {
    const QuantRows row = rowAt<T>(scratch.rows, r, columns);
    if (r < p.rows.count) {
      decodeRow<T>(p.rows.data + r * rowBytes(T, columns), columns, row);
      toSigned<T>(row.quants, columns);
    } else {
      __builtin_memset(row.quants, 0, columns);
      __builtin_memset(row.scales, 0, groups * sizeof(float));
      __builtin_memset(row.minimums, 0, groups * sizeof(float));
    }
  }
  const TileSession session(scaleWeights(T));
  forEachPack<T>(p, room, scratch.sums, [&](const QuantPack& pack, float* sums) {
    constexpr std::size_t step = quantColumns / scaleWeights(T);
    for (std::size_t g = 0; g < groups; g += step) {
      const QuantPass pass{columns, g, g + step < groups ? g + step : groups};
      for (std::size_t r = 0; r < room; r += byteTileRows) {
        addByteTiles<T>(rowAt<T>(scratch.rows, r, columns), pass, pack, sums + r * 2 * packLanes);
      }
    }
  });
}

template <Type T>
void matmulByteSuperblocks(const Product& p) {
  const std::size_t superblocks = p.rows.columns / 256;
  const std::size_t room = wholeTiles(p.rows.count);
  const SuperblockScratch<T> scratch = decodeSuperblocks<T>(p, room);
  for (std::size_t i = 0; i < superblocks * room; i++) toSigned<T>(scratch.rows[i].quants, 256);
  const TileSession session(scaleWeights(T));
  forEachPack<T>(p, room, scratch.sums, [&](const SuperblockPack& pack, float* sums) {
    for (std::size_t i = 0; i < superblocks; i++) {
      for (std::size_t r = 0; r < room; r += byteTileRows) {
        addByteSuperblocks(scratch.rows + i * room + r, i, pack, sums + r * 2 * packLanes);
      }
    }
  });
}

/** The bytes of scratch memory that AVX-512 has for whole tiles. */
template <Type T>
std::size_t byteTileScratchBytes(std::size_t rows, std::size_t columns, std::size_t tokens) {
  return manyTokensQuantized<T, Rounding::byte>().scratchBytes(wholeTiles(rows), columns, tokens);
}

/** Makes a table of AVX-512 multiply every format that has a decoder this way. */
void setQuantizedByteTiles(KernelTable& table) {
  forEachType([&table]<Type T>() {
    if constexpr (HasDecoder<T>) {
      ManyTokens& many = table.manyTokensBytes[static_cast<std::size_t>(T)];
      many.scratchBytes = byteTileScratchBytes<T>;
      if constexpr (hasUnit(T, Rounding::byte)) {
        many.multiply = matmulByteSuperblocks<T>;
      } else {
        many.multiply = matmulByteTiles<T>;
      }
    }
  });
}

}  // namespace
}  // namespace hearth
