#pragma once
#include "../avx512/matmul.hpp"

/**
 * Rows times many tokens in bfloat16, by tiles (AMX) or by vectors (AVX-512). A unit's weights, scaled if they are
 * quantized, and the tokens' activations are rounded to bfloat16 once; sums are in single precision. Both roundings
 * together cost an NMSE of at most 3.7e-4 in the logits of five quantized models (llama.cpp's rounding of activations to
 * 8 bits: 3.2e-3). Tiles multiply quantized weights this way too (in bytes: ../amx/byte_tiles.hpp).
 *
 * A block is 16 by 32 numbers, 1 KiB, which is one tile: of weights [16 rows][32 columns], of activations
 * [16 pairs of columns][16 tokens][2]. Columns that are missing in the last block are zeros.
 */
namespace hearth {
namespace {

inline constexpr std::size_t tileRowCount = 16;
inline constexpr std::size_t tileColumns = 32;
inline constexpr std::size_t tileBytes = 1024;
/** Columns per pass: the blocks of both packs, 16 KiB, stay in the first-level cache for all rows of a unit. */
inline constexpr std::size_t bf16Columns = 256;

constexpr std::size_t rowTiles(std::size_t rows) { return (rows + tileRowCount - 1) / tileRowCount; }
/** Bytes of a tile's blocks, or a pack's. */
constexpr std::size_t bf16Bytes(std::size_t columns) {
  return (columns + tileColumns - 1) / tileColumns * tileBytes;
}

/** The first `count` of sixteen floats; the others are zeros. */
inline __m512 loadFloats(const float* x, std::size_t count) {
  return count >= 16 ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), x);
}

/** Packs the activations of sixteen tokens into [columns/32] blocks. */
inline void packBf16(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed) {
  if (tokens < packLanes) __builtin_memset(packed, 0, bf16Bytes(columns));
  for (std::size_t t = 0; t < tokens; t++) {
    for (std::size_t c = 0; c < columns; c += tileColumns) {
      const float* at = x + t * columns + c;
      const __m512 first = loadFloats(at, columns - c);
      const __m512 second = columns - c > 16 ? loadFloats(at + 16, columns - c - 16) : _mm512_setzero_ps();
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

/** The same for a row of 16-bit floats: BF16 as it is, F16 rounded. */
template <Type T>
void roundFloats(const std::uint8_t* row, std::size_t columns, std::byte* out) {
  for (std::size_t c = 0; c < columns; c += tileColumns) {
    alignas(64) std::uint16_t halves[tileColumns]{};
    const std::size_t count = columns - c < tileColumns ? columns - c : tileColumns;
    __builtin_memcpy(halves, row + 2 * c, 2 * count);
    if constexpr (T == Type::F16) {
      const __m512 first = _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(halves)));
      const __m512 second = _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(halves + 16)));
      const __m512bh rounded = _mm512_cvtne2ps_pbh(second, first);
      __builtin_memcpy(halves, &rounded, sizeof halves);
    }
    __builtin_memcpy(out + bf16Bytes(c), halves, sizeof halves);
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
  const std::size_t row = isFloat(T) ? 0 : roundUp64(columns) + 2 * groups;
  return rowTiles(rows) * bf16Bytes(columns) + sums + row;
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
    const std::uint8_t* row = p.rows.data + r * rowBytes(T, columns);
    std::byte* out = scratch.weights + r / tileRowCount * stride + r % tileRowCount * 64;
    if constexpr (isFloat(T)) {
      roundFloats<T>(row, columns, out);
    } else {
      decodeRow<T>(row, columns, scratch.row);
      roundRow<T>(scratch.row, columns, out);
    }
  }
  [[maybe_unused]] const typename Multiplier::Session session{};
  for (std::size_t token = 0; token < p.tokens; token += lanes) {
    const std::size_t tokens = p.tokens - token < lanes ? p.tokens - token : lanes;
    const std::byte* pack = p.packs + token / packLanes * stride;
    __builtin_memset(scratch.sums, 0, tiles * tileRowCount * lanes * sizeof(float));
    for (std::size_t c = 0; c < columns; c += bf16Columns) {
      const std::size_t blocks = bf16Bytes(columns - c < bf16Columns ? columns - c : bf16Columns) / tileBytes;
      const std::byte* weights = scratch.weights + bf16Bytes(c);
      const std::byte* const packs[2] = {pack + bf16Bytes(c), pack + bf16Bytes(c) + stride};
      if (tokens > packLanes) {
        Multiplier::template multiply<2>(weights, tiles, stride, packs, blocks, scratch.sums);
      } else {
        Multiplier::template multiply<1>(weights, tiles, stride, packs, blocks, scratch.sums);
      }
    }
    scatterTransposed(scratch.sums, count, tokens, p.out + token * p.outStride, p.outStride);
  }
}

template <class Multiplier, Type T>
constexpr ManyTokens manyTokensBf16 = {bf16Bytes, packBf16, bf16ScratchBytes<T>, matmulBf16<Multiplier, T>};

/** Makes a table multiply weights of 16 bits this way: those in BF16 unless told otherwise, those in F16 where it may. */
template <class Multiplier>
void setHalvesBf16(KernelTable& table) {
  table.manyTokensBf16[static_cast<std::size_t>(Type::F16)] = manyTokensBf16<Multiplier, Type::F16>;
  table.manyTokensBytes[static_cast<std::size_t>(Type::BF16)] = manyTokensBf16<Multiplier, Type::BF16>;
}

/** Makes a table multiply every format that has a decoder this way. */
template <class Multiplier>
void setQuantizedBf16(KernelTable& table) {
  forEachType([&table]<Type T>() {
    if constexpr (HasDecoder<T>) table.manyTokensBytes[static_cast<std::size_t>(T)] = manyTokensBf16<Multiplier, T>;
  });
}

}  // namespace
}  // namespace hearth
