#pragma once
#include "portable_simd.hpp"
#include "rows.hpp"
#include "streams.hpp"

/**
 * Attention of the query heads of one KV head, 64 positions at a time, with a streaming softmax: when a block has a
 * larger score, the earlier sums are multiplied by e^(old maximum − new maximum) (Milakov and Gimelshein 2018,
 * Algorithm 3). Keys are stored by dimension within a block and values by position, so that vectors hold positions for
 * scores and dimensions for output, and no vector is summed across its lanes. For one token each vector is widened once
 * for four or eight queries, and of floats the same lines of the next block are prefetched, so that a block is read
 * while another is multiplied; for several, a block of keys or values is widened once for all of their queries, which
 * are multiplied with it by register tiles. Both sum in the same order: a token has the same result either way. The
 * scales of a quantized cache (CacheView) multiply the sums of a group's keys, and the weights of its values: queries
 * and weights are not rounded.
 */
namespace hearth {
namespace {

/** A multiple of every register tile (tileRows). */
inline constexpr std::size_t queryRows = 48;

/** Floats: scores of a block twice, largest scores and totals, and for several tokens a block of keys or values. */
inline std::size_t attentionScratch(std::size_t tokens, std::size_t heads, std::size_t headSize) {
  const std::size_t wide = tokens > 1 ? positionBlock * headSize : 0;
  return (tokens * heads * (2 * positionBlock + 2) + wide + 15) / 16 * 16;
}

/** Numbers that a vector of a cache is widened from. */
enum class Stored : std::uint8_t { F32, F16, bytes, lowNibbles, highNibbles };

/** Floats: widened by an instruction, and read from memory as fast as they are multiplied. */
constexpr bool isPlain(Stored stored) { return stored == Stored::F32 || stored == Stored::F16; }
constexpr std::size_t storedBytes(Stored stored) { return stored == Stored::F32 ? 4 : stored == Stored::F16 ? 2 : 1; }

template <class S, Stored N>
inline typename S::Floats widened(const std::uint8_t* at) {
  if constexpr (N == Stored::F32) return S::load(reinterpret_cast<const float*>(at));
  if constexpr (N == Stored::F16) return S::loadHalf(at);
  if constexpr (N == Stored::bytes) return S::loadBytes(at);
  if constexpr (N == Stored::lowNibbles) return S::loadLowNibbles(at);
  if constexpr (N == Stored::highNibbles) return S::loadHighNibbles(at);
}

/**
 * Sums of rows, weighted by factors: sums[q][lane] += Σ over i < count of factors[q][i]·rows[i][lane].
 * Scores: rows are dimensions and lanes positions; output: rows are positions and lanes dimensions.
 */
struct WeightedSums {
  const float* factors;
  std::size_t factorStride;
  const std::uint8_t* rows;
  /** Numbers from one row to the next. */
  std::size_t rowStride;
  std::size_t count;
  float* sums;
  std::size_t sumStride;
  /** Bytes from these rows to those of the next block. */
  std::size_t blockBytes;
};

/** Whether the same lines of the next block are prefetched. */
enum class Ahead : bool { none, block };

/** For Q queries from `query` on and V vectors of lanes from `lane` on. */
template <class S, Stored N, std::size_t Q, std::size_t V, Ahead A>
inline void addRows(const WeightedSums& w, std::size_t query, std::size_t lane) {
  const auto [allFactors, factorStride, allRows, rowStride, count, allSums, sumStride, blockBytes] = w;
  const float* factors = allFactors + query * factorStride;
  const std::uint8_t* rows = allRows + lane * storedBytes(N);
  float* sums = allSums + query * sumStride + lane;
  typename S::Floats tile[Q][V];
  for (std::size_t q = 0; q < Q; q++) {
    for (std::size_t v = 0; v < V; v++) tile[q][v] = S::load(sums + q * sumStride + v * S::width);
  }
  for (std::size_t i = 0; i < count; i++) {
    typename S::Floats row[V];
    const std::uint8_t* at = rows + i * rowStride * storedBytes(N);
    if constexpr (A == Ahead::block) prefetchLines(at + blockBytes, V * S::width * storedBytes(N));
    for (std::size_t v = 0; v < V; v++) row[v] = widened<S, N>(at + v * S::width * storedBytes(N));
    for (std::size_t q = 0; q < Q; q++) {
      const auto factor = S::set(factors[q * factorStride + i]);
      for (std::size_t v = 0; v < V; v++) tile[q][v] = S::multiplyAdd(factor, row[v], tile[q][v]);
    }
  }
  for (std::size_t q = 0; q < Q; q++) {
    for (std::size_t v = 0; v < V; v++) S::store(sums + q * sumStride + v * S::width, tile[q][v]);
  }
}

/**
 * For Q queries and `lanes` lanes: by four vectors of floats, where registers allow, by two, by one, then single
 * floats.
 */
template <class S, Stored N, std::size_t Q, Ahead A>
inline void addLanes(const WeightedSums& w, std::size_t query, std::size_t lanes) {
  std::size_t lane = 0;
  if constexpr (S::width == 16 && Q <= 4 && isPlain(N)) {
    for (; lane + 4 * S::width <= lanes; lane += 4 * S::width) addRows<S, N, Q, 4, A>(w, query, lane);
  }
  for (; lane + 2 * S::width <= lanes; lane += 2 * S::width) addRows<S, N, Q, 2, A>(w, query, lane);
  for (; lane + S::width <= lanes; lane += S::width) addRows<S, N, Q, 1, A>(w, query, lane);
  // Groups of a quantized cache are whole vectors.
  if constexpr (isPlain(N)) {
    for (; lane < lanes; lane++) addRows<PortableSimd, N, Q, 1, Ahead::none>(w, query, lane);
  }
}

/** For all of `queries` queries, as many at a time as registers allow. */
template <class S, Stored N>
inline void addAll(const WeightedSums& w, std::size_t queries, std::size_t lanes) {
  constexpr Ahead ahead = isPlain(N) ? Ahead::block : Ahead::none;
  std::size_t q = 0;
  // 8·2 sums of AVX-512's 32 registers; where widening twice costs less than loading twice as many factors, 4·4.
  if constexpr (S::width == 16 && !isPlain(N)) {
    for (; q + 8 <= queries; q += 8) addLanes<S, N, 8, ahead>(w, q, lanes);
  }
  for (; q + 4 <= queries; q += 4) addLanes<S, N, 4, ahead>(w, q, lanes);
  for (; q < queries; q++) addLanes<S, N, 1, ahead>(w, q, lanes);
}

/** The sums as they are stored: for the queries of one token. */
template <class S>
struct Directly {
  template <Stored N>
  void add(const WeightedSums& w, std::size_t queries, std::size_t lanes) const {
    addAll<S, N>(w, queries, lanes);
  }
};

/**
 * Attention over rows that are widened first, by register tiles of tileRows queries: for the queries of several tokens.
 */
template <class S>
struct Widened {
  /** As many floats as there are numbers in the rows. */
  float* wide;

