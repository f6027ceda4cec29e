#pragma once
#include "../shared/matmul_float.hpp"
#include "activations.hpp"
#include "decode_levels.hpp"
#include "decode_ternary.hpp"
#include "scatter.hpp"

/**
 * Quantized rows times many tokens by the byte dot product. Lanes are tokens, sixteen to a pack; a pack holds its
 * rounded activations four columns at a time, so that four weights of a row, broadcast, are multiplied with sixteen
 * tokens. A unit's weights are unpacked once, with one scale (and minimum) per group in single precision. A tile of 6
 * rows by two packs keeps its 12 integer and 12 float sums in registers. Of activations of two bytes, high and low ones
 * share the integer sums, as no registers are left: the high bytes of a group are added, the sums shifted, then the low
 * bytes added.
 *
 * With bytes a group of 32 columns takes eight dot products, and a multiplication and an addition for the scales (one
 * more for a minimum) in the same execution units: at most 80 % (73 %) of the peak of dot products alone, 67 % with
 * groups of 16. A tile by itself reaches 72 % (66 %, 61 %) on Zen 4.
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

/** Bytes of a rounded activation. */
constexpr std::size_t terms(Rounding rounding) { return rounding == Rounding::byte ? 1 : 2; }

/** The parts of a pack of sixteen tokens. */
struct QuantPack {
  /** [columns/group][terms: high, low][group/4][16][4] */
  std::int8_t* quants;
  /** [columns/group][16]: the activations' scales. */
  float* scales;
  /** [columns/group][16]: −zeroPoint·Σ quants, the initial values of the integer sums. */
  std::int32_t* starts;
  /** [columns/group][16]: scale·Σ quants, the factors of the minimums. */
  float* sums;
};

template <Type T, Rounding R>
std::size_t quantPackBytes(std::size_t columns) {
  const std::size_t groups = columns / scaleWeights(T);
  return packLanes * (terms(R) * columns + groups * (sizeof(float) + sizeof(std::int32_t) + sizeof(float)));
}

template <Type T, Rounding R>
QuantPack quantPackAt(const std::byte* base, std::size_t columns) {
  const std::size_t groups = columns / scaleWeights(T);
  auto* bytes = const_cast<std::byte*>(base);
  QuantPack pack{};
  pack.quants = reinterpret_cast<std::int8_t*>(bytes);
  pack.scales = reinterpret_cast<float*>(bytes + packLanes * terms(R) * columns);
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

template <Type T, Rounding R>
void packQuants(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed) {
  constexpr std::size_t group = scaleWeights(T);
  constexpr std::size_t scaled = scaleGroup(T, R);
  const QuantPack pack = quantPackAt<T, R>(packed, columns);
  if (tokens < packLanes) __builtin_memset(packed, 0, quantPackBytes<T, R>(columns));
  std::int16_t quants[256];
  std::int8_t bytes[2 * group];
  for (std::size_t t = 0; t < tokens; t++) {
    // Whole superblocks, as their chunks change places.
    constexpr std::size_t step = isSuperblock(T) ? 256 : scaled;
    for (std::size_t begin = 0; begin < columns; begin += step) {
      float scales[step / scaled];
      for (std::size_t i = 0; i < step; i += scaled) {
        scales[i / scaled] = quantizeGroup(x + t * columns + begin + i, scaled, quants + i, R);
      }
      for (std::size_t c = begin; c < begin + step; c += group) {
        const std::size_t natural = orderedColumn<T>(c) - begin;
        const std::int16_t* from = quants + natural;
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < group; i++) sum += from[i];
        if constexpr (R == Rounding::word) {
          splitQuants(from, group, bytes, bytes + group);
        } else {
          for (std::size_t i = 0; i < group; i++) bytes[i] = static_cast<std::int8_t>(from[i]);
        }
        for (std::size_t i = 0; i < terms(R) * group; i += 4) {
          __builtin_memcpy(pack.quants + terms(R) * c * packLanes + (i / 4 * packLanes + t) * 4, bytes + i, 4);
        }
        const std::size_t at = c / group * packLanes + t;
        pack.scales[at] = scales[natural / scaled];
        pack.starts[at] = -formatOf(T).zeroPoint * sum;
        pack.sums[at] = scales[natural / scaled] * static_cast<float>(sum);
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

/** The group of a superblock at each place of the registers' order, and the same for minimums behind eight scales. */
struct GroupOrder {
  alignas(64) std::int32_t groups[16];
};
template <Type T>
constexpr GroupOrder makeGroupOrder() {
  constexpr std::size_t count = 256 / scaleWeights(T);
  GroupOrder order{};
  for (std::size_t i = 0; i < 16; i++) {
    const std::size_t group = orderedColumn<T>(i % count * scaleWeights(T)) / scaleWeights(T);
    order.groups[i] = static_cast<std::int32_t>(i / count * count + group);
  }
  return order;
}
template <Type T>
inline constexpr GroupOrder groupOrder = makeGroupOrder<T>();

template <Type T>
void decodeRow(const std::uint8_t* row, std::size_t columns, const QuantRows& out) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  if constexpr (isSuperblock(T)) {
    for (std::size_t i = 0; i < columns / 256; i++) {
      const std::uint8_t* block = row + i * bytes;
      __m512i weights[4];
      decodeSuperblock<T>(block, weights);
      for (std::size_t part = 0; part < 4; part++) _mm512_storeu_si512(out.quants + i * 256 + 64 * part, weights[part]);
      const __m128i packed = packedScales<T>(block);
      const __m128 factors = scaleAndMinimum<T>(block);
      const __m512 scale = _mm512_broadcastss_ps(factors);
      const __m512 minimum = _mm512_broadcastss_ps(_mm_movehdup_ps(factors));
      const __m512i order = _mm512_load_si512(groupOrder<T>.groups);
      if constexpr (scaleWeights(T) == 32) {
        // Eight scales, then eight minimums or zeros.
        const __m512 all = _mm512_cvtepi32_ps(formatOf(T).hasMinimum ? _mm512_cvtepu8_epi32(packed)
                                                                     : _mm512_cvtepi8_epi32(packed));
        const __m512 scaled = _mm512_mul_ps(all, _mm512_mask_blend_ps(0xff00, scale, minimum));
        const __m512 ordered = _mm512_permutexvar_ps(order, scaled);
        _mm256_storeu_ps(out.scales + 8 * i, _mm512_castps512_ps256(ordered));
        _mm256_storeu_ps(out.minimums + 8 * i, _mm512_extractf32x8_ps(ordered, 1));
      } else {
        const __m512 scales = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(packed)), scale);
        _mm512_storeu_ps(out.scales + 16 * i, _mm512_permutexvar_ps(order, scales));
        if constexpr (T == Type::Q2_K) {
          const __m128i high = _mm_and_si128(_mm_srli_epi16(load128(block), 4), _mm_set1_epi8(15));
          const __m512 minimums = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(high)), minimum);
          _mm512_storeu_ps(out.minimums + 16 * i, _mm512_permutexvar_ps(order, minimums));
        }
      }
    }
  } else {
    for (std::size_t i = 0; i < columns / 32; i++) {
      const std::uint8_t* block = row + i * bytes;
      const __m256i weights = _mm512_castsi512_si256(decodeBlocks<T>(block, block));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.quants + i * 32), weights);
      out.scales[i] = blockScale<T>(block);
      if constexpr (formatOf(T).hasMinimum) out.minimums[i] = -halfAt(block + 2);
    }
  }
}

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

