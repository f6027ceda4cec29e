#pragma once
#include "../shared/activations.hpp"
#include "tile_shape.hpp"

/** Eight rows of quantized weights, taken apart and interleaved four columns at a time. */
namespace hearth {
namespace {

/** Eight rows, interleaved. */
struct RowPack {
  /** [group][plane][8 quads of columns][row][4] */
  std::uint8_t* quants;
  /** [scale][row]: integers. */
  std::int32_t* scales;
  /** [block][row] */
  float* factors;
  /** [minimum][row] */
  float* minimums;
};

template <class Dots, Type T>
constexpr std::size_t rowPackBytes(std::size_t columns) {
  constexpr TileShape shape = tileShape<Dots>(T);
  const std::size_t scales = shape.scale > 0 ? columns / shape.scale : 0;
  const std::size_t minimums = shape.minimum > 0 ? columns / shape.minimum : 0;
  return roundUp64(packRows * (shape.planes * columns + (scales + columns / shape.block + minimums) * 4));
}

template <class Dots, Type T>
RowPack rowPackAt(std::byte* bytes, std::size_t columns) {
  constexpr TileShape shape = tileShape<Dots>(T);
  RowPack pack{};
  pack.quants = reinterpret_cast<std::uint8_t*>(bytes);
  pack.scales = reinterpret_cast<std::int32_t*>(bytes + packRows * shape.planes * columns);
  pack.factors = reinterpret_cast<float*>(pack.scales + (shape.scale > 0 ? packRows * (columns / shape.scale) : 0));
  pack.minimums = pack.factors + packRows * (columns / shape.block);
  return pack;
}

/** Swaps rows and columns of eight by eight numbers. */
inline void transpose8(__m256i (&rows)[8]) {
  __m256i pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  __m256i fours[8];
  for (int half = 0; half < 2; half++) {
    for (int i = 0; i < 2; i++) {
      fours[4 * half + 2 * i] = _mm256_unpacklo_epi64(pairs[4 * half + i], pairs[4 * half + 2 + i]);
      fours[4 * half + 2 * i + 1] = _mm256_unpackhi_epi64(pairs[4 * half + i], pairs[4 * half + 2 + i]);
    }
  }
  for (int i = 0; i < 4; i++) {
    rows[i] = _mm256_permute2x128_si256(fours[i], fours[4 + i], 0x20);
    rows[4 + i] = _mm256_permute2x128_si256(fours[i], fours[4 + i], 0x31);
  }
}

/** [row][8 numbers] to [number][row]. @param stride numbers between rows */
inline void transposeTo(const std::int32_t* from, std::size_t stride, void* to) {
  __m256i rows[8];
  for (std::size_t r = 0; r < 8; r++) rows[r] = load256(from + r * stride);
  transpose8(rows);
  for (std::size_t i = 0; i < 8; i++) store256(static_cast<std::int32_t*>(to) + 8 * i, rows[i]);
}

/** The same with floats. */
inline void transposeTo(const float* from, std::size_t stride, float* to) {
  transposeTo(reinterpret_cast<const std::int32_t*>(from), stride, to);
}

/** One block of eight rows, taken apart. */
template <class Dots, Type T>
struct RowBlocks {
  static constexpr std::size_t block = formatOf(T).block;
  static constexpr std::size_t groups = block / (isSuperblock(T) ? scaleWeights(T) : block);
  static constexpr std::size_t numbers = groups < 8 ? 8 : groups;
  alignas(32) std::uint8_t quants[packRows][block];
  alignas(32) std::int32_t scales[packRows][numbers];
  alignas(32) float minimums[packRows][numbers];
  float factors[packRows];

  void clear(std::size_t r) {
    __builtin_memset(quants[r], 0, block);
    __builtin_memset(scales[r], 0, sizeof scales[r]);
    __builtin_memset(minimums[r], 0, sizeof minimums[r]);
    factors[r] = 0;
  }

