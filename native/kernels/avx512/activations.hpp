#pragma once
#include "../shared/activations.hpp"
#include "unit.hpp"

/** Rounded activations in the order of units. */
namespace hearth {
namespace {

/** A token's activations of a unit. */
template <Rounding R>
struct alignas(64) UnitActivations {
  std::int8_t high[unitColumns];
  /** Lower bytes, with Rounding::word only. */
  std::int8_t low[R == Rounding::word ? unitColumns : 0];
  /** The group's scale for every sum of a unit; with narrow rows, for every lane of a pair's sums. */
  float scales[16];
  /**
   * scale·Σ quants of every group, of which there are eight or sixteen: the factors of minimums and zero points; with
   * narrow rows, of every lane of a pair's sums.
   */
  float sums[16];
};

constexpr std::size_t unitsOf(std::size_t columns) { return (columns + unitColumns - 1) / unitColumns; }

/** Bytes of a token's activations; at a distance that is no multiple of a page, which would be one cache set for all. */
constexpr std::size_t unitActivationBytes(std::size_t columns) {
  return unitsOf(columns) * sizeof(UnitActivations<Rounding::word>) + 64;
}

template <Rounding R>
inline const UnitActivations<R>* unitActivationsAt(const std::byte* base) {
  return reinterpret_cast<const UnitActivations<R>*>(base);
}

/** Stores the quants of a unit, in natural order, in the order of the kernels. */
template <Type T>
inline void orderQuants(const std::int8_t* quants, std::int8_t* out) {
  static constexpr UnitOrder order = orderOf(T);
  for (const auto& part : order.columns) {
    for (const std::uint8_t column : part) {
      __builtin_memcpy(out, quants + column, 4);
      out += 4;
    }
  }
}

/** Rounds a token's activations, once for each row of a unit; columns that are missing to a whole unit are zeros. */
template <Type T, Rounding R>
void activateUnits(const float* x, std::size_t columns, UnitActivations<R>* out) {
  constexpr std::size_t group = scaleGroup(T, R);
  constexpr std::size_t sumGroup = scaleWeights(T);
  static constexpr UnitOrder order = orderOf(T);
  static constexpr PairOrder pairs = pairOrder(T);
  for (std::size_t begin = 0; begin < columns; begin += unitColumns, out++) {
    const std::size_t count = columns - begin < unitColumns ? columns - begin : unitColumns;
    std::int16_t quants[unitColumns];
    std::int8_t terms[2][unitColumns];
    float scales[16] = {};
    float sums[16] = {};
    if (count < unitColumns) {
      __builtin_memset(out, 0, sizeof *out);
      __builtin_memset(terms, 0, sizeof terms);
    }
    for (std::size_t i = 0; i < count; i += group) {
      const float scale = quantizeGroup(x + begin + i, group, quants + i, R);
      for (std::size_t j = i; j < i + group; j += sumGroup) {
        std::int32_t sum = 0;
        for (std::size_t k = 0; k < sumGroup; k++) sum += quants[j + k];
        scales[j / sumGroup] = scale;
        sums[j / sumGroup] = scale * static_cast<float>(sum);
      }
    }
    const std::size_t repeated = rowsPerUnit(columns) * count;
    for (std::size_t i = count; i < repeated; i++) quants[i] = quants[i - count];
    for (std::size_t g = count / sumGroup; g < repeated / sumGroup; g++) {
      scales[g] = scales[g - count / sumGroup];
      sums[g] = sums[g - count / sumGroup];
    }
    const bool isNarrow = !isSuperblock(T) && columns <= unitColumns;
    for (std::size_t lane = 0; lane < 16; lane++) {
      out->scales[lane] = scales[isNarrow ? pairs.groups[lane] % 8 : order.groups[lane]];
      out->sums[lane] = sums[isNarrow ? static_cast<std::size_t>(pairs.groups[lane] % 8) : lane];
    }
    if constexpr (R == Rounding::word) {
      splitQuants(quants, repeated, terms[0], terms[1]);
      orderQuants<T>(terms[1], out->low);
    } else {
      for (std::size_t i = 0; i < repeated; i++) terms[0][i] = static_cast<std::int8_t>(quants[i]);
    }
    orderQuants<T>(terms[0], out->high);
  }
}

}  // namespace
}  // namespace hearth
