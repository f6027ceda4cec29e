#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "../formats/formats.hpp"
#include "recurrence.hpp"

namespace hearth {

/** Positions whose keys are stored together, and that attention processes at a time. */
inline constexpr std::size_t positionBlock = 64;

/** Dimensions that share a scale in a quantized cache. */
inline constexpr std::size_t cacheGroup = 32;

/** Formats of a cache: floats, or blocks of 32 whole numbers with one scale. */
constexpr bool isCacheType(Type type) {
  return type == Type::F32 || type == Type::F16 || type == Type::Q8_0 || type == Type::Q4_0;
}

/** Bytes of one group's part of a block of 64 positions: its scales, then its quants. */
constexpr std::size_t groupBytes(Type type) { return positionBlock * formatOf(type).bytes; }
inline constexpr std::size_t scalesBytes = positionBlock * sizeof(std::uint16_t);

/**
 * Keys and values of one layer: [kvHead][block of 64 positions], each block 64 rows of a head long.
 *
 * - F32, F16: keys [dimension][position in the block], values [position in the block][dimension].
 * - Q8_0, Q4_0: [group of 32 dimensions], each with the block's 64 scales in half precision, then its quants: signed
 *   bytes, keys [dimension][position] and values [position][dimension]; or of Q4_0 a byte for dimensions j and j + 16,
 *   in its low and high four bits with 8 for zero, j < 16. Scales and quants are those of a GGUF file's rows.
 *
 * Vectors thus hold positions for scores and dimensions for output, and the scales of many positions are converted
 * together. `capacity` is a multiple of 64, headSize of a quantized cache one of 32.
 */
struct CacheView {
  std::uint8_t* keys;
  std::uint8_t* values;
  Type type;
  std::size_t kvHeads;
  std::size_t capacity;
  std::size_t headSize;

  /** Bytes of the keys, and of the values. */
  [[nodiscard]] std::size_t bytes() const { return kvHeads * capacity * rowBytes(type, headSize); }
  /** Bytes before the block of a position, in keys and in values. */
  [[nodiscard]] std::size_t blockAt(std::size_t kvHead, std::size_t position) const {
    return (kvHead * capacity + position / positionBlock * positionBlock) * rowBytes(type, headSize);
  }
};

/** A run of positions, from `begin` on and before `end`. */
struct Positions {
  std::size_t begin;
  std::size_t end;

  [[nodiscard]] std::size_t count() const { return end - begin; }
};

/** More positions than there are. */
inline constexpr std::ptrdiff_t noWindow = std::numeric_limits<std::ptrdiff_t>::max() / 2;

/** The query heads of consecutive tokens that share one KV head, and the positions of a cache that they attend to. */
struct HeadGroup {
  const CacheView& cache;
  std::size_t kvHead;
  /** Positions of the cache that are used. */
  std::size_t used;
  /** Positions up to the first token's own, from the cache's first on, if positive; each further token has one more. */
  std::ptrdiff_t length;
  /** How many of them a token sees at most: the last ones. */
  std::ptrdiff_t window;
  /** [tokens][heads][headSize] */
  const float* queries;
  std::size_t tokens;
  std::size_t heads;
  /** Scale of the scores. */
  float scale;
  /**
   * Score of each head that belongs to no position, for which the head starts with a total of 1: [heads]. Null: none.
   */
  const float* sinks;
  /** Attention::scratchFloats floats, aligned to 64. */
  float* scratch;

  [[nodiscard]] std::size_t rows() const { return tokens * heads; }
  /** Used positions that a token sees. */
  [[nodiscard]] Positions seenBy(std::size_t token) const {
    const std::ptrdiff_t end = length + static_cast<std::ptrdiff_t>(token);
    const auto used_ = static_cast<std::ptrdiff_t>(used);
    const auto within = [used_](std::ptrdiff_t position) {
      return static_cast<std::size_t>(position < 0 ? 0 : position < used_ ? position : used_);
    };
    return {within(end - window), within(end)};
  }
  /** The same of a block, counted from its first position. */
  [[nodiscard]] Positions seenBy(std::size_t token, std::size_t block) const {
    const auto within = [block](std::size_t position) {
      return position < block ? 0 : position - block < positionBlock ? position - block : positionBlock;
    };
    const auto [begin, end] = seenBy(token);
    return {within(begin), within(end)};
  }
  /**
   * Positions that all tokens see together: nothing lies between, as each sees a position more than the one before it.
   */
  [[nodiscard]] Positions seen() const { return {seenBy(0).begin, seenBy(tokens - 1).end}; }
  /** The tokens that see something of a block; there must be one. */
  [[nodiscard]] Positions tokensSeeing(std::size_t block) const {
    Positions some{0, tokens};
    while (seenBy(some.begin, block).count() == 0) some.begin++;
    while (seenBy(some.end - 1, block).count() == 0) some.end--;
    return some;
  }
};

/**
 * Summary of the context that heads have seen so far: the largest score m, the sum s of e^(score − m), and the sum of
 * values weighted with e^(score − m), [tokens][heads][headSize] (HELM Eqs. 4.18–4.20).
 */
struct SeenHeads {
  float* largest;
  float* totals;
  float* sums;
};

/**
 * How tokens' queries attend to a cache, with a streaming softmax. A token has the same result alone and among others.
 */
struct Attention {
  /**
   * Rows of queries (tokens times the heads of a KV head) that are processed together: keys and values are then read
   * and converted once for all of them. A multiple of the register tile.
   */
  std::size_t queryRows;
  std::size_t (*scratchFloats)(std::size_t tokens, std::size_t heads, std::size_t headSize);
  /** Attention of a group of heads; out: [tokens][heads][headSize]. */
  void (*heads)(const HeadGroup& group, float* out);
  /**
   * The same over a part of a context, merged into what was seen of other parts, in any order; `begins` forgets those
   * first and starts from the sinks. The sums are not divided by the totals.
   */
  void (*page)(const HeadGroup& group, const SeenHeads& seen, bool begins);

