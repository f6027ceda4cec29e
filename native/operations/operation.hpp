#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "../kernels/table.hpp"
#include "recurrent_operations.hpp"

namespace hearth {

/** A weight matrix: contiguous rows, each a whole number of blocks. */
struct MatrixView {
  const std::uint8_t* data;
  Type type;
  std::size_t rows;
  std::size_t columns;
};

/**
 * How tokens are multiplied, with weights or in attention: each as if it were alone, or as many are, which rounds
 * differently; or as is faster for their number.
 */
enum class Way : std::uint8_t { byNumber, singly, together };

/** y (+)= x·Wᵀ + bias for as many tokens as x has. */
struct Multiplication {
  const MatrixView& matrix;
  std::span<const float> x;
  std::span<float> y;
  /** Empty: none. */
  std::span<const float> bias;
  bool accumulate;
  Way way;
  /** Whether activations aren't rounded to bytes, in products whose errors cost more than others'. */
  bool finely;
};

/** Matrices of the same shape in one: those of expert e are its rows from e·stride on. */
struct Experts {
  MatrixView matrix;
  std::size_t count;
  /** Rows of an expert. */
  std::size_t rows;
  std::size_t stride;
};

/** y[choice] = x·W(e)ᵀ + bias(e), where e is the expert of the choice: one of `used` of a token. */
struct ExpertMultiplication {
  Experts experts;
  /** [tokens][used][expert, weight] */
  std::span<const float> routes;
  std::size_t used;
  /** [tokens][columns], or [tokens][used][columns] */
  std::span<const float> x;
  /** [tokens][used][rows] */
  std::span<float> y;
  /** [experts][rows]; empty: none. */
  std::span<const float> bias;
  Way way;
};

/** A thread's own memory while a program runs. */
struct ThreadScratch {
  /** Aligned to 64, `scratchBytes` of the largest operation. */
  std::byte* bytes;
  /** Which prepared activations are at `bytes` (MatvecOperation::source, MatvecExpertsOperation::source); 0: none. */
  std::size_t source = 0;
};

/** Memory that an operation reads or writes; overlaps tell which operations must wait for others. */
using Range = std::span<const std::byte>;

/**
 * Each operation is cut into units that any thread may do in any order; `performUnit` does one. Shapes are row-major:
 * x [tokens][columns].
 */
struct EmbedOperation {
  MatrixView table;
  std::vector<std::size_t> tokens;
  std::span<float> y;
};

struct RmsNormOperation {
  std::span<const float> x;
  /** [groups][width]: row r has the weights of group r mod groups. */
  std::span<const float> weight;
  std::span<float> y;
  float epsilon;
  std::size_t width;
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
  /** Products with the same source share the activations that a thread has rounded. */
  std::size_t source;
  /** The matrix, if it is unpacked. */
  std::span<const std::byte> unpacked;
};

/** Prepares the activations of several tokens, each as for a product of its own, in memory that all threads share. */
struct ActivateOperation {
  Type type;
  Rounding rounding;
  std::size_t columns;
  std::span<const float> x;
  /** [tokens][activationBytes] */
  std::span<std::byte> activations;
};

/** Packs the activations of many tokens into memory that all threads share; a unit is one pack. */
struct PackOperation {
  Type type;
  Rounding rounding;
  std::size_t columns;
  std::span<const float> x;
  std::span<std::byte> packs;
};

/** Y (+)= X·Wᵀ + bias for several tokens, whose activations are packed, or prepared singly. */
struct MatmulOperation {
  MatrixView matrix;
  std::size_t tokens;
  std::span<const float> x;
  /** Packs, or with `singly` [tokens][activationBytes]. */
  std::span<const std::byte> packs;
  bool singly;
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

/**
 * Causal attention of tokens at positions `position`, …, to the last `window` positions up to their own; queries and y
 * [token][head][headSize].
 */
struct AttentionOperation {
  CacheView cache;
  std::span<const float> queries;
  std::span<float> y;
  std::size_t heads;
  std::size_t position;
  std::ptrdiff_t window;
  float scale;
  /** [heads]; empty: none. */
  std::span<const float> sinks;
  Rounding rounding;
};

/** The first `count` positions of a cache, which hold a context's positions from `first` on. */
struct CachePage {
  CacheView cache;
  std::size_t first;
  std::size_t count;
};

/**
 * Merges pages, caches of the same shape except for their capacity, into what the tokens' heads have seen of other
 * pages: largest and totals [token][head], sums [token][head][headSize].
 */
struct AttendPagesOperation {
  std::vector<CachePage> pages;
  std::span<const float> queries;
  std::span<float> sums;
  std::span<float> largest;
  std::span<float> totals;
  std::size_t heads;
  /** Position of the first token. */
  std::size_t position;
  std::ptrdiff_t window;
  float scale;
  bool begins;
  /** [heads], used where this begins; empty: none. */
  std::span<const float> sinks;
  Rounding rounding;
};

inline const CacheView& cacheOf(const AttentionOperation& o) { return o.cache; }
inline const CacheView& cacheOf(const AttendPagesOperation& o) { return o.pages.front().cache; }

/** Tokens of an operation of attention. */
inline std::size_t tokensOf(const auto& o) { return o.queries.size() / (o.heads * cacheOf(o).headSize); }

/** Divides every row of y by its divisor. */
struct DivideRowsOperation {
  std::span<const float> divisors;
  std::span<float> y;
};

/** y = activation(gate)·up */
struct GateOperation {
  std::span<const float> gate;
  std::span<const float> up;
  std::span<float> y;
  Activation activation;
};

struct SoftmaxOperation {
  std::span<const float> x;
  std::span<float> y;
  std::size_t width;
};

/** y += factor·x */
struct AddOperation {
  std::span<const float> x;
  std::span<float> y;
  float factor;
};

/** y *= factor */
struct ScaleOperation {
  std::span<float> y;
  float factor;
};

/** y = cap·tanh(y/cap) */
struct SoftCapOperation {
  std::span<float> y;
  float cap;
};

/** The largest values of every row: y [row][number of non-finite values, then pairs of place and value]. */
struct TopKOperation {
  std::span<const float> x;
  std::span<float> y;
  std::size_t width;
};

/** Scores of experts from a router's logits, in the order of ROUTER_SCORES in engine/model/feed-forward.ts. */
enum class RouterScores : std::uint8_t { softmax, sigmoid, logits };
inline constexpr std::size_t routerScoresCount = 3;

/** How experts are chosen and weighted. */
struct Router {
  std::size_t experts;
  std::size_t used;
  RouterScores scores;
  /** Whether weights are divided by their sum. */
  bool normalised;
  double factor;
  /** Groups of neighbours of the same size, and those from which experts are chosen. */
  std::size_t groups;
  std::size_t groupsUsed;
};

/** Chooses each token's experts by their logits x [token][expert]: y [token][used][expert, weight]. */
struct RouteOperation {
  std::span<const float> x;
  /** [experts], added to scores for the choice; empty: none. */
  std::span<const float> bias;
  /** [experts], factors of the chosen ones' weights; empty: none. */
  std::span<const float> scales;
  std::span<float> y;
  Router router;
};

/** An ExpertMultiplication of one token; a unit is a run of rows of one choice's expert. */
struct MatvecExpertsOperation {
  Experts experts;
  std::span<const float> routes;
  std::span<const float> x;
  /** Successive choices that have the same row of x. */
  std::size_t choicesOfInput;
  std::span<float> y;
  std::span<const float> bias;
  Rounding rounding;
  std::size_t unitRows;
  /** As in MatvecOperation, for the first row of x; those of the other rows are the numbers that follow. */
  std::size_t source;
};

/** Choices in the order of their experts, in memory that all threads share. */
struct ChoiceGroups {
  /** All the numbers below, one after another. */
  std::span<std::size_t> numbers;
  std::size_t experts;

