#pragma once
#include "../shared/matmul_float.hpp"
#include "dot_blocks.hpp"
#include "dot_k_quants.hpp"

/**
 * Quantized rows times many tokens by the byte dot product. Lanes are tokens, sixteen to a pack; a pack holds its
 * rounded activations four columns at a time, so that four weights of a row, broadcast, are multiplied with sixteen
 * tokens. A unit's weights are unpacked once, with one scale (and minimum) per group in single precision. A tile of 6
 * rows by two packs keeps its 12 integer and 12 float sums in registers. High and low bytes share the integer sums, as
 * no registers are left: the high bytes of a group are added, the sums shifted, then the low bytes added.
 */
namespace hearth {
namespace {

/** Formats whose blocks have a decoder for AVX-512; others keep the shared kernels. */
template <Type T>
concept HasDecoder = requires(const std::uint8_t* block, __m512i (&out)[4]) { decodeSuperblock<T>(block, out); } ||
                     requires(const std::uint8_t* block) { decodeBlocks<T>(block, block); };

inline constexpr std::size_t packLanes = 16;
inline constexpr std::size_t quantTileRows = 6;
/** Columns per pass: the bytes of both packs, 16 KiB, stay in the first-level cache for all rows of a unit. */
inline constexpr std::size_t quantColumns = 256;
/**
 * Distance of unpacked rows: not a power of two, so that a tile's rows are in different cache sets.
 */
constexpr std::size_t quantStride(std::size_t columns) { return columns + 64; }

/** The parts of a pack of sixteen tokens. */
struct QuantPack {
  /** [columns/group][high, low][group/4][16][4] */
  std::int8_t* quants;
  /** [columns/group][16]: the activations' scales. */
  float* scales;
  /** [columns/group][16]: −zeroPoint·Σ quants, the initial values of the integer sums. */
  std::int32_t* starts;
  /** [columns/group][16]: scale·Σ quants, the factors of the minimums. */
  float* sums;
};

template <Type T>
std::size_t quantPackBytes(std::size_t columns) {
  const std::size_t groups = columns / scaleWeights(T);
  return packLanes * (2 * columns + groups * (sizeof(float) + sizeof(std::int32_t) + sizeof(float)));
}

template <Type T>
QuantPack quantPackAt(const std::byte* base, std::size_t columns) {
  const std::size_t groups = columns / scaleWeights(T);
  auto* bytes = const_cast<std::byte*>(base);
  QuantPack pack{};
  pack.quants = reinterpret_cast<std::int8_t*>(bytes);
  pack.scales = reinterpret_cast<float*>(bytes + packLanes * 2 * columns);
  pack.starts = reinterpret_cast<std::int32_t*>(pack.scales + packLanes * groups);
  pack.sums = reinterpret_cast<float*>(pack.starts + packLanes * groups);
  return pack;
}

/** The column, in natural order, at `column` of the registers' order. */
template <Type T>
constexpr std::size_t orderedColumn(std::size_t column) {
  if constexpr (!isSuperblock(T)) return column;
  return column / 256 * 256 + chunkOrder(T).chunk[column / 32 % 8] * std::size_t{32} + column % 32;
}

template <Type T>
void packQuants(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed) {
  constexpr std::size_t group = scaleWeights(T);
  const QuantPack pack = quantPackAt<T>(packed, columns);
  if (tokens < packLanes) __builtin_memset(packed, 0, quantPackBytes<T>(columns));
  std::int16_t quants[scaleGroup(T)];
  std::int8_t terms[2 * group];
  for (std::size_t t = 0; t < tokens; t++) {
    for (std::size_t begin = 0; begin < columns; begin += scaleGroup(T)) {
      const float scale = quantizeGroup(x + t * columns + begin, scaleGroup(T), quants, Rounding::word);
      for (std::size_t c = begin; c < begin + scaleGroup(T); c += group) {
        const std::int16_t* from = quants + (orderedColumn<T>(c) - begin);
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < group; i++) sum += from[i];
        splitQuants(from, group, terms, terms + group);
        for (std::size_t i = 0; i < 2 * group; i += 4) {
          __builtin_memcpy(pack.quants + 2 * c * packLanes + (i / 4 * packLanes + t) * 4, terms + i, 4);
        }
        const std::size_t at = c / group * packLanes + t;
        pack.scales[at] = scale;
        pack.starts[at] = -formatOf(T).zeroPoint * sum;
        pack.sums[at] = scale * static_cast<float>(sum);
      }
    }
  }
}

/** A unit's unpacked weights, row by row: unsigned bytes, and one scale and minimum per group. */
struct QuantRows {
  std::uint8_t* quants;
  float* scales;
  float* minimums;
};

template <Type T>
std::size_t quantScratchBytes(std::size_t rows, std::size_t columns, std::size_t) {
  const std::size_t groups = columns / scaleWeights(T);
  return roundUp64(rows * quantStride(columns)) + 2 * roundUp64(rows * groups * sizeof(float)) +
         roundUp64(rows * 2 * packLanes * sizeof(float));
}

template <Type T>
void decodeRow(const std::uint8_t* row, std::size_t columns, const QuantRows& out) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  if constexpr (isSuperblock(T)) {
    for (std::size_t i = 0; i < columns / 256; i++) {
      const std::uint8_t* block = row + i * bytes;
      __m512i weights[4];
      decodeSuperblock<T>(block, weights);
      for (std::size_t part = 0; part < 4; part++) _mm512_storeu_si512(out.quants + i * 256 + 64 * part, weights[part]);
      alignas(16) std::int8_t scales[16];
      _mm_store_si128(reinterpret_cast<__m128i*>(scales), packedScales<T>(block));
      alignas(16) float factors[4];
      _mm_store_ps(factors, scaleAndMinimum<T>(block));
      constexpr std::size_t groups = 256 / scaleWeights(T);
      for (std::size_t g = 0; g < groups; g++) {
        const std::size_t from = orderedColumn<T>(g * scaleWeights(T)) / scaleWeights(T);
        out.scales[i * groups + g] = factors[0] * static_cast<float>(scales[from]);
        if constexpr (T == Type::Q2_K) out.minimums[i * groups + g] = factors[1] * static_cast<float>(block[from] >> 4);
        if constexpr (scaleWeights(T) == 32) {
          out.minimums[i * groups + g] = factors[1] * static_cast<float>(scales[8 + from]);
        }
      }
    }
  } else {
    for (std::size_t i = 0; i < columns / 32; i++) {
      const std::uint8_t* block = row + i * bytes;
      const __m256i weights = _mm512_castsi512_si256(decodeBlocks<T>(block, block));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.quants + i * 32), weights);
      out.scales[i] = halfAt(block);
      if constexpr (formatOf(T).hasMinimum) out.minimums[i] = -halfAt(block + 2);
    }
  }
}

