#pragma once
#include <immintrin.h>

#include "../avx512/simd.hpp"
#include "../shared/attention.hpp"
#include "attended_numbers.hpp"

/**
 * Attention of many tokens in 16 bits (Dao 2023, Algorithm 1): 64 keys and values at a time are converted once for all
 * query rows of a unit, then six rows after another are multiplied with the keys, weighted, and multiplied with the
 * values, while their 24 vectors of sums are in registers.
 *
 * Queries, keys, values and weights are whole numbers. Each query, key and value has a factor of its own, as an error of a
 * score grows with the scores; a value's factor is in its weight, and a row's weights of a block share another, so that
 * their sum is as large as 32 bits of sums allow. Totals are those of weights that aren't rounded. Bfloat16 is as
 * fast, but has 8 bits.
 *
 * Keys are pairs of dimensions, [dimension/2][64 positions][2], and values pairs of positions, [32][dimension][2]: what
 * the products take. A row's sums are in the same order whatever rows are next to it, and positions that it does not see
 * add zeros: a token has the same result in every company.
 */
namespace hearth {
namespace {

inline constexpr std::size_t attentionTileRows = 6;
inline constexpr std::size_t attentionTileVectors = 4;
/** Rows of a unit: converting a block's keys and values takes a twentieth of the time with so many. */
inline constexpr std::size_t wordQueryRows = 64 * attentionTileRows;
constexpr bool attendsInWords(const CacheView& cache) {
  return cache.type != Type::F32 && cache.headSize % lanesOfVector == 0;
}

/** The parts of a unit's scratch memory. */
struct WordAttention {
  /** [rows][headSize] */
  std::uint16_t* queries;
  /** [headSize/2][64][2] */
  std::uint16_t* keys;
  /** [32][headSize][2] */
  std::uint16_t* values;
  /** [64] each: what whole numbers of keys and of values are multiplied with. */
  float* keyFactors;
  float* valueFactors;
  /** [rows]: those of queries, and the largest scores without them. */
  float* factors;
  float* largest;
  /** [rows][16], totals by lane. */
  float* totals;
  /** [rows] each, of attention to a whole cache. */
  SeenHeads seen;
};

std::size_t wordAttentionScratch(std::size_t tokens, std::size_t heads, std::size_t headSize) {
  const std::size_t rows = tokens * heads;
  return (rows * headSize / 2 + positionBlock * (headSize + 2) + rows * (lanesOfVector + 4) + 15) / 16 * 16;
}

WordAttention wordAttentionAt(const HeadGroup& group, float* sums) {
  const std::size_t rows = group.rows();
  const std::size_t size = group.cache.headSize;
  WordAttention at{};
  float* next = group.scratch;
  at.keys = reinterpret_cast<std::uint16_t*>(next);
  next += positionBlock * size / 2;
  at.values = reinterpret_cast<std::uint16_t*>(next);
  next += positionBlock * size / 2;
  at.totals = next;
  next += rows * lanesOfVector;
  at.keyFactors = next;
  next += positionBlock;
  at.valueFactors = next;
  next += positionBlock;
  at.factors = next;
  next += rows;
  at.largest = next;
  next += rows;
  at.queries = reinterpret_cast<std::uint16_t*>(next);
  next += rows * size / 2;
  at.seen = {next, next + rows, sums};
  return at;
}

/**
 * tile[r][lane] += Σ over pairs of factors[r][2·pair]·rows[pair][lane][0] + factors[r][2·pair + 1]·rows[pair][lane][1].
 */
template <std::size_t R, std::size_t V>
inline void addPairs(const std::uint16_t* factors, std::size_t factorStride, const std::uint16_t* rows,
                     std::size_t rowStride, std::size_t pairs, __m512i (&tile)[R][V]) {
  for (std::size_t pair = 0; pair < pairs; pair++) {
    __m512i row[V];
    for (std::size_t v = 0; v < V; v++) row[v] = load512(rows + pair * rowStride + 32 * v);
    for (std::size_t r = 0; r < R; r++) {
      std::uint32_t two;
      __builtin_memcpy(&two, factors + r * factorStride + 2 * pair, sizeof two);
      const __m512i both = _mm512_set1_epi32(static_cast<int>(two));
      for (std::size_t v = 0; v < V; v++) tile[r][v] = dotWords(tile[r][v], row[v], both);
    }
  }
}

/**
 * 2^x for weights that are rounded: 2^⌊x⌋·p(x − ⌊x⌋) with the polynomial of degree 4 whose largest relative
 * error is least, 2.6e-6. Lanes outside of `mask` are zero.
 */
inline __m512 powerOfTwo(__m512 x, __mmask16 mask) {
  const __m512 f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  __m512 p = _mm512_set1_ps(0.0135341680f);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.0520114619f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.2414427550f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.6930038352f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0000025933f));
  return _mm512_maskz_scalef_ps(mask, p, x);
}

