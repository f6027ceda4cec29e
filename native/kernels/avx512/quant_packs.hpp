#pragma once
#include "../shared/activations.hpp"
#include "unit.hpp"

/**
 * Activations of sixteen tokens, rounded, as tiles read them. Lanes are tokens: a pack holds its quants four columns at a
 * time, so that four weights of a row, broadcast, are multiplied with sixteen tokens. Columns are in the order in which
 * weights are unpacked.
 */
namespace hearth {
namespace {

inline constexpr std::size_t packLanes = 16;

/** Bytes of a rounded activation. */
constexpr std::size_t terms(Rounding rounding) { return rounding == Rounding::byte ? 1 : 2; }

/** Whether the scales of a superblock's activations are multiples of the same unit, up to mostUnits of them. */
constexpr bool hasUnit(Type type, Rounding rounding) { return isSuperblock(type) && rounding == Rounding::byte; }

/** With more of them, the sums of a group's quants times the multiple would need more than 16 bits. */
inline constexpr int mostUnits = 8;

/** The parts of a pack whose groups have any scales. */
struct QuantPack {
  /** [columns/group][terms: high, low][group/4][16][4] */
  std::int8_t* quants;
  /** [columns/group][16]: the activations' scales. */
  float* scales;
  /** [columns/group][16]: −zeroPoint·Σ quants, the initial values of the integer sums. */
  std::int32_t* starts;
  /** [columns/group][16]: scale·Σ quants, the factors of the minimums. */
  float* sums;
};

/** The parts of a pack of superblocks with a unit. */
struct SuperblockPack {
  /** [columns/group][group/4][16][4] */
  std::int8_t* quants;
  /** [columns/256][16]: the activations' units. */
  float* units;
  /** [columns/group][16]: an activation is unit·(multiple + 1)·quant. */
  std::int32_t* multiples;
  /** [columns/group][16]: −zeroPoint·Σ quants, the initial values of the integer sums. */
  std::int32_t* starts;
  /** [columns/group/2][16][2]: (multiple + 1)·Σ quants, the factors of the minimums. */
  std::int16_t* sums;
};

template <Type T, Rounding R>
using PackOf = std::conditional_t<hasUnit(T, R), SuperblockPack, QuantPack>;

template <Type T, Rounding R>
constexpr std::size_t quantPackBytes(std::size_t columns) {
  const std::size_t groups = columns / scaleWeights(T);
  if constexpr (hasUnit(T, R)) {
    constexpr std::size_t group = sizeof(std::int32_t) + sizeof(std::int32_t) + sizeof(std::int16_t);
    return packLanes * (columns + columns / 256 * sizeof(float) + groups * group);
  }
  return packLanes * (terms(R) * columns + groups * (sizeof(float) + sizeof(std::int32_t) + sizeof(float)));
}

template <Type T, Rounding R>
PackOf<T, R> packAt(const std::byte* base, std::size_t columns) {
  const std::size_t groups = columns / scaleWeights(T);
  auto* bytes = const_cast<std::byte*>(base);
  PackOf<T, R> pack{};
  pack.quants = reinterpret_cast<std::int8_t*>(bytes);
  auto* floats = reinterpret_cast<float*>(bytes + packLanes * terms(R) * columns);
  if constexpr (hasUnit(T, R)) {
    pack.units = floats;
    pack.multiples = reinterpret_cast<std::int32_t*>(floats + packLanes * (columns / 256));
    pack.starts = pack.multiples + packLanes * groups;
    pack.sums = reinterpret_cast<std::int16_t*>(pack.starts + packLanes * groups);
  } else {
    pack.scales = floats;
    pack.starts = reinterpret_cast<std::int32_t*>(floats + packLanes * groups);
    pack.sums = reinterpret_cast<float*>(pack.starts + packLanes * groups);
  }
  return pack;
}

/** The column, in natural order, at `column` of the registers' order. */
template <Type T>
constexpr std::size_t orderedColumn(std::size_t column) {
  if constexpr (!isSuperblock(T)) return column;
  return column / 256 * 256 + chunkOrder(T).chunk[column / 32 % 8] * std::size_t{32} + column % 32;
}

/** Writes a group's quants, `terms` bytes each, to a token's lane. Returns their sum. */
template <Type T, Rounding R>
std::int32_t packGroup(const std::int16_t* quants, std::size_t token, std::int8_t* out) {
  constexpr std::size_t group = scaleWeights(T);
  std::int8_t bytes[2 * group];
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < group; i++) sum += quants[i];
  if constexpr (R == Rounding::word) {
    splitQuants(quants, group, bytes, bytes + group);
  } else {
    for (std::size_t i = 0; i < group; i++) bytes[i] = static_cast<std::int8_t>(quants[i]);
  }
  for (std::size_t i = 0; i < terms(R) * group; i += 4) {
    __builtin_memcpy(out + (i / 4 * packLanes + token) * 4, bytes + i, 4);
  }
  return sum;
}

/** Rounds and packs up to sixteen tokens of x, [tokens][columns]. */
template <Type T, Rounding R>
void packQuants(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed) {
  constexpr std::size_t group = scaleWeights(T);
  constexpr std::size_t scaled = scaleGroup(T, R);
  const QuantPack pack = packAt<T, R>(packed, columns);
  if (tokens < packLanes) __builtin_memset(packed, 0, quantPackBytes<T, R>(columns));
  std::int16_t quants[256];
  for (std::size_t t = 0; t < tokens; t++) {
    // Whole superblocks, as their chunks change places.
    constexpr std::size_t step = isSuperblock(T) ? 256 : scaled;
    for (std::size_t begin = 0; begin < columns; begin += step) {
      float scales[step / scaled];
      for (std::size_t i = 0; i < step; i += scaled) {
        scales[i / scaled] = quantizeGroup(x + t * columns + begin + i, scaled, quants + i, R);
      }
      for (std::size_t c = begin; c < begin + step; c += group) {
        const std::size_t natural = orderedColumn<T>(c) - begin;
        const std::int32_t sum = packGroup<T, R>(quants + natural, t, pack.quants + terms(R) * c * packLanes);
        const std::size_t at = c / group * packLanes + t;
        pack.scales[at] = scales[natural / scaled];
        pack.starts[at] = -formatOf(T).zeroPoint * sum;
        pack.sums[at] = scales[natural / scaled] * static_cast<float>(sum);
      }
    }
  }
}

/**
 * Rounds a superblock to unit·(multiple + 1)·quant, with the smallest multiple for each 32 by which the largest of them is
 * at most 127. Returns the unit.
 */
inline float quantizeSuperblock(const float* x, std::int16_t* quants, std::int32_t* multiples) {
  float own[8];
  for (std::size_t i = 0; i < 8; i++) own[i] = largestOf(x + 32 * i, 32);
  const float largest = largestOf(own, 8);
  const bool zero = largest < leastActivation;
  constexpr std::int32_t most = largestRounded(Rounding::byte);
  for (std::size_t i = 0; i < 8; i++) {
    int units = 1;
    while (units < mostUnits && !(mostUnits * own[i] <= static_cast<float>(units) * largest)) units++;
    multiples[i] = units - 1;
    const float inverse = zero ? 0 : mostUnits * most / largest / static_cast<float>(units);
    roundGroup(x + 32 * i, 32, inverse, most, quants + 32 * i);
  }
  return zero ? 0 : largest / (mostUnits * most);
}

/** The same of superblocks with a unit. */
template <Type T>
void packSuperblocks(const float* x, std::size_t tokens, std::size_t columns, std::byte* packed) {
  constexpr std::size_t group = scaleWeights(T);
  const SuperblockPack pack = packAt<T, Rounding::byte>(packed, columns);
  if (tokens < packLanes) __builtin_memset(packed, 0, quantPackBytes<T, Rounding::byte>(columns));
  std::int16_t quants[256];
  for (std::size_t t = 0; t < tokens; t++) {
    for (std::size_t begin = 0; begin < columns; begin += 256) {
      std::int32_t multiples[8];
      pack.units[begin / 256 * packLanes + t] = quantizeSuperblock(x + t * columns + begin, quants, multiples);
      for (std::size_t c = begin; c < begin + 256; c += group) {
        const std::size_t natural = orderedColumn<T>(c) - begin;
        const std::int32_t sum = packGroup<T, Rounding::byte>(quants + natural, t, pack.quants + c * packLanes);
        const std::int32_t multiple = multiples[natural / 32];
        const std::size_t g = c / group;
        pack.multiples[g * packLanes + t] = multiple;
        pack.starts[g * packLanes + t] = -formatOf(T).zeroPoint * sum;
        pack.sums[(g / 2 * packLanes + t) * 2 + g % 2] = static_cast<std::int16_t>(sum * (multiple + 1));
      }
    }
  }
}

}  // namespace
}  // namespace hearth