  template <Stored N>
  void add(const WeightedSums& w, std::size_t queries, std::size_t lanes) const {
    WeightedSums sums = w;
    if constexpr (N != Stored::F32) {
      const std::size_t numbers = w.count * w.rowStride;
      std::size_t i = 0;
      for (; i + S::width <= numbers; i += S::width) S::store(wide + i, widened<S, N>(w.rows + i * storedBytes(N)));
      if constexpr (N == Stored::F16) {
        for (; i < numbers; i++) wide[i] = widened<PortableSimd, N>(w.rows + i * storedBytes(N));
      }
      sums.rows = reinterpret_cast<const std::uint8_t*>(wide);
    }
    std::size_t q = 0;
    for (; q + S::tileRows <= queries; q += S::tileRows) addLanes<S, Stored::F32, S::tileRows, Ahead::none>(sums, q, lanes);
    for (; q + 4 <= queries; q += 4) addLanes<S, Stored::F32, 4, Ahead::none>(sums, q, lanes);
    for (; q < queries; q++) addLanes<S, Stored::F32, 1, Ahead::none>(sums, q, lanes);
  }
};

/** The scales of a group's positions as floats. */
template <class S>
inline void loadScales(const std::uint8_t* group, float* scales) {
  for (std::size_t i = 0; i < positionBlock; i += S::width) S::store(scales + i, S::loadHalf(group + 2 * i));
}

template <class S, class F>
inline void mapEach(std::size_t rows, std::size_t lanes, const float* a, const float* scales, float* out, F f) {
  for (std::size_t r = 0; r < rows; r++) {
    const std::size_t at = r * positionBlock;
    for (std::size_t i = 0; i < lanes; i += S::width) {
      S::store(out + at + i, f(S::load(a + at + i), S::load(scales + i), out + at + i));
    }
  }
}

/** A block of positions, and the rows of queries that attend to it: heads of one token, or of several. */
struct AttendedBlock {
  const std::uint8_t* keys;
  const std::uint8_t* values;
  std::size_t headSize;
  /** Positions of the block that any of the rows sees. */
  Positions seen;
  /** [rows][headSize] */
  const float* queries;
  std::size_t rows;
  /** [rows][64], and as much again for a quantized cache. */
  float* scores;
};

/** scores[row][position] = q·k, for the first `lanes` positions. */
template <class S, Type T, class Sums>
void scoreBlock(const AttendedBlock& block, std::size_t lanes, const Sums& sums) {
  const auto& [keys, values, size, seen, queries, rows, scores] = block;
  const std::size_t blockBytes = positionBlock * rowBytes(T, size);
  for (std::size_t i = 0; i < rows * positionBlock; i++) scores[i] = 0;
  if constexpr (isFloat(T)) {
    constexpr Stored stored = T == Type::F16 ? Stored::F16 : Stored::F32;
    sums.template add<stored>({queries, size, keys, positionBlock, size, scores, positionBlock, blockBytes}, rows, lanes);
  } else {
    float* own = scores + rows * positionBlock;
    alignas(64) float scales[positionBlock];
    for (std::size_t from = 0; from < size; from += cacheGroup) {
      const std::uint8_t* group = keys + from / cacheGroup * groupBytes(T);
      const std::uint8_t* quants = group + scalesBytes;
      for (std::size_t i = 0; i < rows * positionBlock; i++) own[i] = 0;
      if constexpr (T == Type::Q8_0) {
        sums.template add<Stored::bytes>(
            {queries + from, size, quants, positionBlock, cacheGroup, own, positionBlock, blockBytes}, rows, lanes);
      } else {
        constexpr std::size_t half = cacheGroup / 2;
        sums.template add<Stored::lowNibbles>(
            {queries + from, size, quants, positionBlock, half, own, positionBlock, blockBytes}, rows, lanes);
        sums.template add<Stored::highNibbles>(
            {queries + from + half, size, quants, positionBlock, half, own, positionBlock, blockBytes}, rows, lanes);
      }
      loadScales<S>(group, scales);
      mapEach<S>(rows, lanes, own, scales, scores,
                 [](auto sum, auto by, const float* to) { return S::multiplyAdd(sum, by, S::load(to)); });
    }
  }
}

/** out[row][dimension] += Σ weights[row][position]·v, with the weights in place of the scores. */
template <class S, Type T, class Sums>
void addValues(const AttendedBlock& block, std::size_t lanes, float* out, const Sums& sums) {
  const auto& [keys, values, size, seen, queries, rows, weights] = block;
  const std::size_t from = seen.begin;
  const std::size_t count = seen.count();
  const std::size_t blockBytes = positionBlock * rowBytes(T, size);
  if constexpr (isFloat(T)) {
    constexpr Stored stored = T == Type::F16 ? Stored::F16 : Stored::F32;
    const std::uint8_t* first = values + from * rowBytes(T, size);
    sums.template add<stored>({weights + from, positionBlock, first, size, count, out, size, blockBytes}, rows, size);
  } else {
    float* own = weights + rows * positionBlock;
    alignas(64) float scales[positionBlock];
    for (std::size_t dimension = 0; dimension < size; dimension += cacheGroup) {
      const std::uint8_t* group = values + dimension / cacheGroup * groupBytes(T);
      loadScales<S>(group, scales);
      mapEach<S>(rows, lanes, weights, scales, own, [](auto weight, auto by, const float*) {
        return S::multiply(weight, by);
      });
      constexpr std::size_t half = cacheGroup / 2;
      constexpr std::size_t quantBytes = T == Type::Q8_0 ? cacheGroup : half;
      const std::uint8_t* quants = group + scalesBytes + from * quantBytes;
      float* to = out + dimension;
      if constexpr (T == Type::Q8_0) {
        sums.template add<Stored::bytes>({own + from, positionBlock, quants, cacheGroup, count, to, size, blockBytes}, rows,
                                         cacheGroup);
      } else {
        sums.template add<Stored::lowNibbles>({own + from, positionBlock, quants, half, count, to, size, blockBytes}, rows,
                                              half);
        sums.template add<Stored::highNibbles>(
            {own + from, positionBlock, quants, half, count, to + half, size, blockBytes}, rows, half);
      }
    }
  }
}

/** Merges the positions that the tokens of a group see into what their heads have seen of others. */
template <class S, Type T, class Sums>
void mergeRows(const HeadGroup& group, const SeenHeads& seen, const Sums& sums) {
  const auto& [cache, kvHead, used, length, window, queries, tokens, heads, scale, sinks, scores] = group;
  const std::size_t size = cache.headSize;
  const auto [largest, totals, out] = seen;
  const auto [from, end] = group.seen();
  for (std::size_t begin = from / positionBlock * positionBlock; begin < end; begin += positionBlock) {
    const Positions seeing = group.tokensSeeing(begin);
    const std::size_t first = seeing.begin * heads;
    const std::size_t rows = seeing.count() * heads;
    const Positions any = {group.seenBy(seeing.begin, begin).begin, group.seenBy(seeing.end - 1, begin).end};
    const std::size_t at = cache.blockAt(kvHead, begin);
    const AttendedBlock block = {cache.keys + at, cache.values + at, size, any, queries + first * size, rows, scores};
    // Rounded up to whole vectors: scores of positions that aren't seen are ignored, and the block's memory is there.
    const std::size_t lanes = (any.end + S::width - 1) / S::width * S::width;
    scoreBlock<S, T>(block, lanes, sums);
    for (std::size_t r = 0; r < rows; r++) {
      float* weights = scores + r * positionBlock;
      const std::size_t row = first + r;
      const Positions its = group.seenBy(row / heads, begin);
      float* own = weights + its.begin;
      const std::size_t mine = its.count();
      scaleRow<S>(scale, mine, own);
      const float blockLargest = largestOf<S>(own, mine);
      if (blockLargest > largest[row]) {
        const float keep =
            largest[row] == -__builtin_inff() ? 0 : exponential<PortableSimd>(largest[row] - blockLargest);
        largest[row] = blockLargest;
        totals[row] *= keep;
        scaleRow<S>(keep, size, out + row * size);
      }
      totals[row] += exponentials<S>(own, mine, largest[row], own);
      // Positions that only other tokens see.
      for (std::size_t i = any.begin; i < its.begin; i++) weights[i] = 0;
      for (std::size_t i = its.end; i < any.end; i++) weights[i] = 0;
    }
    addValues<S, T>(block, lanes, out + first * size, sums);
  }
}

/** Sets the rows to the state in which nothing but the sinks has been seen. */
inline void forgetAll(const HeadGroup& group, const SeenHeads& seen) {
  for (std::size_t row = 0; row < group.rows(); row++) {
    seen.largest[row] = group.sinks == nullptr ? -__builtin_inff() : group.sinks[row % group.heads];
    seen.totals[row] = group.sinks == nullptr ? 0 : 1;
  }
  for (std::size_t i = 0; i < group.rows() * group.cache.headSize; i++) seen.sums[i] = 0;
}

/** Scratch memory after the scores. */
inline float* afterScores(const HeadGroup& group) { return group.scratch + 2 * group.rows() * positionBlock; }

template <class S>
void attendPage(const HeadGroup& group, const SeenHeads& seen, bool begins) {
  if (begins) forgetAll(group, seen);
  if (group.seen().count() == 0) return;
  float* wide = afterScores(group) + 2 * group.rows();
  forEachType([&]<Type T>() {
    if constexpr (isCacheType(T)) {
      if (group.cache.type != T) return;
      if (group.tokens == 1) return mergeRows<S, T>(group, seen, Directly<S>{});
      mergeRows<S, T>(group, seen, Widened<S>{wide});
    }
  });
}

/** Divides every row by its own divisor. */
template <class S>
void divideRows(const float* divisors, std::size_t rows, std::size_t width, float* y) {
  for (std::size_t row = 0; row < rows; row++) scaleRow<S>(1 / divisors[row], width, y + row * width);
}

template <class S>
void attendHeads(const HeadGroup& group, float* out) {
  float* largest = afterScores(group);
  const SeenHeads seen = {largest, largest + group.rows(), out};
  attendPage<S>(group, seen, true);
  divideRows<S>(seen.totals, group.rows(), group.cache.headSize, out);
}

}  // namespace
}  // namespace hearth
