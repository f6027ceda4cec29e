#pragma once
#include "../table.hpp"
#include "streams.hpp"
#include "vector_math.hpp"

/** Dot products of F32, F16 and BF16 rows with exact activations. */
namespace hearth {
namespace {

/**
 * y of `Count` rows, prefetching the rows `ahead` bytes further on; a row's sum doesn't depend on `Count`.
 */
template <class S, Type T, std::size_t Count>
void dotFloatRows(const std::uint8_t* rows, std::size_t ahead, std::size_t columns, const float* x, float* y) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  constexpr std::size_t step = 2 * S::width;
  const std::size_t stride = columns * bytes;
  typename S::Floats sums[Count];
  for (auto& sum : sums) sum = S::set(0);
  std::size_t c = 0;
  for (; c + step <= columns; c += step) {
    const auto first = S::load(x + c);
    const auto second = S::load(x + c + S::width);
    for (std::size_t r = 0; r < Count; r++) {
      const std::uint8_t* at = rows + r * stride + c * bytes;
      prefetchLines(at + ahead, step * bytes);
      const auto pair = loadPair<S, T>(at);
      sums[r] = S::multiplyAdd(pair.first, first, sums[r]);
      sums[r] = S::multiplyAdd(pair.second, second, sums[r]);
    }
  }
  for (std::size_t r = 0; r < Count; r++) {
    y[r] = S::sum(sums[r]);
    for (std::size_t rest = c; rest < columns; rest++) {
      y[r] += weightAt<T>(rows + r * stride + rest * bytes) * x[rest];
    }
  }
}

template <class S, Type T>
void matvecFloat(const Rows& rows, const std::byte* activations, float* y) {
  const auto* x = reinterpret_cast<const float*>(activations);
  const std::size_t stride = rows.columns * formatOf(T).bytes;
  inGroups<S::floatStreams>(rows, stride, y, [&](const std::uint8_t* at, std::size_t ahead, float* out, auto count) {
    dotFloatRows<S, T, count>(at, ahead, rows.columns, x, out);
  });
}

/** out[token·outStride + row] of `Count` rows and `Tokens` tokens; the sums are those of dotFloatRows, bit by bit. */
template <class S, Type T, std::size_t Count, std::size_t Tokens>
void dotFloatTokens(const Matvecs& p, const std::uint8_t* rows, std::size_t ahead, std::size_t token, float* out) {
  constexpr std::size_t bytes = formatOf(T).bytes;
  constexpr std::size_t step = 2 * S::width;
  const std::size_t columns = p.rows.columns;
  const std::size_t stride = columns * bytes;
  const float* x[Tokens];
  for (std::size_t t = 0; t < Tokens; t++) {
    x[t] = reinterpret_cast<const float*>(p.activations + (token + t) * p.activationBytes);
  }
  typename S::Floats sums[Count][Tokens];
  for (auto& row : sums) {
    for (auto& sum : row) sum = S::set(0);
  }
  std::size_t c = 0;
  for (; c + step <= columns; c += step) {
    Pair<S> weights[Count];
    for (std::size_t r = 0; r < Count; r++) {
      const std::uint8_t* at = rows + r * stride + c * bytes;
      prefetchLines(at + ahead, step * bytes);
      weights[r] = loadPair<S, T>(at);
    }
    for (std::size_t t = 0; t < Tokens; t++) {
      const auto first = S::load(x[t] + c);
      const auto second = S::load(x[t] + c + S::width);
      for (std::size_t r = 0; r < Count; r++) {
        sums[r][t] = S::multiplyAdd(weights[r].first, first, sums[r][t]);
        sums[r][t] = S::multiplyAdd(weights[r].second, second, sums[r][t]);
      }
    }
  }
  for (std::size_t r = 0; r < Count; r++) {
    for (std::size_t t = 0; t < Tokens; t++) {
      float product = S::sum(sums[r][t]);
      for (std::size_t rest = c; rest < columns; rest++) {
        product += weightAt<T>(rows + r * stride + rest * bytes) * x[t][rest];
      }
      out[t * p.outStride + r] = product;
    }
  }
}

template <class S, Type T, std::size_t Tokens>
void multiplyFloatTokens(const Matvecs& p, std::size_t token) {
  // As many sums as leave registers for weights and activations.
  constexpr std::size_t rows = S::width >= 16 ? 4 : 2;
  float* out = p.out + token * p.outStride;
  const std::size_t stride = p.rows.columns * formatOf(T).bytes;
  inGroups<rows>(p.rows, stride, out, [&](const std::uint8_t* at, std::size_t ahead, float* y, auto count) {
    dotFloatTokens<S, T, count, Tokens>(p, at, ahead, token, y);
  });
}

template <class S, Type T>
void matvecsFloat(const Matvecs& p) {
  std::size_t token = 0;
  for (; p.tokens - token >= 4; token += 4) multiplyFloatTokens<S, T, 4>(p, token);
  if (p.tokens - token == 3) multiplyFloatTokens<S, T, 3>(p, token);
  if (p.tokens - token == 2) multiplyFloatTokens<S, T, 2>(p, token);
  if (p.tokens - token == 1) multiplyFloatTokens<S, T, 1>(p, token);
}

}  // namespace
}  // namespace hearth
