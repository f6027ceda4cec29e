#pragma once
#include "portable_simd.hpp"
#include "rows.hpp"

/**
 * Attention of the query heads of one KV head, 64 positions at a time, with a streaming softmax: when a block has a
 * larger score, the earlier sums are multiplied by e^(old maximum − new maximum) (Milakov and Gimelshein 2018,
 * Algorithm 3). Keys are stored by dimension within a block and values by position, so that vectors hold positions for
 * scores and dimensions for output, and no vector is summed across its lanes. Each vector is widened once for four
 * queries.
 */
namespace hearth {
namespace {

template <class S, Type T>
inline typename S::Floats widened(const std::uint8_t* base, std::size_t at) {
  return loadWeights<S, T>(base + at * formatOf(T).bytes);
}

/**
 * Sums of rows, weighted by factors: sums[q][lane] += Σ over i < count of factors[q][i]·rows[i][lane].
 * Scores: rows are dimensions and lanes positions; output: rows are positions and lanes dimensions.
 */
struct WeightedSums {
  const float* factors;
  std::size_t factorStride;
  const std::uint8_t* rows;
  std::size_t rowStride;
  std::size_t count;
  float* sums;
  std::size_t sumStride;
};

/** For Q queries from `query` on and V vectors of lanes from `lane` on. */
template <class S, Type T, std::size_t Q, std::size_t V>
inline void addRows(const WeightedSums& w, std::size_t query, std::size_t lane) {
  const auto [allFactors, factorStride, allRows, rowStride, count, allSums, sumStride] = w;
  const float* factors = allFactors + query * factorStride;
  const std::uint8_t* rows = allRows + lane * formatOf(T).bytes;
  float* sums = allSums + query * sumStride + lane;
  typename S::Floats tile[Q][V];
  for (std::size_t q = 0; q < Q; q++) {
    for (std::size_t v = 0; v < V; v++) tile[q][v] = S::load(sums + q * sumStride + v * S::width);
  }
  for (std::size_t i = 0; i < count; i++) {
    typename S::Floats row[V];
    for (std::size_t v = 0; v < V; v++) row[v] = widened<S, T>(rows, i * rowStride + v * S::width);
    for (std::size_t q = 0; q < Q; q++) {
      const auto factor = S::set(factors[q * factorStride + i]);
      for (std::size_t v = 0; v < V; v++) tile[q][v] = S::multiplyAdd(factor, row[v], tile[q][v]);
    }
  }
  for (std::size_t q = 0; q < Q; q++) {
    for (std::size_t v = 0; v < V; v++) S::store(sums + q * sumStride + v * S::width, tile[q][v]);
  }
}

/** For Q queries and `lanes` lanes: by two vectors, then one, then single floats. */
template <class S, Type T, std::size_t Q>
inline void addLanes(const WeightedSums& w, std::size_t query, std::size_t lanes) {
  std::size_t lane = 0;
  for (; lane + 2 * S::width <= lanes; lane += 2 * S::width) addRows<S, T, Q, 2>(w, query, lane);
  for (; lane + S::width <= lanes; lane += S::width) addRows<S, T, Q, 1>(w, query, lane);
  for (; lane < lanes; lane++) addRows<PortableSimd, T, Q, 1>(w, query, lane);
}

/** For all of `queries` queries, four at a time. */
template <class S, Type T>
inline void addAll(const WeightedSums& w, std::size_t queries, std::size_t lanes) {
  std::size_t q = 0;
  for (; q + 4 <= queries; q += 4) addLanes<S, T, 4>(w, q, lanes);
  for (; q < queries; q++) addLanes<S, T, 1>(w, q, lanes);
}

template <class S>
void scaleRow(float factor, std::size_t count, float* y) {
  const auto f = S::set(factor);
  mapPairs<S>(y, y, count, y, [f](auto a, auto) { return S::multiply(a, f); });
}

/** Merges the first `length` positions of a cache into what the heads of a group have seen of other positions. */
template <class S, Type T>
void mergeRows(const HeadGroup& group, const SeenHeads& seen) {
  const auto& [cache, kvHead, length, queries, heads, scale, scores] = group;
  const std::size_t size = cache.headSize;
  const auto [largest, totals, out] = seen;
  const std::uint8_t* keys = cache.keys + cache.keyIndex(kvHead, 0) * formatOf(T).bytes;
  const std::uint8_t* values = cache.values + cache.valueIndex(kvHead, 0) * formatOf(T).bytes;
  for (std::size_t begin = 0; begin < length; begin += positionBlock) {
    const std::size_t count = length - begin < positionBlock ? length - begin : positionBlock;
    const std::uint8_t* blockKeys = keys + begin * size * formatOf(T).bytes;
    const std::uint8_t* blockValues = values + begin * size * formatOf(T).bytes;
    for (std::size_t i = 0; i < heads * positionBlock; i++) scores[i] = 0;
    // Rounded up to whole vectors: the scores of positions beyond `count` are ignored, and the block's memory is there.
    const std::size_t lanes = (count + S::width - 1) / S::width * S::width;
    addAll<S, T>({queries, size, blockKeys, positionBlock, size, scores, positionBlock}, heads, lanes);
    for (std::size_t h = 0; h < heads; h++) {
      float* own = scores + h * positionBlock;
      scaleRow<S>(scale, count, own);
      const float blockLargest = largestOf<S>(own, count);
      if (blockLargest > largest[h]) {
        const float keep = largest[h] == -__builtin_inff() ? 0 : exponential<PortableSimd>(largest[h] - blockLargest);
        largest[h] = blockLargest;
        totals[h] *= keep;
        scaleRow<S>(keep, size, out + h * size);
      }
      totals[h] += exponentials<S>(own, count, largest[h], own);
    }
    addAll<S, T>({scores, positionBlock, blockValues, size, count, out, size}, heads, size);
  }
}

/** Sets the heads to the state in which nothing has been seen. */
inline void forgetAll(std::size_t heads, std::size_t size, const SeenHeads& seen) {
  for (std::size_t h = 0; h < heads; h++) {
    seen.largest[h] = -__builtin_inff();
    seen.totals[h] = 0;
  }
  for (std::size_t i = 0; i < heads * size; i++) seen.sums[i] = 0;
}

template <class S>
void attendPage(const HeadGroup& group, const SeenHeads& seen, bool begins) {
  if (begins) forgetAll(group.heads, group.cache.headSize, seen);
  const auto merge = group.cache.type == Type::F16 ? mergeRows<S, Type::F16> : mergeRows<S, Type::F32>;
  merge(group, seen);
}

/** Divides every row by its own divisor. */
template <class S>
void divideRows(const float* divisors, std::size_t rows, std::size_t width, float* y) {
  for (std::size_t row = 0; row < rows; row++) scaleRow<S>(1 / divisors[row], width, y + row * width);
}

template <class S>
void attendHeads(const HeadGroup& group, float* out) {
  float* largest = group.scratch + group.heads * positionBlock;
  const SeenHeads seen = {largest, largest + group.heads, out};
  attendPage<S>(group, seen, true);
  divideRows<S>(seen.totals, group.heads, group.cache.headSize, out);
}

/** Writes one token's keys and values of all KV heads to a position. */
template <class S>
void storeToken(const CacheView& cache, std::size_t position, const float* keys, const float* values) {
  const std::size_t bytes = formatOf(cache.type).bytes;
  for (std::size_t head = 0; head < cache.kvHeads; head++) {
    const float* key = keys + head * cache.headSize;
    std::uint8_t* to = cache.keys + cache.keyIndex(head, position) * bytes;
    for (std::size_t i = 0; i < cache.headSize; i++) storeRow<S>(cache.type, key + i, 1, to + i * positionBlock * bytes);
    storeRow<S>(cache.type, values + head * cache.headSize, cache.headSize,
                cache.values + cache.valueIndex(head, position) * bytes);
  }
}

}  // namespace
}  // namespace hearth