  /** Tokens that are processed together, by the number of query heads per KV head. */
  [[nodiscard]] std::size_t tokens(std::size_t headsOfGroup) const {
    return headsOfGroup < queryRows ? queryRows / headsOfGroup : 1;
  }
};

/**
 * How factors are rounded. word: activations to 15 bits for quantized weights, nothing else. byte: activations to a
 * byte, with a scale for every 32 (shared/activations.hpp), for quantized weights; for many tokens, those of products
 * with weights in BF16 to bfloat16, and the factors of attention to 16 bits. bf16: as byte, and for many tokens both
 * factors of products with weights in F16 to bfloat16 too.
 */
enum class Rounding : std::uint8_t { word, byte, bf16 };

/**
 * Activation functions of a gate: x/(1 + e^−x), x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))), and that of gpt-oss: with g =
 * min(gate, 7) and u = up between −7 and 7, y = g/(1 + e^(−1.702·g))·(u + 1); 1/(1 + e^−x), max(x, 0), and x itself.
 * The order is that of ACTIVATIONS in engine/model/feed-forward.ts.
 */
enum class Activation : std::uint8_t { silu, gelu, clampedSilu, sigmoid, relu, identity };
inline constexpr std::size_t activationCount = 6;

/** Contiguous rows of a weight matrix, each `columns` weights of the kernel's format. */
struct Rows {
  const std::uint8_t* data;
  std::size_t count;
  std::size_t columns;
};

/** The product of rows and many tokens: out[token·outStride + row]. */
struct Product {
  Rows rows;
  /** Tokens packed `tokenLanes` at a time, each pack packBytes(columns) long; aligned to 64. */
  const std::byte* packs;
  std::size_t tokens;
  float* out;
  std::size_t outStride;
  /** scratchBytes(rows.count, rows.columns, tokens) bytes, aligned to 64. */
  std::byte* scratch;
};

/** The products of rows and several tokens, each as the matrix–vector product has it: out[token·outStride + row]. */
struct Matvecs {
  Rows rows;
  /** Prepared one by one, at a distance of `activationBytes`; aligned to 64. */
  const std::byte* activations;
  std::size_t activationBytes;
  std::size_t tokens;
  float* out;
  std::size_t outStride;
};

/** How one format is multiplied with one token, or with several one by one. */
struct FewTokens {
  /** y[r] = Σ rows[r][c]·x[c]. `activations` is aligned to 64. */
  void (*matvec)(const Rows& rows, const std::byte* activations, float* y);
  /** The same for several tokens, with the same results for each. */
  void (*matvecs)(const Matvecs& products);
  /**
   * Bytes of rows that are unpacked, which makes products with one token faster if they stay in the second-level cache:
   * a third more. 0, or no function, where nothing is gained. The bytes of the first 8·n rows are those before the
   * others.
   */
  std::size_t (*unpackedBytes)(std::size_t rows, std::size_t columns) = nullptr;
  /** @param out aligned to 64 */
  void (*unpack)(const Rows& rows, std::byte* out) = nullptr;
  /** Result of `matvec`, bit by bit, from unpacked rows. */
  void (*matvecUnpacked)(const Rows& rows, const std::byte* activations, float* y) = nullptr;
  /** Most tokens with which `matvecs` is faster than ManyTokens is with a pack that they don't fill. */
  std::size_t most = 3;
};

/** How one format is multiplied with many tokens. */
struct ManyTokens {
  std::size_t (*packBytes)(std::size_t columns);
  /** Packs up to `tokenLanes` tokens of x, [tokens][columns]; missing tokens are zeros. */
  void (*pack)(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed);
  std::size_t (*scratchBytes)(std::size_t rows, std::size_t columns, std::size_t tokens);
  void (*multiply)(const Product& product);
};

/**
 * The kernels of one instruction set. Pointers may be unaligned unless stated otherwise; nothing allocates or throws.
 * Arrays are indexed by Type. Dot products: shared/dot_quantized.hpp for every instruction set, replaced by
 * avx512/few_tokens.hpp, with bytes by avx2/dot.hpp; products with many tokens: shared/matmul_float.hpp, replaced by
 * avx512/matmul.hpp and bf16/matmul.hpp, with bytes by avx2/matmul.hpp.
 */
struct KernelTable {
  const char* name;

