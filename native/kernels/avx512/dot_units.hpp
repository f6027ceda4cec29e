#pragma once
#include <algorithm>
#include <utility>

#include "../shared/streams.hpp"
#include "../table.hpp"
#include "activations.hpp"
#include "decode_blocks.hpp"
#include "decode_k_quants.hpp"
#include "decode_levels.hpp"
#include "decode_ternary.hpp"

/**
 * Dot products of quantized rows and several tokens, whose weights are unpacked once. A token's sums are added in
 * the same order whatever the number of tokens, so that its results are the same, bit by bit.
 *
 * Rows are read one after another: with four side by side the hardware's prefetching loses a third of the bandwidth of
 * one core (Zen 4, Q8_0: 17 instead of 25 GB/s).
 */
namespace hearth {
namespace {

template <Type T>
inline constexpr std::size_t unitBytes = unitColumns / formatOf(T).block * formatOf(T).bytes;

/** 256 weights of a row, unpacked: unsigned bytes, the zero point above zero. */
template <Type T>
struct Unit {
  __m512i weights[4];
  /** One scale for each of the sixteen lane sums. */
  __m512 scales;
  Groups<T> minimums;

  /** @param groups number of valid groups; the rest are masked out */
  Unit(const std::uint8_t* at, std::size_t groups) {
    static constexpr UnitOrder order = orderOf(T);
    decodeUnit<T>(at, weights);
    Factors<T> factors = factorsOf<T>(at);
    if (groups < unitGroups(T)) factors.keepFirst(groups);
    scales = factors.scales.spread(_mm512_load_si512(order.groups));
    minimums = factors.minimums;
  }
};

/** The product of a row and a token so far: that of unsigned weights, and what must be subtracted. */
template <Type T>
struct RowSum {
  __m512 products = _mm512_setzero_ps();
  Groups<T> below;

  template <Rounding R>
  [[gnu::always_inline]] inline void add(const Unit<T>& row, const UnitActivations<R>& x) {
    const auto dot = [&row](__m512i sums, const std::int8_t* quants) {
      sums = _mm512_dpbusd_epi32(sums, row.weights[0], load512(quants));
      sums = _mm512_dpbusd_epi32(sums, row.weights[1], load512(quants + 64));
      sums = _mm512_dpbusd_epi32(sums, row.weights[2], load512(quants + 128));
      return _mm512_dpbusd_epi32(sums, row.weights[3], load512(quants + 192));
    };
    __m512i sums = dot(_mm512_setzero_si512(), x.high);
    if constexpr (R == Rounding::word) sums = dot(_mm512_slli_epi32(sums, 7), x.low);
    products = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), _mm512_mul_ps(row.scales, _mm512_load_ps(x.scales)), products);
    below.addProduct(row.minimums, Groups<T>::load(x.sums));
  }

  /** The product is the sum of the lanes. */
  [[nodiscard]] __m512 lanes() const { return _mm512_sub_ps(products, below.wide()); }
};

/** The sums of the lanes of eight vectors. */
[[gnu::always_inline]] inline __m256 sumsOfLanes(const __m512 (&v)[8]) {
  __m512 pairs[4];
  for (int i = 0; i < 4; i++) {
    pairs[i] = _mm512_add_ps(_mm512_shuffle_f32x4(v[2 * i], v[2 * i + 1], 0x44),
                             _mm512_shuffle_f32x4(v[2 * i], v[2 * i + 1], 0xee));
  }
  __m512 fours[2];
  for (int i = 0; i < 2; i++) {
    fours[i] = _mm512_add_ps(_mm512_shuffle_f32x4(pairs[2 * i], pairs[2 * i + 1], 0x88),
                             _mm512_shuffle_f32x4(pairs[2 * i], pairs[2 * i + 1], 0xdd));
  }
  const __m512 twos =
      _mm512_add_ps(_mm512_shuffle_ps(fours[0], fours[1], 0x44), _mm512_shuffle_ps(fours[0], fours[1], 0xee));
  const __m512 ones = _mm512_add_ps(twos, _mm512_permute_ps(twos, 0xb1));
  const __m512i places = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_castps512_ps256(_mm512_permutexvar_ps(places, ones));
}

/** Rows whose products are added up together. */
inline constexpr std::size_t unitRows = 8;

/**
 * Columns after which sums are put aside, whatever the number of tokens: several rows can go through them before the
 * next ones, so that the activations of eight tokens, 24 KiB, stay in the first-level cache.
 */
inline constexpr std::size_t passColumns = 2048;