/** The columns of the rows and packs that a tile multiplies, in groups. */
struct QuantPass {
  std::size_t columns;
  std::size_t firstGroup;
  std::size_t endGroup;
};

/** out[row][lane of V packs] += Σ over the pass's columns, for N rows. */
template <Type T, Rounding R, std::size_t N, std::size_t V>
inline void quantTile(const QuantRows& rows, const QuantPass& pass, const QuantPack (&packs)[2], float* out) {
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

template <Type T, Rounding R, std::size_t N, std::size_t V>
void quantTiles(QuantRows rows, std::size_t count, const QuantPass& pass, const QuantPack (&packs)[2], float* out) {
  const std::size_t groups = pass.columns / scaleWeights(T);
  for (; count >= N; count -= N) {
    quantTile<T, R, N, V>(rows, pass, packs, out);
    rows.quants += N * quantStride(pass.columns);
    rows.scales += N * groups;
    rows.minimums += N * groups;
    out += N * 2 * packLanes;
  }
  if constexpr (N > 1) quantTiles<T, R, N / 2, V>(rows, count, pass, packs, out);
}

/** sums[row][2·16] = the rows' products with V packs, pass by pass. */
template <Type T, Rounding R, std::size_t V>
void quantPasses(const QuantRows& rows, std::size_t count, std::size_t columns, const QuantPack (&packs)[2],
                 float* sums) {
  constexpr std::size_t step = quantColumns / scaleWeights(T);
  const std::size_t groups = columns / scaleWeights(T);
  __builtin_memset(sums, 0, count * 2 * packLanes * sizeof(float));
  for (std::size_t g = 0; g < groups; g += step) {
    const std::size_t end = g + step < groups ? g + step : groups;
    quantTiles<T, R, quantTileRows, V>(rows, count, {columns, g, end}, packs, sums);
  }
}

template <Type T, Rounding R>
void matmulQuantized(const Product& p) {
  const std::size_t columns = p.rows.columns;
  const std::size_t count = p.rows.count;
  const std::size_t lanes = 2 * packLanes;
  const auto [rows, sums] = quantScratchAt<T>(p.scratch, count, columns);
  for (std::size_t r = 0; r < count; r++) {
    decodeRow<T>(p.rows.data + r * rowBytes(T, columns), columns, rowAt<T>(rows, r, columns));
  }
  for (std::size_t token = 0; token < p.tokens; token += lanes) {
    const std::size_t tokens = p.tokens - token < lanes ? p.tokens - token : lanes;
    const std::byte* first = p.packs + token / packLanes * quantPackBytes<T, R>(columns);
    if (tokens > packLanes) {
      const QuantPack packs[2] = {quantPackAt<T, R>(first, columns),
                                  quantPackAt<T, R>(first + quantPackBytes<T, R>(columns), columns)};
      quantPasses<T, R, 2>(rows, count, columns, packs, sums);
    } else {
      const QuantPack packs[2] = {quantPackAt<T, R>(first, columns), {}};
      quantPasses<T, R, 1>(rows, count, columns, packs, sums);
    }
    scatterTransposed(sums, count, tokens, p.out + token * p.outStride, p.outStride);
  }
}

}  // namespace
}  // namespace hearth