/** Which of the sixteen positions from `position` on are seen. */
inline __mmask16 seenLanes(const Positions& seen, std::size_t position) {
  const auto before = [position](std::size_t end) {
    if (end >= position + lanesOfVector) return 0xffffu;
    return end > position ? (1u << (end - position)) - 1 : 0u;
  };
  return static_cast<__mmask16>(before(seen.end) & ~before(seen.begin));
}

/** A query's factor, above zero, and what it has seen; the largest score without the factor. */
struct SeenRow {
  float factor;
  float& largest;
  /** [16] */
  float* totals;
  /** [size] */
  float* sums;
  std::size_t size;
};

/** The least sum of weights times value factors that is made the sum wholeLength; below it they count as zero. */
inline constexpr float leastWeights = 1e-30f;

/**
 * A row's products with 64 keys to weights e^(score − largest) times the factors of values, in whole numbers; what it has
 * seen before follows. @return the factor of the weights
 */
template <bool Whole>
inline float weighRow(const std::int32_t* products, const WordAttention& at, const Positions& seen, const SeenRow& row,
                      std::uint16_t* weights) {
  const auto& [factor, largest, totals, sums, size] = row;
  constexpr float log2e = 1.44269504f;
  __m512 scores[4];
  for (std::size_t v = 0; v < 4; v++) {
    const __m512 product = _mm512_cvtepi32_ps(_mm512_load_si512(products + v * lanesOfVector));
    scores[v] = _mm512_mul_ps(product, _mm512_load_ps(at.keyFactors + v * lanesOfVector));
  }
  __mmask16 masks[4];
  for (std::size_t v = 0; v < 4; v++) masks[v] = Whole ? 0xffff : seenLanes(seen, v * lanesOfVector);
  const __m512 before = _mm512_set1_ps(largest);
  __m512 most = before;
  for (std::size_t v = 0; v < 4; v++) most = _mm512_mask_max_ps(most, masks[v], scores[v], most);
  __m512 total = _mm512_loadu_ps(totals);
  if (_mm512_cmp_ps_mask(most, before, _CMP_GT_OQ) != 0) {
    const float found = _mm512_reduce_max_ps(most);
    const float keep = largest == -__builtin_inff() ? 0 : exponential<PortableSimd>((largest - found) * factor);
    largest = found;
    total = _mm512_mul_ps(total, _mm512_set1_ps(keep));
    scaleRow<Avx512>(keep, size, sums);
  }
  const __m512 by = _mm512_set1_ps(factor * log2e);
  const __m512 subtracted = _mm512_set1_ps(largest * (factor * log2e));
  __m512 own[4];
  __m512 sum = _mm512_setzero_ps();
  for (std::size_t v = 0; v < 4; v++) {
    const __m512 weight = powerOfTwo(_mm512_fmsub_ps(scores[v], by, subtracted), masks[v]);
    total = _mm512_add_ps(total, weight);
    own[v] = _mm512_maskz_mul_ps(masks[v], weight, _mm512_load_ps(at.valueFactors + v * lanesOfVector));
    sum = _mm512_add_ps(sum, own[v]);
  }
  _mm512_storeu_ps(totals, total);
  const float all = _mm512_reduce_add_ps(sum);
  const __m512 whole = _mm512_set1_ps(all > leastWeights ? wholeLength / all : 0);
  __m512i count = _mm512_setzero_si512();
  for (std::size_t v = 0; v < 4; v++) {
    const __m512i rounded = _mm512_cvtps_epi32(_mm512_mul_ps(own[v], whole));
    count = _mm512_add_epi32(count, rounded);
    _mm256_store_si256(reinterpret_cast<__m256i*>(weights + v * lanesOfVector), _mm512_cvtepi32_epi16(rounded));
  }
  // Weights that are all rounded alike, as equal ones are, keep their sum.
  const int counted = _mm512_reduce_add_epi32(count);
  return counted > 0 ? all / static_cast<float>(counted) : all / wholeLength;
}

