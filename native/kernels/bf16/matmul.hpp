#pragma once
#include "../avx512/matmul.hpp"

/**
 * Quantized rows times many tokens in bfloat16, by tiles (AMX) or by vectors (AVX-512). A unit's scaled weights and the
 * tokens' activations are rounded to bfloat16 once; sums are in single precision. Both roundings together cost an NMSE
 * of at most 3.7e-4 in the logits of five quantized models (llama.cpp's rounding of activations to 8 bits: 3.2e-3).
 * Integer products of 8 bits have twice the throughput, but there is a scale for every 32 weights, at which sums must
 * be converted: with AMX they would have to leave their tile after every product, and with vectors and 15-bit
 * activations the gain is lost.
 *
 * A block is 16 by 32 numbers, 1 KiB, which is one tile: of weights [16 rows][32 columns], of activations
 * [16 pairs of columns][16 tokens][2].
 */
namespace hearth {
namespace {

inline constexpr std::size_t tileRowCount = 16;
inline constexpr std::size_t tileColumns = 32;
inline constexpr std::size_t tileBytes = 1024;
/** Columns per pass: the blocks of both packs, 16 KiB, stay in the first-level cache for all rows of a unit. */
inline constexpr std::size_t bf16Columns = 256;

constexpr std::size_t rowTiles(std::size_t rows) { return (rows + tileRowCount - 1) / tileRowCount; }
constexpr std::size_t bf16Bytes(std::size_t columns) { return columns / tileColumns * tileBytes; }

/** Packs the activations of sixteen tokens into [columns/32] blocks. */
inline void packBf16(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed) {
  if (tokens < packLanes) __builtin_memset(packed, 0, bf16Bytes(columns));
  for (std::size_t t = 0; t < tokens; t++) {
    for (std::size_t c = 0; c < columns; c += tileColumns) {
      const __m512 first = _mm512_loadu_ps(x + t * columns + c);
      const __m512 second = _mm512_loadu_ps(x + t * columns + c + 16);
      alignas(64) std::uint32_t pairs[16];
      const __m512bh rounded = _mm512_cvtne2ps_pbh(second, first);
      __builtin_memcpy(pairs, &rounded, sizeof pairs);
      std::byte* block = packed + bf16Bytes(c) + 4 * t;
      for (std::size_t pair = 0; pair < 16; pair++) __builtin_memcpy(block + 64 * pair, pairs + pair, 4);
    }
  }
}

/** Rounds one unpacked row to its places in the blocks of its tile, in the natural order of columns. */
template <Type T>
void roundRow(const QuantRows& row, std::size_t columns, std::byte* out) {
  constexpr std::size_t group = scaleWeights(T);
  for (std::size_t c = 0; c < columns; c += tileColumns) {
    __m512 values[2];
    for (std::size_t half = 0; half < 2; half++) {
      const std::size_t at = c + 16 * half;
      const __m512 scale = _mm512_set1_ps(row.scales[at / group]);
      const __m512 quants = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load128(row.quants + at)));
      const __m512 above = _mm512_sub_ps(quants, _mm512_set1_ps(static_cast<float>(formatOf(T).zeroPoint)));
      const __m512 minimum = formatOf(T).hasMinimum ? _mm512_set1_ps(row.minimums[at / group]) : _mm512_setzero_ps();
      // Each operation is rounded, as in dequantization.
      values[half] = _mm512_sub_ps(_mm512_mul_ps(above, scale), minimum);
    }
    const __m512bh rounded = _mm512_cvtne2ps_pbh(values[1], values[0]);
    __builtin_memcpy(out + bf16Bytes(orderedColumn<T>(c)), &rounded, sizeof rounded);
  }
}

/** The parts of a unit's scratch memory. */
struct Bf16Scratch {
  /** [row tiles][columns/32] blocks */
  std::byte* weights;
  /** [rows, whole tiles][2 packs of tokens] */
  float* sums;
  /** One unpacked row. */
  QuantRows row;
};

