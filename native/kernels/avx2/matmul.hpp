#pragma once
#include "../shared/activations.hpp"
#include "../shared/matmul_float.hpp"
#include "decode.hpp"

/**
 * Quantized rows times many tokens, in bytes. Lanes are rows: eight rows are interleaved four columns at a time, so that
 * four activations of a token, broadcast, are multiplied with eight rows. How products are added up depends on the
 * instructions (PairDots below; with those of AVX-VNNI, QuadDots in ../avxvnni.cpp).
 */
namespace hearth {
namespace {

inline constexpr std::size_t packTokens = Avx2::width;
inline constexpr std::size_t packRows = 8;
/** Rows of a tile: two packs. */
inline constexpr std::size_t tileRowCount = 2 * packRows;
/** Columns of a group, whose activations have one scale. */
inline constexpr std::size_t groupColumns = 32;
/** Groups per pass: the rows of a tile and the tokens of a block stay in the first-level cache. */
inline constexpr std::size_t passGroups = 8;
/** Tokens of a block, whole packs. */
inline constexpr std::size_t blockTokens = 32;

inline __m256i broadcast32(const void* at) {
  return _mm256_castps_si256(_mm256_broadcast_ss(static_cast<const float*>(at)));
}

/** Two sums of 16 bits in one number. */
inline std::int32_t twoWords(std::int32_t low, std::int32_t high) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(low) & 0xffff) | static_cast<std::uint32_t>(high) << 16);
}

/**
 * Sums of 16 bits, two for every four columns. An instruction multiplies and adds two products, which saturate; further
 * additions may wrap, as long as the whole sum fits. So eight instructions are added up before the sums are widened and
 * scaled by one more, if weights have four bits; others need shorter segments. Weights of eight bits are multiplied as
 * two planes of four.
 */
struct PairDots {
  static constexpr bool narrow = true;
  static __m256i multiply(__m256i weights, __m256i x) { return _mm256_maddubs_epi16(weights, x); }
  static __m256i add(__m256i sums, __m256i weights, __m256i x) {
    __m256i result = _mm256_add_epi16(sums, multiply(weights, x));
    // Compilers would otherwise reorder sums until no registers are left.
    asm("" : "+x"(result));
    return result;
  }
  /** What sums start from, of the first two of every four columns and of the others. */
  static std::int32_t start(std::int32_t first, std::int32_t second) { return twoWords(first, second); }
  /** An integer scale as `scaled` wants it. */
  static __m256i scale(__m256i number) { return _mm256_blend_epi16(number, _mm256_slli_epi32(number, 16), 0xaa); }
  static __m256i scaled(__m256i sums, __m256i scale) { return _mm256_madd_epi16(sums, scale); }
  static __m256i widened(__m256i sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi16(1)); }
};

/** What the innermost loop needs to know of a format. */
struct TileShape {
  /** Planes of four bits, or one of all bits. */
  std::size_t planes;
  /** Columns whose products are added before they are scaled. */
  std::size_t segment;
  /** What is subtracted from weights, of planes from those of the upper one. */
  int zero;
  /** Columns of an integer scale; 0 if there is none. */
  std::size_t scale;
  /** Columns of a minimum; 0 if there is none. */
  std::size_t minimum;
  /** Columns of a scale in single precision: a block of weights. */
  std::size_t block;
};

/** Columns of which half, two of every four, have products that sum to 16 bits, from the largest size of weights. */
constexpr std::size_t segmentColumns(Type type) {
  switch (type) {
    // 31 from zero.
    case Type::Q5_1:
    case Type::Q5_K:
      return 16;
    // 62 at most.
    case Type::IQ2_XXS:
    case Type::IQ2_XS:
    case Type::IQ2_S:
    case Type::IQ3_XXS:
      return 8;
    // 16 at most, but those of Q6_K, which have a scale for 16: 32.
    default:
      return scaleWeights(type);
  }
}

template <class Dots>
constexpr TileShape tileShape(Type type) {
  const bool planes = Dots::narrow && isWide(type);
  return {planes ? 2u : 1u,
          Dots::narrow ? segmentColumns(type) : scaleWeights(type),
          planes ? 8 : formatOf(type).zeroPoint,
          hasOneScale(type) ? 0 : scaleWeights(type),
          formatOf(type).hasMinimum ? scaleWeights(type) : 0,
          formatOf(type).block};
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
