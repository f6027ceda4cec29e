#pragma once
#include "../../formats/unpack.hpp"
#include "../table.hpp"
#include "vector_math.hpp"

/** Kernels for single rows of floats: norm, activation functions, softmax, addition, scaling, conversion. */
namespace hearth {
namespace {

/** Σ x² */
template <class S>
inline float sumOfSquares(const float* x, std::size_t count) {
  auto squares = S::set(0);
  std::size_t i = 0;
  for (; i + S::width <= count; i += S::width) {
    const auto v = S::load(x + i);
    squares = S::multiplyAdd(v, v, squares);
  }
  float total = S::sum(squares);
  for (; i < count; i++) total += x[i] * x[i];
  return total;
}

template <class S>
void rmsNormRow(const float* x, const float* weight, std::size_t count, float epsilon, float* y) {
  const float mean = sumOfSquares<S>(x, count) / static_cast<float>(count);
  const auto scale = S::set(1 / __builtin_sqrtf(mean + epsilon));
  mapPairs<S>(x, weight, count, y, [scale](auto a, auto w) { return S::multiply(S::multiply(a, scale), w); });
}

/** 1 + e^−x */
template <class S>
inline typename S::Floats onePlusExponential(typename S::Floats x) {
  return S::add(S::set(1), exponential<S>(S::subtract(S::set(0), x)));
}

template <class S>
inline typename S::Floats silu(typename S::Floats x) {
  return S::divide(x, onePlusExponential<S>(x));
}

template <class S>
void siluRow(const float* gate, const float* up, std::size_t count, float* y) {
  mapPairs<S>(gate, up, count, y, [](auto g, auto u) { return S::multiply(silu<S>(g), u); });
}

template <class S>
void sigmoidRow(const float* gate, const float* up, std::size_t count, float* y) {
  mapPairs<S>(gate, up, count, y, [](auto g, auto u) { return S::divide(u, onePlusExponential<S>(g)); });
}

template <class S>
void reluRow(const float* gate, const float* up, std::size_t count, float* y) {
  // The bound is the first argument: NaN stays NaN.
  mapPairs<S>(gate, up, count, y, [](auto g, auto u) { return S::multiply(S::maximum(S::set(0), g), u); });
}

template <class S>
void identityRow(const float* gate, const float* up, std::size_t count, float* y) {
  mapPairs<S>(gate, up, count, y, [](auto g, auto u) { return S::multiply(g, u); });
}

/** As (1 + tanh z)/2 = 1/(1 + e^−2z): gelu(x) = x/(1 + e^(x·(a + b·x²))). At −10 it is −1e−37. */
template <class S>
void geluRow(const float* gate, const float* up, std::size_t count, float* y) {
  const auto a = S::set(-1.5957691216f);  // −2·√(2/π)
  const auto b = S::set(-1.5957691216f * 0.044715f);
  mapPairs<S>(gate, up, count, y, [a, b](auto g, auto u) {
    const auto x = S::maximum(S::set(-10), g);
    const auto exponent = S::multiply(x, S::multiplyAdd(S::multiply(x, x), b, a));
    return S::multiply(S::divide(x, S::add(S::set(1), exponential<S>(exponent))), u);
  });
}

/** At a gate of −50 it is −6e−36, and of −∞ the product would be NaN. */
template <class S>
void clampedSiluRow(const float* gate, const float* up, std::size_t count, float* y) {
  const auto one = S::set(1);
  const auto most = S::set(7);
  const auto least = S::set(-7);
  mapPairs<S>(gate, up, count, y, [one, most, least](auto g, auto u) {
    const auto x = S::maximum(S::set(-50), S::minimum(most, g));
    const auto factor = S::add(S::maximum(least, S::minimum(most, u)), one);
    const auto denominator = S::add(one, exponential<S>(S::multiply(S::set(-1.702f), x)));
    return S::multiply(S::divide(x, denominator), factor);
  });
}

template <class S>
void addRow(const float* x, float factor, std::size_t count, float* y) {
  const auto f = S::set(factor);
  mapPairs<S>(y, x, count, y, [f](auto a, auto b) { return S::multiplyAdd(f, b, a); });
}

template <class S>
void scaleRow(float factor, std::size_t count, float* y) {
  const auto f = S::set(factor);
  mapPairs<S>(y, y, count, y, [f](auto a, auto) { return S::multiply(a, f); });
}

/** tanh z = E/(E + 2) with E = e^2z − 1, which is exact near zero too. */
template <class S>
void softCapRow(float cap, std::size_t count, float* y) {
  const auto most = S::set(cap);
  const auto twice = S::set(2 / cap);
  mapPairs<S>(y, y, count, y, [most, twice](auto a, auto) {
    const auto e = exponentialLessOne<S>(S::multiply(a, twice));
    return S::multiply(S::divide(e, S::add(e, S::set(2))), most);
  });
}

template <class S>
float largestOf(const float* x, std::size_t count) {
  float result = x[0];
  std::size_t i = 0;
  if (count >= S::width) {
    auto largest = S::load(x);
    for (i = S::width; i + S::width <= count; i += S::width) largest = S::maximum(largest, S::load(x + i));
    result = S::largest(largest);
  }
  for (; i < count; i++) result = x[i] > result ? x[i] : result;
  return result;
}

/** y = e^(x − shift); returns Σ y. */
template <class S>
float exponentials(const float* x, std::size_t count, float shift, float* y) {
  const auto minus = S::set(shift);
  auto sums = S::set(0);
  std::size_t i = 0;
  for (; i + S::width <= count; i += S::width) {
    const auto e = exponential<S>(S::subtract(S::load(x + i), minus));
    S::store(y + i, e);
    sums = S::add(sums, e);
  }
  float total = S::sum(sums);
  if (i < count) {
    float part[S::width];
    S::store(part, exponential<S>(S::subtract(loadPart<S>(x + i, count - i, shift), minus)));
    for (std::size_t j = 0; i < count; i++, j++) {
      y[i] = part[j];
      total += part[j];
    }
  }
  return total;
}

template <class S>
void softmaxRow(const float* x, std::size_t count, float* y) {
  if (count == 0) return;
  const float total = exponentials<S>(x, count, largestOf<S>(x, count), y);
  const auto inverse = S::set(1 / total);
  mapPairs<S>(y, y, count, y, [inverse](auto a, auto) { return S::multiply(a, inverse); });
}

template <class S>
void storeRow(Type type, const float* x, std::size_t count, std::uint8_t* out) {
  if (type == Type::F32) {
    __builtin_memcpy(out, x, count * sizeof(float));
    return;
  }
  std::size_t i = 0;
  for (; i + S::width <= count; i += S::width) S::storeHalf(out + 2 * i, S::load(x + i));
  for (; i < count; i++) {
    const std::uint16_t half = floatToHalf(x[i]);
    __builtin_memcpy(out + 2 * i, &half, sizeof half);
  }
}

template <class S, Type T>
void dequantizeRow(const std::uint8_t* row, std::size_t columns, float* out) {
  if constexpr (isFloat(T)) {
    std::size_t i = 0;
    for (; i + S::width <= columns; i += S::width) S::store(out + i, loadWeights<S, T>(row + i * formatOf(T).bytes));
    for (; i < columns; i++) out[i] = weightAt<T>(row + i * formatOf(T).bytes);
  } else {
    constexpr std::size_t block = formatOf(T).block;
    Unpacked<block> weights;
    for (std::size_t i = 0; i < columns / block; i++) {
      unpack<T>(row + i * formatOf(T).bytes, weights);
      for (std::size_t group = 0; group < block / 16; group++) {
        const float scale = weights.scale * static_cast<float>(weights.scales[group]);
        const float minimum = weights.minimum * static_cast<float>(weights.minimums[group]);
        for (std::size_t j = 16 * group; j < 16 * group + 16; j++) {
          out[i * block + j] = scale * static_cast<float>(weights.quants[j]) - minimum;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