template <Type T>
std::size_t bf16ScratchBytes(std::size_t rows, std::size_t columns, std::size_t) {
  const std::size_t groups = roundUp64(columns / scaleWeights(T) * sizeof(float));
  const std::size_t sums = rowTiles(rows) * tileRowCount * 2 * packLanes * sizeof(float);
  return rowTiles(rows) * bf16Bytes(columns) + sums + roundUp64(columns) + 2 * groups;
}

template <Type T>
Bf16Scratch bf16ScratchAt(std::byte* bytes, std::size_t rows, std::size_t columns) {
  Bf16Scratch scratch{};
  scratch.weights = bytes;
  bytes += rowTiles(rows) * bf16Bytes(columns);
  scratch.sums = reinterpret_cast<float*>(bytes);
  bytes += rowTiles(rows) * tileRowCount * 2 * packLanes * sizeof(float);
  scratch.row.quants = reinterpret_cast<std::uint8_t*>(bytes);
  bytes += roundUp64(columns);
  scratch.row.scales = reinterpret_cast<float*>(bytes);
  scratch.row.minimums = reinterpret_cast<float*>(bytes + roundUp64(columns / scaleWeights(T) * sizeof(float)));
  return scratch;
}

/**
 * @tparam Multiplier has `Session`, which lives while products are computed, and `multiply<V>(weights, row tiles,
 * stride, packs, blocks, sums)`: sums[16·row tiles][2·16] += weights times V packs over `blocks` blocks of columns
 */
template <class Multiplier, Type T>
void matmulBf16(const Product& p) {
  const std::size_t columns = p.rows.columns;
  const std::size_t count = p.rows.count;
  const std::size_t stride = bf16Bytes(columns);
  const std::size_t tiles = rowTiles(count);
  const std::size_t lanes = 2 * packLanes;
  const Bf16Scratch scratch = bf16ScratchAt<T>(p.scratch, count, columns);
  for (std::size_t r = 0; r < count; r++) {
    decodeRow<T>(p.rows.data + r * rowBytes(T, columns), columns, scratch.row);
    roundRow<T>(scratch.row, columns, scratch.weights + r / tileRowCount * stride + r % tileRowCount * 64);
  }
  [[maybe_unused]] const typename Multiplier::Session session{};
  for (std::size_t token = 0; token < p.tokens; token += lanes) {
    const std::size_t tokens = p.tokens - token < lanes ? p.tokens - token : lanes;
    const std::byte* pack = p.packs + token / packLanes * stride;
    __builtin_memset(scratch.sums, 0, tiles * tileRowCount * lanes * sizeof(float));
    for (std::size_t c = 0; c < columns; c += bf16Columns) {
      const std::size_t blocks = (columns - c < bf16Columns ? columns - c : bf16Columns) / tileColumns;
      const std::byte* weights = scratch.weights + bf16Bytes(c);
      const std::byte* const packs[2] = {pack + bf16Bytes(c), pack + bf16Bytes(c) + stride};
      if (tokens > packLanes) {
        Multiplier::template multiply<2>(weights, tiles, stride, packs, blocks, scratch.sums);
      } else {
        Multiplier::template multiply<1>(weights, tiles, stride, packs, blocks, scratch.sums);
      }
    }
    scatterSums(scratch.sums, count, lanes, tokens, p.out + token * p.outStride, p.outStride);
  }
}

/** Makes a table multiply every format that has a decoder this way. */
template <class Multiplier>
void setAllBf16(KernelTable& table) {
  forEachType([&table]<Type T>() {
    if constexpr (HasDecoder<T>) {
      table.manyTokens[static_cast<std::size_t>(T)] = {bf16Bytes, packBf16, bf16ScratchBytes<T>,
                                                       matmulBf16<Multiplier, T>};
    }
  });
}

}  // namespace
}  // namespace hearth