/**
 * The products of one row's next `columns` columns and `Tokens` tokens, whose activations are at a distance of `distance`
 * bytes, as vectors whose lanes are to be added. Lines `ahead` bytes further on are prefetched.
 *
 * @param end of what may be read: a unit's blocks beyond the row are those of the next one, and count for nothing
 */
template <Type T, Rounding R, std::size_t Tokens>
inline void dotUnits(const std::uint8_t* row, const std::uint8_t* end, std::size_t ahead, const std::byte* activations,
                     std::size_t distance, std::size_t columns, __m512 (&lanes)[Tokens]) {
  RowSum<T> sums[Tokens];
  std::uint8_t copy[isSuperblock(T) ? 1 : unitBytes<T>];
  for (std::size_t left = columns; left > 0;) {
    const std::size_t taken = isSuperblock(T) || left >= unitColumns ? unitColumns : left;
    const std::uint8_t* at = row;
    if constexpr (!isSuperblock(T)) {
      if (taken < unitColumns && static_cast<std::size_t>(end - row) < sizeof copy) {
        __builtin_memset(copy, 0, sizeof copy);
        __builtin_memcpy(copy, row, rowBytes(T, taken));
        at = copy;
      }
    }
    prefetchLines(row + ahead, unitBytes<T>);
    const Unit<T> unit(at, taken / scaleWeights(T));
    // As a loop the compiler would leave the sums in memory.
    [&]<std::size_t... t>(std::index_sequence<t...>) __attribute__((always_inline)) {
      (sums[t].template add<R>(unit, *unitActivationsAt<R>(activations + t * distance)), ...);
    }(std::make_index_sequence<Tokens>{});
    left -= taken;
    row += unitBytes<T>;
    activations += sizeof(UnitActivations<R>);
  }
  for (std::size_t t = 0; t < Tokens; t++) lanes[t] = sums[t].lanes();
}

/**
 * The products of eight rows, or fewer, and `Tokens` tokens. One token's rows are read one after another; those of
 * several tokens pass by pass, which is too late for lines that are less than all rows ahead.
 */
template <Type T, Rounding R, std::size_t Tokens>
inline void dotRows(const Rows& rows, const std::uint8_t* end, const std::byte* activations, std::size_t distance,
                    __m512 (&products)[Tokens][unitRows]) {
  const std::size_t stride = rowBytes(T, rows.columns);
  const std::size_t ahead = Tokens == 1 || rows.columns <= passColumns ? leastAhead : unitRows * stride;
  const auto pass = [&](std::size_t r, std::size_t begin) {
    const std::size_t left = rows.columns - begin;
    const std::size_t units = begin / unitColumns;
    __m512 lanes[Tokens];
    dotUnits<T, R>(rows.data + r * stride + units * unitBytes<T>, end, ahead,
                   activations + units * sizeof(UnitActivations<R>), distance, left < passColumns ? left : passColumns, lanes);
    for (std::size_t t = 0; t < Tokens; t++) {
      products[t][r] = begin == 0 ? lanes[t] : _mm512_add_ps(products[t][r], lanes[t]);
    }
  };
  if constexpr (Tokens == 1) {
    for (std::size_t r = 0; r < rows.count; r++) {
      for (std::size_t begin = 0; begin < rows.columns; begin += passColumns) pass(r, begin);
    }
  } else {
    for (std::size_t begin = 0; begin < rows.columns; begin += passColumns) {
      for (std::size_t r = 0; r < rows.count; r++) pass(r, begin);
    }
  }
}

/** out[token·outStride + row] of all rows and `Tokens` tokens from `token` on. */
template <Type T, Rounding R, std::size_t Tokens>
void multiplyUnits(const Matvecs& p, std::size_t token) {
  const std::size_t stride = rowBytes(T, p.rows.columns);
  const std::byte* activations = p.activations + token * p.activationBytes;
  float* out = p.out + token * p.outStride;
  __m512 products[Tokens][unitRows]{};
  for (std::size_t begin = 0; begin < p.rows.count; begin += unitRows) {
    const std::size_t count = p.rows.count - begin < unitRows ? p.rows.count - begin : unitRows;
    dotRows<T, R>({p.rows.data + begin * stride, count, p.rows.columns}, p.rows.data + p.rows.count * stride, activations,
                  p.activationBytes, products);
    const auto wanted = static_cast<__mmask8>((1u << count) - 1);
    for (std::size_t t = 0; t < Tokens; t++) {
      _mm256_mask_storeu_ps(out + t * p.outStride + begin, wanted, sumsOfLanes(products[t]));
    }
  }
}

}  // namespace
}  // namespace hearth