  static std::size_t length(std::size_t experts, std::size_t choices) { return 2 * (experts + 1) + 2 * choices; }
  [[nodiscard]] std::size_t count() const { return numbers.size() / 2 - (experts + 1); }
  /** First choice of each expert, and the end of the last one's. */
  [[nodiscard]] std::span<std::size_t> begins() const { return numbers.first(experts + 1); }
  /** The first pack of each expert's choices, which begin a new one, and the number of packs. */
  [[nodiscard]] std::span<std::size_t> packs() const { return numbers.subspan(experts + 1, experts + 1); }
  [[nodiscard]] std::span<std::size_t> expertOfChoice() const { return numbers.subspan(2 * (experts + 1), count()); }
  /** Numbers of choices by expert, those of an expert ascending. */
  [[nodiscard]] std::span<std::size_t> choices() const { return numbers.last(count()); }
  [[nodiscard]] std::span<const std::size_t> choicesOf(std::size_t expert) const {
    return choices().subspan(begins()[expert], begins()[expert + 1] - begins()[expert]);
  }
};

/** Sorts choices by their experts. */
struct GroupChoicesOperation {
  std::span<const float> routes;
  ChoiceGroups groups;
};

/** Prepares the rows of x for choices in the order of their experts, each as for a product of its own. */
struct ActivateExpertsOperation {
  Type type;
  Rounding rounding;
  std::size_t columns;
  std::span<const float> x;
  std::size_t choicesOfInput;
  ChoiceGroups groups;
  /** [choices][activationBytes] */
  std::span<std::byte> activations;
};

/** Packs the rows of x that each expert is multiplied with; a unit is one pack, of which there may be fewer than room. */
struct PackExpertsOperation {
  Type type;
  Rounding rounding;
  std::size_t columns;
  std::span<const float> x;
  std::size_t choicesOfInput;
  ChoiceGroups groups;
  std::span<std::byte> packs;
};

/** An ExpertMultiplication of several tokens; a unit is a run of an expert's rows and all of its choices. */
struct MatmulExpertsOperation {
  Experts experts;
  ChoiceGroups groups;
  /** Packs, or with `singly` [choices][activationBytes], both by expert. */
  std::span<const std::byte> packs;
  bool singly;
  /** Choices that are multiplied at a time: as many as an expert has if no token chooses it twice. */
  std::size_t together;
  std::span<float> y;
  std::span<const float> bias;
  Rounding rounding;
  std::size_t unitRows;
};

/** y (+)= Σ weight·x over a token's choices: x [token][used][width], routes [token][used][expert, weight]. */
struct CombineExpertsOperation {
  std::span<const float> x;
  std::span<const float> routes;
  std::size_t used;
  std::span<float> y;
  bool accumulate;
};

/** Multiplies every choice's row of y with the number of its expert, and adds the expert's bias, if there is any. */
struct ScaleExpertsOperation {
  std::span<const float> routes;
  std::span<const float> scales;
  std::span<const float> bias;
  std::span<float> y;
};

/** Multiplies every row of y by 1/(1 + e^−gate). */
struct GateRowsOperation {
  std::span<const float> gate;
  std::span<float> y;
};

using Operation = std::variant<EmbedOperation, RmsNormOperation, MatvecOperation, ActivateOperation, PackOperation,
                               MatmulOperation, RopeOperation, StoreOperation, AttentionOperation,
                               AttendPagesOperation, DivideRowsOperation, GateOperation, SoftmaxOperation,
                               AddOperation, ScaleOperation, SoftCapOperation, TopKOperation, RouteOperation,
                               MatvecExpertsOperation, GroupChoicesOperation, ActivateExpertsOperation,
                               PackExpertsOperation, MatmulExpertsOperation, CombineExpertsOperation,
                               ScaleExpertsOperation, GateRowsOperation,
                               CopyColumnsOperation, ConvolveOperation, DeltaRuleOperation, SelectiveScanOperation>;

}  // namespace hearth
