#pragma once
#include "dot_units.hpp"

/**
 * Dot products of rows up to a unit wide, several of which may be in one. Two units are multiplied side by side: their
 * sums of a group are added before they are scaled, and then share a register. A token's sums are added in the same
 * order whatever the number of tokens.
 */
namespace hearth {
namespace {

/** Two units, unpacked: unsigned bytes, the zero point above zero. */
template <Type T>
struct UnitPair {
  __m512i weights[2][4];
  /** For every lane of the pair's sums (pairOrder): the scale, and what is subtracted for every weight. */
  __m512 scales;
  __m512 minimums;

  /** @param groups number of valid groups of a unit; the rest are masked out */
  UnitPair(const std::uint8_t* first, const std::uint8_t* second, std::size_t groups) {
    static constexpr PairOrder order = pairOrder(T);
    decodeUnit<T>(first, weights[0]);
    decodeUnit<T>(second, weights[1]);
    Factors<T> factors[2] = {factorsOf<T>(first), factorsOf<T>(second)};
    for (Factors<T>& own : factors) own.keepFirst(groups);
    const auto spread = [](Groups<T> a, Groups<T> b) {
      const __m512 both = _mm512_insertf32x8(_mm512_castps256_ps512(a.values), b.values, 1);
      return _mm512_permutexvar_ps(_mm512_load_si512(order.groups), both);
    };
    scales = spread(factors[0].scales, factors[1].scales);
    minimums = spread(factors[0].minimums, factors[1].minimums);
  }

  /** The products with a token, by lanes: they are to be added. */
  template <Rounding R>
  [[nodiscard, gnu::always_inline]] inline __m512 times(const UnitActivations<R>& x) const {
    const auto dot = [](const __m512i (&unit)[4], __m512i sums, const std::int8_t* quants) {
      sums = _mm512_dpbusd_epi32(sums, unit[0], load512(quants));
      sums = _mm512_dpbusd_epi32(sums, unit[1], load512(quants + 64));
      sums = _mm512_dpbusd_epi32(sums, unit[2], load512(quants + 128));
      return _mm512_dpbusd_epi32(sums, unit[3], load512(quants + 192));
    };
    const auto whole = [&](const __m512i (&unit)[4]) {
      const __m512i high = dot(unit, _mm512_setzero_si512(), x.high);
      if constexpr (R == Rounding::word) return _mm512_castsi512_ps(dot(unit, _mm512_slli_epi32(high, 7), x.low));
      return _mm512_castsi512_ps(high);
    };
    const __m512 a = whole(weights[0]);
    const __m512 b = whole(weights[1]);
    const __m512i sums = _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88)),
                                          _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xdd)));
    const __m512 products = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_mul_ps(scales, _mm512_load_ps(x.scales)));
    return _mm512_fnmadd_ps(minimums, _mm512_load_ps(x.sums), products);
  }
};

/** Rows whose products are added up together, and the vectors that have them. */
inline constexpr std::size_t narrowRows = 8;
inline constexpr std::size_t narrowVectors = 4;

/** How narrow rows lie in pairs of units. */
template <Type T>
struct NarrowRows {
  /** Rows of a unit. */
  std::size_t together;
  /** Groups of a unit that have weights. */
  std::size_t groups;
  /** A row's lanes of a pair's sums. */
  __mmask16 lanes[mostRowsPerUnit];
  /** Places of the rows' sums, in order, among those of four vectors. */
  __m512i places;

  explicit NarrowRows(std::size_t columns)
      : together(rowsPerUnit(columns)), groups(together * columns / scaleWeights(T)), lanes{} {
    static constexpr PairOrder order = pairOrder(T);
    const __m512i unitGroups = _mm512_and_si512(_mm512_load_si512(order.groups), _mm512_set1_epi32(7));
    const std::size_t each = columns / scaleWeights(T);
    for (std::size_t row = 0; row < together; row++) {
      const __m512i distances = _mm512_sub_epi32(unitGroups, _mm512_set1_epi32(static_cast<int>(row * each)));
      lanes[row] = _mm512_cmplt_epu32_mask(distances, _mm512_set1_epi32(static_cast<int>(each)));
    }
    const auto four = [](int a, int b, int c, int d, int next) {
      return _mm512_setr_epi32(a, b, c, d, a + next, b + next, c + next, d + next, 0, 0, 0, 0, 0, 0, 0, 0);
    };
    places = together == 1 ? four(0, 2, 4, 6, 8) : together == 2 ? four(0, 4, 2, 6, 8) : four(0, 4, 8, 12, 2);
  }

  [[nodiscard]] std::size_t pairs() const { return narrowVectors / together; }
  /** The sums of eight rows. */
  [[nodiscard, gnu::always_inline]] inline __m256 sums(const __m512 (&v)[narrowVectors]) const {
    const auto halves = [](__m512 a, __m512 b) {
      return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    };
    const __m512 pairs[2] = {halves(v[0], v[1]), halves(v[2], v[3])};
    const __m512 twos =
        _mm512_add_ps(_mm512_shuffle_f32x4(pairs[0], pairs[1], 0x88), _mm512_shuffle_f32x4(pairs[0], pairs[1], 0xdd));
    const __m512 ones = _mm512_add_ps(twos, _mm512_permute_ps(twos, 0xb1));
    return _mm512_castps512_ps256(_mm512_permutexvar_ps(places, ones));
  }
};

