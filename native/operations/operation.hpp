#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "../kernels/table.hpp"

namespace hearth {

/** A weight matrix: rows one after another, each a whole number of blocks. */
struct MatrixView {
  const std::uint8_t* data;
  Type type;
  std::size_t rows;
  std::size_t columns;
};

/** y (+)= x·Wᵀ + bias for as many tokens as x has. */
struct Multiplication {
  const MatrixView& matrix;
  std::span<const float> x;
  std::span<float> y;
  /** Empty: none. */
  std::span<const float> bias;
  bool accumulate;
  /** Rounding that the caller accepts; used where the format gains from it. */
  Rounding rounding;
};

/** What a thread has to itself while a program runs. */
struct ThreadScratch {
  /** Aligned to 64, `scratchBytes` of the largest operation. */
  std::byte* bytes;
  /** Which activations lie at `bytes`, as numbered by MatvecOperation::source; 0: none. */
  std::size_t source = 0;
};

/** Memory that an operation reads or writes, to find which operations must wait for which. */
using Range = std::span<const std::byte>;

/**
 * Each operation is cut into `units` that any thread may do in any order; `perform` does one.
 * Shapes are rows first: x [tokens][columns].
 */
struct EmbedOperation {
  MatrixView table;
  std::vector<std::size_t> tokens;
  std::span<float> y;
};

struct RmsNormOperation {
  std::span<const float> x;
  std::span<const float> weight;
  std::span<float> y;
  float epsilon;
};

/** y (+)= W·x + bias for one token; a unit is a run of rows. */
struct MatvecOperation {
  MatrixView matrix;
  std::span<const float> x;
  std::span<float> y;
  std::span<const float> bias;
  bool accumulate;
  Rounding rounding;
  std::size_t unitRows;
  /** Products with the same source share the rounded activations that a thread has made. */
  std::size_t source;
};

/** Packs x of many tokens into memory that all threads share; a unit is one pack. */
struct PackOperation {
  Type type;
  std::size_t columns;
  std::span<const float> x;
  std::span<std::byte> packs;
};

/** Y (+)= X·Wᵀ + bias for many tokens: from packs, or, for few tokens, one after another. */
struct MatmulOperation {
  MatrixView matrix;
  std::size_t tokens;
  std::span<const float> x;
  std::span<const std::byte> packs;
  std::span<float> y;
  std::span<const float> bias;
  bool accumulate;
  Rounding rounding;
  std::size_t unitRows;
};

/** Rotates the first `dimensions` values of every head, by angles [token][dimensions/2][cosine, sine]. */
struct RopeOperation {
  std::span<float> x;
  std::span<const float> angles;
  std::size_t heads;
  std::size_t headSize;
  std::size_t dimensions;
  bool halves;
};

/** Writes keys and values of tokens, [token][kvHead][headSize], to positions `position`, `position` + 1, … */
struct StoreOperation {
  CacheView cache;
  std::span<const float> keys;
  std::span<const float> values;
  std::size_t position;
};

/** Causal attention of tokens at positions `position`, …; queries and y [token][head][headSize]. */
struct AttentionOperation {
  CacheView cache;
  std::span<const float> queries;
  std::span<float> y;
  std::size_t heads;
  std::size_t position;
  float scale;
};

/** The first `count` positions of a cache, which are those of a context from `first` on. */
struct CachePage {
  CacheView cache;
  std::size_t first;
  std::size_t count;
};

/**
 * Merges pages, caches of one shape but for their capacity, into what the tokens' heads have seen of others: largest and
 * totals [token][head], sums [token][head][headSize].
 */
struct AttendPagesOperation {
  std::vector<CachePage> pages;
  std::span<const float> queries;
  std::span<float> sums;
  std::span<float> largest;
  std::span<float> totals;
  std::size_t heads;
  /** Of the first token. */
  std::size_t position;
  float scale;
  bool begins;
};

/** Every row of y divided by its divisor. */
struct DivideRowsOperation {
  std::span<const float> divisors;
  std::span<float> y;
};

struct SwigluOperation {
  std::span<const float> gate;
  std::span<const float> up;
  std::span<float> y;
};

struct SoftmaxOperation {
  std::span<const float> x;
  std::span<float> y;
  std::size_t width;
};

struct AddOperation {
  std::span<const float> x;
  std::span<float> y;
};

using Operation = std::variant<EmbedOperation, RmsNormOperation, MatvecOperation, PackOperation, MatmulOperation,
                               RopeOperation, StoreOperation, AttentionOperation, AttendPagesOperation,
                               DivideRowsOperation, SwigluOperation, SoftmaxOperation, AddOperation>;

}  // namespace hearth
