#pragma once
#include "portable_simd.hpp"
#include "rows.hpp"

/**
 * Attention of the query heads of one KV head, 64 positions at a time. The softmax streams: when a block brings a larger
 * score, what was summed before is scaled by e^(old maximum − new maximum) (Milakov and Gimelshein 2018, Algorithm 3).
 * Keys lie by dimension within a block, values by position, so that positions, and then dimensions, fill the vectors and
 * nothing is summed across one; each is widened once for four queries.
 */
namespace hearth {
namespace {

template <class S, Type T>
inline typename S::Floats widened(const std::uint8_t* base, std::size_t at) {
  return loadWeights<S, T>(base + at * formatOf(T).bytes);
}

/**
 * sums[q][lane] += Σ over i < count of factors[q·factorStride + i]·rows[i·rowStride + lane], for Q queries and V vectors.
 * Scores: rows are dimensions and lanes positions; output: rows are positions and lanes dimensions.
 */
template <class S, Type T, std::size_t Q, std::size_t V>
inline void addRows(const float* factors, std::size_t factorStride, const std::uint8_t* rows, std::size_t rowStride,
                    std::size_t count, float* sums, std::size_t sumStride) {
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

/** The same for `lanes` lanes: by two vectors, then one, then single floats. */
template <class S, Type T, std::size_t Q>
inline void addLanes(const float* factors, std::size_t factorStride, const std::uint8_t* rows, std::size_t rowStride,
                     std::size_t count, float* sums, std::size_t sumStride, std::size_t lanes) {
  std::size_t lane = 0;
  const auto rowsAt = [rows](std::size_t at) { return rows + at * formatOf(T).bytes; };
  for (; lane + 2 * S::width <= lanes; lane += 2 * S::width) {
    addRows<S, T, Q, 2>(factors, factorStride, rowsAt(lane), rowStride, count, sums + lane, sumStride);
  }
  for (; lane + S::width <= lanes; lane += S::width) {
    addRows<S, T, Q, 1>(factors, factorStride, rowsAt(lane), rowStride, count, sums + lane, sumStride);
  }
  for (; lane < lanes; lane++) {
    addRows<PortableSimd, T, Q, 1>(factors, factorStride, rowsAt(lane), rowStride, count, sums + lane, sumStride);
  }
}

template <class S, Type T>
inline void addAll(std::size_t queries, const float* factors, std::size_t factorStride, const std::uint8_t* rows,
                   std::size_t rowStride, std::size_t count, float* sums, std::size_t sumStride, std::size_t lanes) {
  std::size_t q = 0;
  for (; q + 4 <= queries; q += 4) {
    addLanes<S, T, 4>(factors + q * factorStride, factorStride, rows, rowStride, count, sums + q * sumStride, sumStride,
                      lanes);
  }
  for (; q < queries; q++) {
    addLanes<S, T, 1>(factors + q * factorStride, factorStride, rows, rowStride, count, sums + q * sumStride, sumStride,
                      lanes);
  }
}

template <class S>
void scaleRow(float factor, std::size_t count, float* y) {
  const auto f = S::set(factor);
  mapPairs<S>(y, y, count, y, [f](auto a, auto) { return S::multiply(a, f); });
}

/** Merges the first `length` positions of a cache into what the heads of a group have seen of others. */
template <class S, Type T>
void mergeRows(const CacheView& cache, std::size_t kvHead, std::size_t length, const float* queries,
               std::size_t group, float scale, float* scores, const SeenHeads& seen) {
  const std::size_t size = cache.headSize;
  const auto [largest, totals, out] = seen;
  const std::uint8_t* keys = cache.keys + cache.keyIndex(kvHead, 0) * formatOf(T).bytes;
  const std::uint8_t* values = cache.values + cache.valueIndex(kvHead, 0) * formatOf(T).bytes;
  for (std::size_t begin = 0; begin < length; begin += positionBlock) {
    const std::size_t count = length - begin < positionBlock ? length - begin : positionBlock;
    const std::uint8_t* blockKeys = keys + begin * size * formatOf(T).bytes;
    const std::uint8_t* blockValues = values + begin * size * formatOf(T).bytes;
    for (std::size_t i = 0; i < group * positionBlock; i++) scores[i] = 0;
    // Positions beyond `count` give scores that nobody looks at, up to whole vectors; the block's memory is there.
    const std::size_t lanes = (count + S::width - 1) / S::width * S::width;
    addAll<S, T>(group, queries, size, blockKeys, positionBlock, size, scores, positionBlock, lanes);
    for (std::size_t h = 0; h < group; h++) {
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
    addAll<S, T>(group, scores, positionBlock, blockValues, size, count, out, size, size);
  }
}

/** Before anything is merged: nothing has been seen. */
inline void forgetAll(std::size_t group, std::size_t size, const SeenHeads& seen) {
  for (std::size_t h = 0; h < group; h++) {
    seen.largest[h] = -__builtin_inff();
    seen.totals[h] = 0;
  }
  for (std::size_t i = 0; i < group * size; i++) seen.sums[i] = 0;
}

template <class S>
void attendPage(const CacheView& cache, std::size_t kvHead, std::size_t length, const float* queries,
                std::size_t group, float scale, float* scratch, const SeenHeads& seen, bool begins) {
  if (begins) forgetAll(group, cache.headSize, seen);
  const auto merge = cache.type == Type::F16 ? mergeRows<S, Type::F16> : mergeRows<S, Type::F32>;
  merge(cache, kvHead, length, queries, group, scale, scratch, seen);
}

/** Divides every row by its own divisor. */
template <class S>
void divideRows(const float* divisors, std::size_t rows, std::size_t width, float* y) {
  for (std::size_t row = 0; row < rows; row++) scaleRow<S>(1 / divisors[row], width, y + row * width);
}

template <class S>
void attendHeads(const CacheView& cache, std::size_t kvHead, std::size_t length, const float* queries,
                 std::size_t group, float scale, float* scratch, float* out) {
  float* largest = scratch + group * positionBlock;
  const SeenHeads seen = {largest, largest + group, out};
  attendPage<S>(cache, kvHead, length, queries, group, scale, scratch, seen, true);
  divideRows<S>(seen.totals, group, cache.headSize, out);
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