  /** Bytes of one token's activations as `activate` lays them out for a format; a multiple of 64. */
  std::size_t (*activationBytes)(Type type, std::size_t columns);
  /** Prepares one token's x for products with a format: rounds it if the format is quantized. */
  void (*activate)(Type type, Rounding rounding, const float* x, std::size_t columns, std::byte* activations);
  FewTokens fewTokens[typeCount];
  /** The same for activations that were rounded to bytes; null where that gains nothing. */
  FewTokens fewTokensBytes[typeCount];
  /** Tokens in the lanes of a vector when many are multiplied at once. */
  std::size_t tokenLanes;
  /** Rows of the register tile: runs of rows should be a multiple of it. */
  std::size_t tileRows;
  ManyTokens manyTokens[typeCount];
  /** The same with Rounding::byte; null where that gains nothing. */
  ManyTokens manyTokensBytes[typeCount];
  /** The same with Rounding::bf16. */
  ManyTokens manyTokensBf16[typeCount];

  /** Converts one row to floats, bit by bit as ggml's dequantization does. */
  void (*dequantize[typeCount])(const std::uint8_t* row, std::size_t columns, float* out);

  /** y = x/√(mean x² + epsilon)·weight. */
  void (*rmsNorm)(const float* x, const float* weight, std::size_t count, float epsilon, float* y);
  /** y = activation(gate)·up, by Activation. */
  void (*gates[activationCount])(const float* gate, const float* up, std::size_t count, float* y);
  void (*softmax)(const float* x, std::size_t count, float* y);
  /** y += factor·x. */
  void (*add)(const float* x, float factor, std::size_t count, float* y);
  /** y *= factor. */
  void (*scale)(float factor, std::size_t count, float* y);
  /** y = cap·tanh(y/cap). */
  void (*softCap)(float cap, std::size_t count, float* y);
  /** Writes one token's keys and values, [kvHead][headSize], to a position. */
  void (*store)(const CacheView& cache, std::size_t position, const float* keys, const float* values);
  Attention attention;
  /** The same for many tokens with Rounding::byte; without functions where that gains nothing. */
  Attention attentionMany;
  /** Whether it does for a cache. */
  bool (*attendsMany)(const CacheView& cache);
  /** Divides every row of y, `width` long, by its divisor. */
  void (*divideRows)(const float* divisors, std::size_t rows, std::size_t width, float* y);
  /** Recurrent layers: see recurrence.hpp. */
  void (*convolve)(const ConvolvedChannels& channels);
  void (*updateDelta)(const DeltaColumns& columns);
  void (*scanState)(const ScannedRows& rows);

  /** Limits of the instruction set: see shared/limits.hpp. */
  std::uint64_t (*readLines)(const std::byte* data, std::size_t bytes);
  double (*multiplyAdds)(std::size_t rounds, float& result);
  double (*byteDots)(std::size_t rounds, float& result);
};

/** The rounding of a format's products with few tokens, where `wanted` is accepted. */
inline Rounding roundingOfFew(const KernelTable& table, Type type, Rounding wanted) {
  const bool gains = table.fewTokensBytes[static_cast<std::size_t>(type)].matvec != nullptr;
  return gains && wanted != Rounding::word ? Rounding::byte : Rounding::word;
}
inline const FewTokens& fewTokensOf(const KernelTable& table, Type type, Rounding rounding) {
  return (rounding == Rounding::word ? table.fewTokens : table.fewTokensBytes)[static_cast<std::size_t>(type)];
}
inline const ManyTokens& manyTokensOf(const KernelTable& table, Type type, Rounding rounding) {
  const auto i = static_cast<std::size_t>(type);
  switch (rounding) {
    case Rounding::word:
      return table.manyTokens[i];
    case Rounding::byte:
      return table.manyTokensBytes[i];
    default:
      return table.manyTokensBf16[i];
  }
}
/**
 * The coarsest rounding of a format's products with many tokens that gains something and is no coarser than `wanted`.
 */
inline Rounding roundingOfMany(const KernelTable& table, Type type, Rounding wanted) {
  const auto gains = [&](Rounding one) { return manyTokensOf(table, type, one).multiply != nullptr; };
  if (wanted == Rounding::bf16 && gains(Rounding::bf16)) return Rounding::bf16;
  return wanted != Rounding::word && gains(Rounding::byte) ? Rounding::byte : Rounding::word;
}

/** The rounding of the attention of many tokens, where `wanted` is accepted. */
inline Rounding roundingOfAttention(const KernelTable& table, const CacheView& cache, Rounding wanted) {
  const bool gains = table.attendsMany != nullptr && table.attendsMany(cache);
  return gains && wanted != Rounding::word ? Rounding::byte : Rounding::word;
}
inline const Attention& attentionOf(const KernelTable& table, Rounding rounding) {
  return rounding == Rounding::byte ? table.attentionMany : table.attention;
}

}  // namespace hearth