/** dots[row][pack] += Σ over a group of weights·x, x being its high or its low bytes. */
template <Type T, std::size_t R, std::size_t V>
inline void addDots(const std::uint8_t* weights, std::size_t stride, const std::int8_t* const (&x)[V],
                    __m512i (&dots)[R][V]) {
  for (std::size_t c = 0; c < scaleWeights(T); c += 4) {
    __m512i tokens[V];
    for (std::size_t v = 0; v < V; v++) tokens[v] = load512(x[v] + c * packLanes);
    for (std::size_t r = 0; r < R; r++) {
      const __m512i four = _mm512_set1_epi32(static_cast<int>(load32(weights + r * stride + c)));
      for (std::size_t v = 0; v < V; v++) dots[r][v] = _mm512_dpbusd_epi32(dots[r][v], four, tokens[v]);
    }
  }
}

/** The columns of the rows and packs that a tile multiplies, in groups. */
struct QuantPass {
  std::size_t columns;
  std::size_t firstGroup;
  std::size_t endGroup;
};

/** out[row][lane of V packs] += Σ over the pass's columns, for R rows. */
template <Type T, std::size_t R, std::size_t V>
inline void quantTile(const QuantRows& rows, const QuantPass& pass, const QuantPack (&packs)[2], float* out) {
  constexpr std::size_t group = scaleWeights(T);
  const std::size_t groups = pass.columns / group;
  const std::size_t stride = quantStride(pass.columns);
  __m512 sums[R][V];
  for (std::size_t r = 0; r < R; r++) {
    for (std::size_t v = 0; v < V; v++) sums[r][v] = _mm512_loadu_ps(out + (r * 2 + v) * packLanes);
  }
  for (std::size_t g = pass.firstGroup; g < pass.endGroup; g++) {
    const std::int8_t* high[V];
    const std::int8_t* low[V];
    for (std::size_t v = 0; v < V; v++) {
      high[v] = packs[v].quants + 2 * g * group * packLanes;
      low[v] = high[v] + group * packLanes;
    }
    __m512i dots[R][V];
    for (auto& row : dots) {
      for (auto& dot : row) dot = _mm512_setzero_si512();
    }
    addDots<T>(rows.quants + g * group, stride, high, dots);
    for (std::size_t r = 0; r < R; r++) {
      for (std::size_t v = 0; v < V; v++) {
        dots[r][v] = _mm512_slli_epi32(dots[r][v], 7);
        if constexpr (formatOf(T).zeroPoint > 0) {
          dots[r][v] = _mm512_add_epi32(dots[r][v], load512(packs[v].starts + g * packLanes));
        }
      }
    }
    addDots<T>(rows.quants + g * group, stride, low, dots);
    for (std::size_t v = 0; v < V; v++) {
      const __m512 xScale = _mm512_loadu_ps(packs[v].scales + g * packLanes);
      for (std::size_t r = 0; r < R; r++) {
        const __m512 scale = _mm512_mul_ps(xScale, _mm512_set1_ps(rows.scales[r * groups + g]));
        sums[r][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[r][v]), scale, sums[r][v]);
      }
      if constexpr (formatOf(T).hasMinimum) {
        const __m512 xSum = _mm512_loadu_ps(packs[v].sums + g * packLanes);
        for (std::size_t r = 0; r < R; r++) {
          sums[r][v] = _mm512_fnmadd_ps(_mm512_set1_ps(rows.minimums[r * groups + g]), xSum, sums[r][v]);
        }
      }
    }
  }
  for (std::size_t r = 0; r < R; r++) {
    for (std::size_t v = 0; v < V; v++) _mm512_storeu_ps(out + (r * 2 + v) * packLanes, sums[r][v]);
  }
}

