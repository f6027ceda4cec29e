#pragma once
#include "../../formats/half.hpp"
#include "../../formats/formats.hpp"

/** Common parts of the shared kernels: loads by format, partial vectors, the exponential. */
namespace hearth {
namespace {

/** Prefetches a line into the second-level cache; in the first it would evict the activations. */
inline void prefetch(const std::uint8_t* at) { __builtin_prefetch(at, 0, 2); }

template <class S, Type T>
inline typename S::Floats loadWeights(const std::uint8_t* at) {
  if constexpr (T == Type::F32) return S::load(reinterpret_cast<const float*>(at));
  if constexpr (T == Type::F16) return S::loadHalf(at);
  if constexpr (T == Type::BF16) return S::loadBf16(at);
}

template <class S>
struct Pair {
  typename S::Floats first;
  typename S::Floats second;
};

/** Two vectors of weights, with one load if the primitives support it, since loads of half a line are slower. */
template <class S, Type T>
inline Pair<S> loadPair(const std::uint8_t* at) {
  if constexpr (requires { S::template loadPair<T>(at); }) {
    return S::template loadPair<T>(at);
  } else {
    return {loadWeights<S, T>(at), loadWeights<S, T>(at + S::width * formatOf(T).bytes)};
  }
}

template <Type T>
inline float weightAt(const std::uint8_t* at) {
  if constexpr (T == Type::F32) return bitsToFloat(load32(at));
  if constexpr (T == Type::F16) return loadHalf(at);
  if constexpr (T == Type::BF16) return bf16ToFloat(load16(at));
}

/** The first `count` < width floats; the other lanes are `filling`. */
template <class S>
inline typename S::Floats loadPart(const float* from, std::size_t count, float filling) {
  float part[S::width];
  for (std::size_t i = 0; i < S::width; i++) part[i] = i < count ? from[i] : filling;
  return S::load(part);
}

template <class S>
inline void storePart(float* to, std::size_t count, typename S::Floats values) {
  float part[S::width];
  S::store(part, values);
  for (std::size_t i = 0; i < count; i++) to[i] = part[i];
}

/** y[i] = f(a[i], b[i]), by whole vectors and one partial one. */
template <class S, class F>
inline void mapPairs(const float* a, const float* b, std::size_t count, float* y, F f) {
  std::size_t i = 0;
  for (; i + S::width <= count; i += S::width) S::store(y + i, f(S::load(a + i), S::load(b + i)));
  if (i == count) return;
  storePart<S>(y + i, count - i, f(loadPart<S>(a + i, count - i, 0), loadPart<S>(b + i, count - i, 0)));
}

/** e^x = 2^n·(1 + r·q), with x between −87.3 and 88 in place of what lies beyond. */
template <class S>
struct ExponentialParts {
  typename S::Floats n;
  typename S::Floats r;
  typename S::Floats q;
};

/** x = n·ln 2 + r, |r| ≤ ln 2 / 2, and e^r by its Taylor polynomial of degree 7. NaN stays NaN. */
template <class S>
inline ExponentialParts<S> exponentialParts(typename S::Floats x) {
  using F = typename S::Floats;
  // The bound is the first argument: minimum and maximum return the second if one is NaN.
  x = S::maximum(S::set(-87.3f), S::minimum(S::set(88.0f), x));
  const F magic = S::set(12582912.0f);
  const F n = S::subtract(S::multiplyAdd(x, S::set(1.44269504f), magic), magic);
  F r = S::multiplyAdd(n, S::set(-0.693359375f), x);
  r = S::multiplyAdd(n, S::set(2.12194440e-4f), r);
  F p = S::set(1.0f / 5040);
  p = S::multiplyAdd(p, r, S::set(1.0f / 720));
  p = S::multiplyAdd(p, r, S::set(1.0f / 120));
  p = S::multiplyAdd(p, r, S::set(1.0f / 24));
  p = S::multiplyAdd(p, r, S::set(1.0f / 6));
  p = S::multiplyAdd(p, r, S::set(0.5f));
  return {n, r, S::multiplyAdd(p, r, S::set(1.0f))};
}

/**
 * e^x within 2 units in the last place. Below −87.3 the result is e^−87.3 ≈ 1e−38 (zero for all purposes here), above 88
 * it is e^88. NaN stays NaN.
 */
template <class S>
inline typename S::Floats exponential(typename S::Floats x) {
  const auto [n, r, q] = exponentialParts<S>(x);
  return S::multiply(S::multiplyAdd(q, r, S::set(1.0f)), S::powerOfTwo(n));
}

/** e^x − 1, without cancellation near zero. */
template <class S>
inline typename S::Floats exponentialLessOne(typename S::Floats x) {
  const auto [n, r, q] = exponentialParts<S>(x);
  const auto power = S::powerOfTwo(n);
  return S::multiplyAdd(S::multiply(q, r), power, S::subtract(power, S::set(1.0f)));
}

}  // namespace
}  // namespace hearth