/** A converted block of positions from `begin` on, and where the rows end that see some of them. */
struct WholeBlock {
  const HeadGroup& group;
  const WordAttention& at;
  const SeenHeads& seen;
  std::size_t begin;
  std::size_t rows;
};

template <std::size_t R, std::size_t V>
inline void addWeighted(const WholeBlock& block, std::size_t row, std::size_t dimension, const Positions& pairs,
                        const std::uint16_t* weights, const float* factors) {
  const std::size_t size = block.group.cache.headSize;
  float* sums = block.seen.sums + row * size + dimension;
  __m512i tile[R][V];
  for (auto& one : tile) {
    for (std::size_t v = 0; v < V; v++) one[v] = _mm512_setzero_si512();
  }
  const std::uint16_t* values = block.at.values + 2 * (pairs.begin * size + dimension);
  addPairs(weights + 2 * pairs.begin, positionBlock, values, 2 * size, pairs.count(), tile);
  for (std::size_t r = 0; r < R; r++) {
    const __m512 factor = _mm512_set1_ps(factors[r]);
    for (std::size_t v = 0; v < V; v++) {
      float* sum = sums + r * size + v * lanesOfVector;
      _mm512_storeu_ps(sum, _mm512_fmadd_ps(_mm512_cvtepi32_ps(tile[r][v]), factor, _mm512_loadu_ps(sum)));
    }
  }
}

/** products[R][64] of queries and keys in whole numbers. */
template <std::size_t R>
inline void multiplyKeys(const WholeBlock& block, std::size_t row, std::int32_t* products) {
  const std::size_t size = block.group.cache.headSize;
  __m512i tile[R][attentionTileVectors];
  for (auto& one : tile) {
    for (std::size_t v = 0; v < attentionTileVectors; v++) one[v] = _mm512_setzero_si512();
  }
  addPairs(block.at.queries + row * size, size, block.at.keys, 2 * positionBlock, size / 2, tile);
  for (std::size_t r = 0; r < R; r++) {
    for (std::size_t v = 0; v < attentionTileVectors; v++) {
      _mm512_store_si512(products + r * positionBlock + v * lanesOfVector, tile[r][v]);
    }
  }
}

/** R rows of queries with a block: scores, weights, output. */
template <std::size_t R>
inline void attendTile(const WholeBlock& block, std::size_t row) {
  const auto& [group, at, seen, begin, rows] = block;
  const std::size_t size = group.cache.headSize;
  alignas(64) std::int32_t products[R * positionBlock];
  multiplyKeys<R>(block, row, products);
  alignas(64) std::uint16_t weights[R * positionBlock];
  float factors[R];
  const Positions first = group.seenBy(row / group.heads, begin);
  const Positions last = group.seenBy((row + R - 1) / group.heads, begin);
  const bool whole = first.end == positionBlock && last.begin == 0;
  for (std::size_t r = 0; r < R; r++) {
    const SeenRow its = {at.factors[row + r], at.largest[row + r], at.totals + (row + r) * lanesOfVector,
                         seen.sums + (row + r) * size, size};
    if (whole) {
      factors[r] = weighRow<true>(products + r * positionBlock, at, first, its, weights + r * positionBlock);
      continue;
    }
    const Positions own = group.seenBy((row + r) / group.heads, begin);
    factors[r] = weighRow<false>(products + r * positionBlock, at, own, its, weights + r * positionBlock);
  }
  const Positions pairs = {first.begin / 2, (last.end + 1) / 2};
  std::size_t dimension = 0;
  for (; dimension + 64 <= size; dimension += 64) addWeighted<R, 4>(block, row, dimension, pairs, weights, factors);
  if (dimension + 32 <= size) {
    addWeighted<R, 2>(block, row, dimension, pairs, weights, factors);
    dimension += 32;
  }
  if (dimension < size) addWeighted<R, 1>(block, row, dimension, pairs, weights, factors);
}