/** out[token·outStride + row] of all rows and `Tokens` tokens from `token` on. @param pairAt (first row): a UnitPair */
template <Type T, Rounding R, std::size_t Tokens, class PairAt>
[[gnu::always_inline]] inline void multiplyPairs(const NarrowRows<T>& narrow, const Matvecs& p, std::size_t token,
                                                 const PairAt& pairAt) {
  const std::byte* activations = p.activations + token * p.activationBytes;
  float* out = p.out + token * p.outStride;
  const std::size_t pairRows = 2 * narrow.together;
  for (std::size_t begin = 0; begin < p.rows.count; begin += narrowRows) {
    __m512 products[Tokens][narrowVectors];
    for (std::size_t pair = 0; pair < narrow.pairs(); pair++) {
      const UnitPair<T>& units = pairAt(begin + pair * pairRows);
      const auto add = [&](std::size_t t, const __m512 lanes) __attribute__((always_inline)) {
        if (narrow.together == 1) {
          products[t][pair] = lanes;
          return;
        }
        for (std::size_t row = 0; row < narrow.together; row++) {
          products[t][pair * narrow.together + row] = _mm512_maskz_mov_ps(narrow.lanes[row], lanes);
        }
      };
      // As a loop the compiler would leave the weights in memory.
      [&]<std::size_t... t>(std::index_sequence<t...>) __attribute__((always_inline)) {
        (add(t, units.times(*unitActivationsAt<R>(activations + t * p.activationBytes))), ...);
      }(std::make_index_sequence<Tokens>{});
    }
    const std::size_t left = p.rows.count - begin;
    const auto wanted = static_cast<__mmask8>(left < narrowRows ? (1u << left) - 1 : 0xff);
    for (std::size_t t = 0; t < Tokens; t++) {
      _mm256_mask_storeu_ps(out + t * p.outStride + begin, wanted, narrow.sums(products[t]));
    }
  }
}

/** Unpacks the pair of units that begins with a row; rows beyond the last are zeros. */
template <Type T>
struct UnpackPairs {
  const Rows& rows;
  const NarrowRows<T>& narrow;

  [[gnu::always_inline]] inline UnitPair<T> operator()(std::size_t first) const {
    const std::size_t stride = rowBytes(T, rows.columns);
    const std::size_t bytes = rows.count * stride;
    const std::size_t at[2] = {first * stride, (first + narrow.together) * stride};
    prefetchLines(rows.data + at[0] + leastAhead, 2 * (at[1] - at[0]));
    if (at[1] + unitBytes<T> <= bytes) return {rows.data + at[0], rows.data + at[1], narrow.groups};
    std::uint8_t copy[2][unitBytes<T>]{};
    for (int unit = 0; unit < 2; unit++) {
      if (at[unit] < bytes) __builtin_memcpy(copy[unit], rows.data + at[unit], std::min(sizeof copy[unit], bytes - at[unit]));
    }
    return {copy[0], copy[1], narrow.groups};
  }
};

/** FewTokens::unpackedBytes: those of the rows' pairs of units. */
template <Type T>
std::size_t unpackedBytes(std::size_t rows, std::size_t columns) {
  if (columns > unitColumns) return 0;
  return (rows + narrowRows - 1) / narrowRows * (narrowVectors / rowsPerUnit(columns)) * sizeof(UnitPair<T>);
}

/** @param out unpackedBytes of all rows; aligned to 64 */
template <Type T>
void unpackRows(const Rows& rows, std::byte* out) {
  const NarrowRows<T> narrow(rows.columns);
  const UnpackPairs<T> pairAt{rows, narrow};
  const std::size_t end = (rows.count + narrowRows - 1) / narrowRows * narrowRows;
  auto* to = reinterpret_cast<UnitPair<T>*>(out);
  for (std::size_t row = 0; row < end; row += 2 * narrow.together) *to++ = pairAt(row);
}

/** The product of unpacked rows and a token. */
template <Type T, Rounding R>
void matvecUnpacked(const Rows& rows, const std::byte* activations, float* y) {
  const NarrowRows<T> narrow(rows.columns);
  const auto* pairs = reinterpret_cast<const UnitPair<T>*>(rows.data);
  const std::size_t pairRows = 2 * narrow.together;
  const auto pairAt = [pairs, pairRows](std::size_t row) -> const UnitPair<T>& { return pairs[row / pairRows]; };
  multiplyPairs<T, R, 1>(narrow, {rows, activations, 0, 1, y, 0}, 0, pairAt);
}

template <Type T, Rounding R, std::size_t Tokens>
void multiplyNarrowRows(const Matvecs& p, std::size_t token) {
  const NarrowRows<T> narrow(p.rows.columns);
  multiplyPairs<T, R, Tokens>(narrow, p, token, UnpackPairs<T>{p.rows, narrow});
}

}  // namespace
}  // namespace hearth
