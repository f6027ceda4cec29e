#pragma once
#include <cstddef>
#include <cstdint>

#include "../formats/formats.hpp"

namespace hearth {

/** Positions whose keys lie together, and that attention takes at a time. */
inline constexpr std::size_t positionBlock = 64;

/**
 * Keys and values of one layer, F16 or F32. Values: [kvHead][position][dimension]; keys: [kvHead][block of 64
 * positions][dimension][position in the block]. `capacity` is a multiple of 64.
 */
struct CacheView {
  std::uint8_t* keys;
  std::uint8_t* values;
  Type type;
  std::size_t kvHeads;
  std::size_t capacity;
  std::size_t headSize;

  /** Index of a position's first dimension; the next ones follow positionBlock apart in keys, side by side in values. */
  [[nodiscard]] std::size_t keyIndex(std::size_t kvHead, std::size_t position) const {
    const std::size_t block = position / positionBlock * positionBlock;
    return (kvHead * capacity + block) * headSize + position % positionBlock;
  }
  [[nodiscard]] std::size_t valueIndex(std::size_t kvHead, std::size_t position) const {
    return (kvHead * capacity + position) * headSize;
  }
};

/** The query heads that share one KV head, and the positions of a cache that they attend to. */
struct HeadGroup {
  const CacheView& cache;
  std::size_t kvHead;
  /** Positions 0 … length − 1. */
  std::size_t length;
  /** [heads][headSize] */
  const float* queries;
  std::size_t heads;
  /** Of the scores. */
  float scale;
  /** attentionScratch(heads) floats, aligned to 64. */
  float* scratch;
};

/**
 * What heads have seen of a context so far: the largest score m, the sum s of all e^(score − m), and the values weighted
 * so, of [group][headSize] (HELM Eqs. 4.18–4.20).
 */
struct SeenHeads {
  float* largest;
  float* totals;
  float* sums;
};

/** How activations are rounded for a quantized product: to 15 bits, or to a byte, which takes one dot product of two. */
enum class Rounding : std::uint8_t { word, byte };

/** Rows of a weight matrix that lie one after another, each `columns` weights of the kernel's format. */
struct Rows {
  const std::uint8_t* data;
  std::size_t count;
  std::size_t columns;
};

/** The product of rows and many tokens: out[token·outStride + row]. */
struct Product {
  Rows rows;
  /** Tokens packed `tokenLanes` at a time, each pack packBytes(type, columns) long; aligned to 64. */
  const std::byte* packs;
  std::size_t tokens;
  float* out;
  std::size_t outStride;
  /** scratchBytes(rows.count, rows.columns, tokens) of it, aligned to 64. */
  std::byte* scratch;
};

/** How one format is multiplied with many tokens. */
struct ManyTokens {
  std::size_t (*packBytes)(std::size_t columns);
  /** Packs up to `tokenLanes` tokens of x, [tokens][columns]; missing ones count as zeros. */
  void (*pack)(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed);
  std::size_t (*scratchBytes)(std::size_t rows, std::size_t columns, std::size_t tokens);
  void (*multiply)(const Product& product);
};

/**
 * What one instruction set offers. Pointers may be unaligned unless said otherwise; nothing allocates or throws.
 * Formats are indexes into the arrays.
 */
struct KernelTable {
  const char* name;

  /** Bytes of one token's activations, a multiple of 64, as `activate` lays them out for this format. */
  std::size_t (*activationBytes)(Type type, std::size_t columns);
  /** Prepares one token's x for products with this format: rounds it where the format is quantized. */
  void (*activate)(Type type, Rounding rounding, const float* x, std::size_t columns, std::byte* activations);
  /** y[r] = Σ rows[r][c]·x[c]. `activations` is aligned to 64. */
  void (*matvec[typeCount])(const Rows& rows, const std::byte* activations, float* y);
  /** The same for activations that were rounded to bytes. */
  void (*matvecBytes[typeCount])(const Rows& rows, const std::byte* activations, float* y);
  /** Tokens that lie side by side in a vector when many are multiplied at once. */
  std::size_t tokenLanes;
  /** Rows of the register tile: chunks of rows are best a multiple of it. */
  std::size_t tileRows;
  ManyTokens manyTokens[typeCount];

  /** One row as floats, bit by bit what ggml's dequantization gives. */
  void (*dequantize[typeCount])(const std::uint8_t* row, std::size_t columns, float* out);

  /** y = x/√(mean x² + epsilon)·weight. */
  void (*rmsNorm)(const float* x, const float* weight, std::size_t count, float epsilon, float* y);
  /** y = gate/(1 + e^−gate)·up. */
  void (*swiglu)(const float* gate, const float* up, std::size_t count, float* y);
  void (*softmax)(const float* x, std::size_t count, float* y);
  /** y += x. */
  void (*add)(const float* x, std::size_t count, float* y);
  /** Writes one token's keys and values, [kvHead][headSize], to a position. */
  void (*store)(const CacheView& cache, std::size_t position, const float* keys, const float* values);
  /** Attention of a group of heads, with a streaming softmax; out: [heads][headSize]. */
  void (*attention)(const HeadGroup& group, float* out);

  /**
   * The same over a part of a context, merged into what was seen of other parts, in any order; `begins` forgets those
   * first. The sums are not divided by the totals.
   */
  void (*attendPage)(const HeadGroup& group, const SeenHeads& seen, bool begins);
  /** Every row of y, `width` long, divided by its divisor. */
  void (*divideRows)(const float* divisors, std::size_t rows, std::size_t width, float* y);

  /** What the instruction set could reach: see shared/limits.hpp. */
  std::uint64_t (*readLines)(const std::byte* data, std::size_t bytes);
  double (*multiplyAdds)(std::size_t rounds, float& result);
  double (*byteDots)(std::size_t rounds, float& result);
};

constexpr std::size_t attentionScratch(std::size_t heads) { return heads * (positionBlock + 2); }

}  // namespace hearth