template <std::size_t R>
void attendTiles(const WholeBlock& block, std::size_t row) {
  for (; row + R <= block.rows; row += R) attendTile<R>(block, row);
  if constexpr (R > 1) attendTiles<R / 2>(block, row);
}

/** Merges the positions that the tokens of a group see into what their heads have seen of others. */
template <Type T>
void mergeWords(const HeadGroup& group, const SeenHeads& seen, const WordAttention& at) {
  const std::size_t size = group.cache.headSize;
  const std::size_t rows = group.rows();
  for (std::size_t r = 0; r < rows; r++) {
    at.factors[r] = wholeQuery(group.queries + r * size, group.scale, size, at.queries + r * size);
    at.largest[r] = seen.largest[r] / at.factors[r];
    const __m512 before = _mm512_maskz_loadu_ps(1, seen.totals + r);
    _mm512_storeu_ps(at.totals + r * lanesOfVector, before);
  }
  const auto [from, end] = group.seen();
  for (std::size_t begin = from / positionBlock * positionBlock; begin < end; begin += positionBlock) {
    const Positions seeing = group.tokensSeeing(begin);
    const std::size_t place = group.cache.blockAt(group.kvHead, begin);
    wholeKeys<T>(group.cache.keys + place, size, at.keys, at.keyFactors);
    const std::size_t used = group.seenBy(seeing.end - 1, begin).end;
    wholeValues<T>(group.cache.values + place, size, used, at.values, at.valueFactors);
    attendTiles<attentionTileRows>({group, at, seen, begin, seeing.end * group.heads}, seeing.begin * group.heads);
  }
  for (std::size_t r = 0; r < rows; r++) {
    seen.largest[r] = at.largest[r] * at.factors[r];
    seen.totals[r] = _mm512_reduce_add_ps(_mm512_loadu_ps(at.totals + r * lanesOfVector));
  }
}

void attendPageWordsAt(const HeadGroup& group, const SeenHeads& seen, const WordAttention& at, bool begins) {
  if (begins) forgetAll(group, seen);
  if (group.seen().count() == 0) return;
  switch (group.cache.type) {
    case Type::Q8_0:
      return mergeWords<Type::Q8_0>(group, seen, at);
    case Type::Q4_0:
      return mergeWords<Type::Q4_0>(group, seen, at);
    default:
      return mergeWords<Type::F16>(group, seen, at);
  }
}

void attendPageWords(const HeadGroup& group, const SeenHeads& seen, bool begins) {
  attendPageWordsAt(group, seen, wordAttentionAt(group, seen.sums), begins);
}

void attendHeadsWords(const HeadGroup& group, float* out) {
  const WordAttention at = wordAttentionAt(group, out);
  attendPageWordsAt(group, at.seen, at, true);
  divideRows<Avx512>(at.seen.totals, group.rows(), group.cache.headSize, out);
}

/** Makes a table attend this way with many tokens. */
void setAttentionWords(KernelTable& table) {
  table.attentionMany = {wordQueryRows, wordAttentionScratch, attendHeadsWords, attendPageWords};
  table.attendsMany = attendsInWords;
}

}  // namespace
}  // namespace hearth
