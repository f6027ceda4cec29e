#pragma once
#include "../recurrence.hpp"
#include "portable_simd.hpp"
#include "rows.hpp"

/**
 * Recurrent layers: vectors hold channels, columns of a delta rule's state, or parts of the rows of a scan's state. What
 * loops need is copied first: for all that the compiler knows, a vector that is stored may change the original.
 */
namespace hearth {
namespace {

/** ln(1 + e^x), without overflow. By the C library: there are thousands of products for each of these. */
inline double softplus(double x) { return x > 30 ? x : __builtin_log1p(__builtin_exp(x)); }

/** Weights by their place: [width][count]. */
inline void transposeWeights(const ConvolvedChannels& o) {
  for (std::size_t j = 0; j < o.width; j++) {
    for (std::size_t c = 0; c < o.count; c++) o.scratch[j * o.count + c] = o.weight[c * o.width + j];
  }
}

/** Moves the last inputs to the state. */
inline void shiftInputs(const ConvolvedChannels& o) {
  for (std::size_t j = 0; j + 1 < o.width; j++) {
    __builtin_memcpy(o.state + j * o.channels, o.input(o.tokens + j), o.count * sizeof(float));
  }
}

template <class S>
void convolveChannels(const ConvolvedChannels& channels) {
  const ConvolvedChannels o = channels;
  transposeWeights(o);
  for (std::size_t t = 0; t < o.tokens; t++) {
    const auto sumAt = [&](std::size_t c, auto load) {
      auto sum = o.bias == nullptr ? S::set(0) : load(o.bias + c);
      for (std::size_t j = 0; j < o.width; j++) {
        sum = S::multiplyAdd(load(o.scratch + j * o.count + c), load(o.input(t + j) + c), sum);
      }
      return o.silu ? silu<S>(sum) : sum;
    };
    float* y = o.y + t * o.channels;
    std::size_t c = 0;
    for (; c + S::width <= o.count; c += S::width) {
      S::store(y + c, sumAt(c, [](const float* p) { return S::load(p); }));
    }
    if (c == o.count) continue;
    const std::size_t rest = o.count - c;
    storePart<S>(y + c, rest, sumAt(c, [rest](const float* p) { return loadPart<S>(p, rest, 0); }));
  }
  shiftInputs(o);
}

/** A token's effect on the state of a delta rule, apart from its value. */
struct DeltaToken {
  /** [size], not yet of unit length. */
  const float* query;
  const float* key;
  std::size_t size;
  /** Factors of queries and keys. */
  float queryScale;
  float keyScale;
  /** The factor g of the state, and β. */
  float kept;
  float taken;
};

template <class S>
inline DeltaToken deltaToken(const DeltaColumns& o, std::size_t t) {
  const float* query = o.query.of(t);
  const float* key = o.key.of(t);
  const float queryNorm = __builtin_sqrtf(sumOfSquares<S>(query, o.size) + o.epsilon);
  const float keyNorm = __builtin_sqrtf(sumOfSquares<S>(key, o.size) + o.epsilon);
  const double grown = softplus(static_cast<double>(*o.decay.of(t)) + o.decayBias);
  return {query,
          key,
          o.size,
          1 / (queryNorm * __builtin_sqrtf(static_cast<float>(o.size))),
          1 / keyNorm,
          static_cast<float>(__builtin_exp(o.rate * grown)),
          static_cast<float>(1 / (1 + __builtin_exp(-static_cast<double>(*o.strength.of(t)))))};
}

/** Some columns of a state. */
template <class Float>
struct StateColumns {
  Float* first;
  /** Floats from one row to the next. */
  std::size_t stride;