template <Type T, std::size_t R, std::size_t V>
void quantTiles(QuantRows rows, std::size_t count, const QuantPass& pass, const QuantPack (&packs)[2], float* out) {
  const std::size_t groups = pass.columns / scaleWeights(T);
  for (; count >= R; count -= R) {
    quantTile<T, R, V>(rows, pass, packs, out);
    rows.quants += R * quantStride(pass.columns);
    rows.scales += R * groups;
    rows.minimums += R * groups;
    out += R * 2 * packLanes;
  }
  if constexpr (R > 1) quantTiles<T, R / 2, V>(rows, count, pass, packs, out);
}

/** sums[row][2·16] = the rows' products with V packs, pass by pass. */
template <Type T, std::size_t V>
void quantPasses(const QuantRows& rows, std::size_t count, std::size_t columns, const QuantPack (&packs)[2],
                 float* sums) {
  constexpr std::size_t step = quantColumns / scaleWeights(T);
  const std::size_t groups = columns / scaleWeights(T);
  __builtin_memset(sums, 0, count * 2 * packLanes * sizeof(float));
  for (std::size_t g = 0; g < groups; g += step) {
    const std::size_t end = g + step < groups ? g + step : groups;
    quantTiles<T, quantTileRows, V>(rows, count, {columns, g, end}, packs, sums);
  }
}

template <Type T>
void matmulQuantized(const Product& p) {
  const std::size_t columns = p.rows.columns;
  const std::size_t count = p.rows.count;
  const std::size_t groups = columns / scaleWeights(T);
  const std::size_t lanes = 2 * packLanes;
  std::byte* scratch = p.scratch;
  QuantRows rows{};
  rows.quants = reinterpret_cast<std::uint8_t*>(scratch);
  scratch += roundUp64(count * quantStride(columns));
  rows.scales = reinterpret_cast<float*>(scratch);
  scratch += roundUp64(count * groups * sizeof(float));
  rows.minimums = reinterpret_cast<float*>(scratch);
  scratch += roundUp64(count * groups * sizeof(float));
  auto* sums = reinterpret_cast<float*>(scratch);
  for (std::size_t r = 0; r < count; r++) {
    decodeRow<T>(p.rows.data + r * rowBytes(T, columns), columns,
                 {rows.quants + r * quantStride(columns), rows.scales + r * groups, rows.minimums + r * groups});
  }
  for (std::size_t token = 0; token < p.tokens; token += lanes) {
    const std::size_t tokens = p.tokens - token < lanes ? p.tokens - token : lanes;
    const std::byte* first = p.packs + token / packLanes * quantPackBytes<T>(columns);
    if (tokens > packLanes) {
      const QuantPack packs[2] = {quantPackAt<T>(first, columns),
                                  quantPackAt<T>(first + quantPackBytes<T>(columns), columns)};
      quantPasses<T, 2>(rows, count, columns, packs, sums);
    } else {
      const QuantPack packs[2] = {quantPackAt<T>(first, columns), {}};
      quantPasses<T, 1>(rows, count, columns, packs, sums);
    }
    scatterSums(sums, count, lanes, tokens, p.out + token * p.outStride, p.outStride);
  }
}

}  // namespace
}  // namespace hearth
