#pragma once
#include "../shared/activations.hpp"
#include "decode.hpp"

/**
 * Dot products of quantized rows with activations of bytes. An instruction multiplies unsigned bytes with signed ones and
 * adds two products as 16 bits, which saturate: unsigned weights, at most 63, are multiplied as they are, signed ones
 * (isSigned) with the sizes of the activations, whose signs are moved to the weights; those of Q8_0 the other way round.
 */
namespace hearth {
namespace {

/** Sums of two products of 32 weights and activations from `at` on, as 16 bits. */
template <Type T>
inline __m256i pairSums(__m256i weights, const Activations& x, std::size_t at) {
  const __m256i values = load256(x.high + at);
  // Weights of −128 have no negative, unlike activations.
  if constexpr (T == Type::Q8_0) return _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(values, weights));
  if constexpr (isSigned(T)) return _mm256_maddubs_epi16(load256(x.low + at), _mm256_sign_epi8(weights, values));
  return _mm256_maddubs_epi16(weights, values);
}

/** A row's products with a token's activations: of weights above zero, and what is to be subtracted. */
struct RowSum {
  __m256 products = _mm256_setzero_ps();
  __m256 below = _mm256_setzero_ps();

  [[nodiscard]] float total() const { return Avx2::sum(_mm256_sub_ps(products, below)); }
};

}  // namespace
}  // namespace hearth