  [[nodiscard]] Float* at(std::size_t row, std::size_t column) const { return first + row * stride + column; }
};

/**
 * A token's update of V vectors of columns from `column` on, in two passes over their rows: Sᵀk, with sums of even and of
 * odd rows so that they don't wait for each other, then S ← g·S + k·δᵀ and Sᵀq. In place of keys and queries the sums
 * are scaled.
 */
template <class S, std::size_t V>
inline void updateColumns(const DeltaToken& token, StateColumns<const float> from, StateColumns<float> to,
                          std::size_t column, const float* value, float* y) {
  using F = typename S::Floats;
  const auto [query, key, size, queryScale, keyScale, kept, taken] = token;
  F known[2][V];
  for (auto& sums : known) {
    for (F& sum : sums) sum = S::set(0);
  }
  const auto addRow = [&](std::size_t row, F* sums) {
    const F k = S::set(key[row]);
    const float* at = from.at(row, column);
    for (std::size_t v = 0; v < V; v++) sums[v] = S::multiplyAdd(S::load(at + v * S::width), k, sums[v]);
  };
  std::size_t even = 0;
  for (; even + 2 <= size; even += 2) {
    addRow(even, known[0]);
    addRow(even + 1, known[1]);
  }
  if (even < size) addRow(even, known[0]);
  F deltas[V];
  F sums[V];
  const F g = S::set(kept);
  for (std::size_t v = 0; v < V; v++) {
    const F expected = S::multiply(S::multiply(S::add(known[0][v], known[1][v]), S::set(keyScale)), g);
    const F error = S::subtract(S::load(value + column + v * S::width), expected);
    deltas[v] = S::multiply(S::multiply(error, S::set(taken)), S::set(keyScale));
    sums[v] = S::set(0);
  }
  for (std::size_t row = 0; row < size; row++) {
    const F k = S::set(key[row]);
    const F q = S::set(query[row]);
    for (std::size_t v = 0; v < V; v++) {
      const F old = S::load(from.at(row, column + v * S::width));
      const F updated = S::multiplyAdd(k, deltas[v], S::multiply(g, old));
      S::store(to.at(row, column + v * S::width), updated);
      sums[v] = S::multiplyAdd(updated, q, sums[v]);
    }
  }
  for (std::size_t v = 0; v < V; v++) S::store(y + column + v * S::width, S::multiply(sums[v], S::set(queryScale)));
}

/**
 * Between the first token and the last the columns lie side by side in the scratch: in the state rows are a power of two
 * apart, so that they would share few places of the first-level cache.
 */
template <class S>
void updateDelta(const DeltaColumns& o) {
  const StateColumns<float> state = {o.state, o.size};
  const StateColumns<float> together = {o.scratch, deltaColumns};
  for (std::size_t t = 0; t < o.tokens; t++) {
    const DeltaToken token = deltaToken<S>(o, t);
    const auto& source = t == 0 ? state : together;
    const auto& to = t + 1 == o.tokens ? state : together;
    const StateColumns<const float> from = {source.first, source.stride};
    const float* value = o.value.of(t);
    float* y = o.y + t * o.yStride;
    std::size_t column = 0;
    for (; column + 4 * S::width <= o.count; column += 4 * S::width) {
      updateColumns<S, 4>(token, from, to, column, value, y);
    }
    for (; column + S::width <= o.count; column += S::width) updateColumns<S, 1>(token, from, to, column, value, y);
    for (; column < o.count; column++) updateColumns<PortableSimd, 1>(token, from, to, column, value, y);
  }
}

/** A token's effect on the state of a scan. */
struct ScanToken {
  const float* value;
  /** [size] */
  const float* b;
  const float* c;
  std::size_t size;
  float tau;
  /** The factor of the state, e^(τ·rate). */
  float kept;
  float skip;
};

inline ScanToken scanToken(const ScannedRows& o, std::size_t t) {
  const double tau = softplus(static_cast<double>(*o.step.of(t)) + o.stepBias);
  const auto kept = static_cast<float>(__builtin_exp(tau * o.rate));
  return {o.value.of(t), o.b.of(t), o.c.of(t), o.stateSize, static_cast<float>(tau), kept, o.skip};
}

/** A token's update of R rows from `row` on, with S ← kept·S + τ·v·Bᵀ and S·C in one pass. */
template <class S, std::size_t R>
inline void scanRows(const ScanToken& token, float* state, std::size_t row, float* y) {
  using F = typename S::Floats;
  const auto [value, b, c, size, tau, kept, skip] = token;
  F taken[R];
  F sums[R];
  for (std::size_t r = 0; r < R; r++) {
    taken[r] = S::set(tau * value[row + r]);
    sums[r] = S::set(0);
  }
  const F factor = S::set(kept);
  float* rows = state + row * size;
  std::size_t n = 0;
  for (; n + S::width <= size; n += S::width) {
    const F input = S::load(b + n);
    const F output = S::load(c + n);
    for (std::size_t r = 0; r < R; r++) {
      const F updated = S::multiplyAdd(taken[r], input, S::multiply(factor, S::load(rows + r * size + n)));
      S::store(rows + r * size + n, updated);
      sums[r] = S::multiplyAdd(updated, output, sums[r]);
    }
  }
  for (std::size_t r = 0; r < R; r++) {
    float total = S::sum(sums[r]);
    for (std::size_t i = n; i < size; i++) {
      float& own = rows[r * size + i];
      own = kept * own + tau * value[row + r] * b[i];
      total += own * c[i];
    }
    y[row + r] = total + skip * value[row + r];
  }
}

template <class S>
void scanState(const ScannedRows& o) {
  for (std::size_t t = 0; t < o.tokens; t++) {
    const ScanToken token = scanToken(o, t);
    float* y = o.y + t * o.yStride;
    std::size_t row = 0;
    for (; row + 4 <= o.count; row += 4) scanRows<S, 4>(token, o.state, row, y);
    for (; row < o.count; row++) scanRows<S, 1>(token, o.state, row, y);
  }
}

}  // namespace
}  // namespace hearth