  void take(std::size_t r, const std::uint8_t* at) {
    if constexpr (isSuperblock(T)) {
      takeSuperblock(r, Superblock<T>(at));
    } else {
      storeWeights(quants[r], decodeBlock<T>(at));
      factors[r] = T == Type::MXFP4 ? halfPowerOfTwo(at[0]) : halfAt(at);
      if constexpr (formatOf(T).hasMinimum) minimums[r][0] = -halfAt(at + 2);
    }
  }

  static void storeWeights(std::uint8_t* to, __m256i weights) {
    const __m256i above = _mm256_set1_epi8(static_cast<char>(formatOf(T).zeroPoint));
    store256(to, isSigned(T) ? _mm256_add_epi8(weights, above) : weights);
  }

  void takeSuperblock(std::size_t r, const Superblock<T>& row) {
    row.forChunks([this, r](auto chunk, __m256i weights) { storeWeights(quants[r] + 32 * chunk, weights); });
    factors[r] = row.scale;
    if constexpr (!hasOneScale(T)) {
      __m128i bytes = row.scales;
      for (std::size_t i = 0; i < groups; i += 8, bytes = _mm_srli_si128(bytes, 8)) {
        const __m256i wide = _mm256_cvtepi8_epi32(bytes);
        store256(scales[r] + i, Dots::scale(wide));
      }
    }
    if constexpr (formatOf(T).hasMinimum) {
      __m128i bytes = row.groupMinimums();
      for (std::size_t i = 0; i < groups; i += 8, bytes = _mm_srli_si128(bytes, 8)) {
        const __m256 wide = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
        _mm256_store_ps(minimums[r] + i, _mm256_mul_ps(wide, _mm256_set1_ps(row.minimum)));
      }
    }
  }
};

/** Takes up to eight rows apart and interleaves them; missing ones are zeros. */
template <class Dots, Type T>
[[gnu::flatten]] void interleaveRows(const std::uint8_t* rows, std::size_t count, std::size_t columns, const RowPack& out) {
  constexpr TileShape shape = tileShape<Dots>(T);
  constexpr std::size_t block = formatOf(T).block;
  RowBlocks<Dots, T> blocks;
  for (std::size_t r = count; r < packRows; r++) blocks.clear(r);
  for (std::size_t i = 0; i < columns / block; i++) {
    for (std::size_t r = 0; r < count; r++) blocks.take(r, rows + r * rowBytes(T, columns) + i * formatOf(T).bytes);
    __builtin_memcpy(out.factors + packRows * i, blocks.factors, sizeof blocks.factors);
    for (std::size_t g = 0; g < RowBlocks<Dots, T>::groups; g += 8) {
      constexpr std::size_t stride = RowBlocks<Dots, T>::numbers;
      const std::size_t at = (i * RowBlocks<Dots, T>::groups + g) * packRows;
      if constexpr (shape.scale > 0) transposeTo(&blocks.scales[0][g], stride, out.scales + at);
      if constexpr (shape.minimum > 0 && block == 256) transposeTo(&blocks.minimums[0][g], stride, out.minimums + at);
    }
    if constexpr (shape.minimum > 0 && block == 32) {
      for (std::size_t r = 0; r < packRows; r++) out.minimums[packRows * i + r] = blocks.minimums[r][0];
    }
    for (std::size_t c = 0; c < block; c += groupColumns) {
      std::uint8_t* to = out.quants + (i * block + c) * packRows * shape.planes;
      __m256i quads[8];
      for (std::size_t r = 0; r < packRows; r++) quads[r] = load256(blocks.quants[r] + c);
      transpose8(quads);
      for (std::size_t q = 0; q < 8; q++) {
        if constexpr (shape.planes == 1) {
          store256(to + 32 * q, quads[q]);
        } else {
          const __m256i four = _mm256_set1_epi8(15);
          store256(to + 32 * q, _mm256_and_si256(_mm256_srli_epi16(quads[q], 4), four));
          store256(to + 256 + 32 * q, _mm256_and_si256(quads[q], four));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
