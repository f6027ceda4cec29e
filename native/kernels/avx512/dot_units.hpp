#pragma once
#include "../shared/streams.hpp"
#include "../table.hpp"
#include "activations.hpp"
#include "decode_blocks.hpp"
#include "decode_k_quants.hpp"
#include "decode_levels.hpp"
#include "decode_ternary.hpp"

/**
 * Dot products of quantized rows and up to eight tokens, whose weights are unpacked once. A token's sums are added in
 * the same order whatever the number of tokens, so that its results are the same, bit by bit.
 *
 * Rows are read one after another: with four side by side the hardware's prefetching loses a third of the bandwidth of
 * one core (Zen 4, Q8_0: 17 instead of 25 GB/s).
 */
namespace hearth {
namespace {

template <Type T>
inline constexpr std::size_t unitBytes = unitColumns / formatOf(T).block * formatOf(T).bytes;

/** A row's 256 weights, unpacked: unsigned bytes, the zero point above zero. */
template <Type T>
struct Unit {
  __m512i weights[4];
  Factors<T> factors;

  explicit Unit(const std::uint8_t* at) : factors(factorsOf<T>(at)) { decodeUnit<T>(at, weights); }
};

/** The product of a row and a token so far: that of unsigned weights, and what must be subtracted. */
template <Type T>
struct RowSum {
  __m512 products = _mm512_setzero_ps();
  Groups<T> below;

  template <Rounding R>
  inline void add(const Unit<T>& row, const UnitActivations<R>& x) {
    static constexpr SumGroups groups = sumGroups(T);
    const __m512 scales = row.factors.scales.times(Groups<T>::load(x.scales)).wide();
    for (int half = 0; half < 2; half++) {
      const __m512i* weights = row.weights + 2 * half;
      const auto dot = [weights, half](__m512i sums, const std::int8_t* quants) {
        sums = _mm512_dpbusd_epi32(sums, weights[0], load512(quants + 128 * half));
        return _mm512_dpbusd_epi32(sums, weights[1], load512(quants + 128 * half + 64));
      };
      __m512i sums = dot(_mm512_setzero_si512(), x.high);
      if constexpr (R == Rounding::word) sums = dot(_mm512_slli_epi32(sums, 7), x.low);
      const __m512 spread = _mm512_permutexvar_ps(_mm512_load_si512(groups.lanes[half]), scales);
      products = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), spread, products);
    }
    below.addProduct(row.factors.minimums, Groups<T>::load(x.sums));
  }

  [[nodiscard]] float total() const { return _mm512_reduce_add_ps(_mm512_sub_ps(products, below.wide())); }
};

/**
 * y[token·stride] of one row and `Tokens` tokens, whose activations are at a distance of `distance` bytes. Lines `ahead`
 * bytes further on are prefetched.
 */
template <Type T, Rounding R, std::size_t Tokens>
inline void dotUnits(const std::uint8_t* row, std::size_t ahead, const std::byte* activations, std::size_t distance,
                     std::size_t columns, float* y, std::size_t stride) {
  RowSum<T> sums[Tokens];
  const auto add = [&](const std::uint8_t* at, const std::byte* x) {
    const Unit<T> unit(at);
    for (std::size_t t = 0; t < Tokens; t++) sums[t].template add<R>(unit, *unitActivationsAt<R>(x + t * distance));
  };
  for (std::size_t c = unitColumns; c <= columns; c += unitColumns) {
    prefetchLines(row + ahead, unitBytes<T>);
    add(row, activations);
    row += unitBytes<T>;
    activations += sizeof(UnitActivations<R>);
  }
  if constexpr (!isSuperblock(T)) {
    if (columns % unitColumns != 0) {
      std::uint8_t rest[unitBytes<T>]{};
      __builtin_memcpy(rest, row, rowBytes(T, columns % unitColumns));
      add(rest, activations);
    }
  }
  for (std::size_t t = 0; t < Tokens; t++) y[t * stride] = sums[t].total();
}

template <Type T, Rounding R>
void matvecUnits(const Rows& rows, const std::byte* activations, float* y) {
  const std::size_t stride = rowBytes(T, rows.columns);
  for (std::size_t r = 0; r < rows.count; r++) {
    dotUnits<T, R, 1>(rows.data + r * stride, leastAhead, activations, 0, rows.columns, y + r, 0);
  }
}

template <Type T, Rounding R>
void matvecsUnits(const Matvecs& p) {
  const std::size_t stride = rowBytes(T, p.rows.columns);
  std::size_t token = 0;
  const auto forAll = [&]<std::size_t Tokens>() {
    const std::byte* activations = p.activations + token * p.activationBytes;
    for (std::size_t r = 0; r < p.rows.count; r++) {
      dotUnits<T, R, Tokens>(p.rows.data + r * stride, leastAhead, activations, p.activationBytes, p.rows.columns,
                             p.out + token * p.outStride + r, p.outStride);
    }
    token += Tokens;
  };
  while (p.tokens - token >= 8) forAll.template operator()<8>();
  if (p.tokens - token >= 4) forAll.template operator()<4>();
  if (p.tokens - token == 3) forAll.template operator()<3>();
  if (p.tokens - token == 2) forAll.template operator()<2>();
  if (p.tokens - token == 1) forAll.template operator()<1>();
}

}  // namespace
}  // namespace hearth
