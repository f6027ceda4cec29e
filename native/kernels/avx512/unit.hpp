#pragma once
#include "../../formats/formats.hpp"
#include "simd.hpp"

/**
 * The order in which kernels for few tokens have weights. Columns are taken in units of 256: a superblock, or eight
 * blocks of 32. Four registers hold the weights of a unit: the dot products of the first two are added to 16 sums of
 * integers, those of the others to 16 more, so that all weights of a sum share one scale, and so do the activations.
 */
namespace hearth {
namespace {

inline constexpr std::size_t unitColumns = 256;

/** Weights that share a scale. */
constexpr std::size_t scaleWeights(Type type) { return formatOf(type).scaleWeights; }
/** Scales of a unit. */
constexpr std::size_t unitGroups(Type type) { return unitColumns / scaleWeights(type); }

struct ChunkOrder {
  std::uint8_t chunk[8];
};

/**
 * The chunks of 32 weights of a superblock, two to a register, in the order in which they are cheapest to unpack
 * (decodeSuperblock).
 */
constexpr ChunkOrder chunkOrder(Type type) {
  switch (type) {
    case Type::Q4_K:
    case Type::Q5_K:
      return {{0, 2, 1, 3, 4, 6, 5, 7}};
    case Type::Q2_K:
    case Type::Q3_K:
    case Type::TQ2_0:
      return {{0, 4, 1, 5, 2, 6, 3, 7}};
    default:
      return {{0, 1, 2, 3, 4, 5, 6, 7}};
  }
}

/** Whether weights of a superblock get their places in a unit while they are packed. */
constexpr bool movesPacked(Type type) { return type == Type::Q4_K || type == Type::Q5_K; }

/** The order of a unit's chunks before their halves or quarters are put together (columnsOf). */
constexpr ChunkOrder unitOrder(Type type) {
  return movesPacked(type) ? ChunkOrder{{0, 2, 4, 6, 1, 3, 5, 7}} : chunkOrder(type);
}

/** First columns of the eights that are side by side in a unit's four registers. */
struct UnitColumns {
  std::uint8_t eight[unitColumns / 8];
};
constexpr UnitColumns columnsOf(Type type) {
  const ChunkOrder order = unitOrder(type);
  UnitColumns columns{};
  for (std::size_t i = 0; i < unitColumns / 8; i++) {
    const std::size_t pair = i / 16;
    const std::size_t second = i / 8 % 2;
    const std::size_t lane = i / 2 % 4;
    const std::size_t high = i % 2;
    if (scaleWeights(type) == 32) {
      // A register has the lower halves of four chunks, the next one the upper halves.
      columns.eight[i] = static_cast<std::uint8_t>(32 * order.chunk[4 * pair + lane] + 16 * second + 8 * high);
    } else {
      // A register has the lower halves of groups of 16, those of two registers by turns.
      const std::size_t chunk = order.chunk[4 * pair + 2 * high + lane / 2];
      columns.eight[i] = static_cast<std::uint8_t>(32 * chunk + 16 * (lane % 2) + 8 * second);
    }
  }
  return columns;
}

/** The group, and so the scale, of each sum of a unit. */
struct SumGroups {
  alignas(64) std::int32_t lanes[2][16];
};
constexpr SumGroups sumGroups(Type type) {
  const UnitColumns columns = columnsOf(type);
  SumGroups groups{};
  for (std::size_t sum = 0; sum < 32; sum++) {
    const std::size_t eight = sum / 16 * 16 + sum % 16 / 2;
    groups.lanes[sum / 16][sum % 16] = static_cast<std::int32_t>(columns.eight[eight] / scaleWeights(type));
  }
  return groups;
}

/** Floats of the groups of a unit: eight or sixteen. */
template <std::size_t Groups>
struct GroupFloats;

template <>
struct GroupFloats<8> {
  __m256 values = _mm256_setzero_ps();

  static GroupFloats load(const float* from) { return {_mm256_loadu_ps(from)}; }
  static GroupFloats all(float value) { return {_mm256_set1_ps(value)}; }
  [[nodiscard]] GroupFloats times(GroupFloats b) const { return {_mm256_mul_ps(values, b.values)}; }
  void addProduct(GroupFloats a, GroupFloats b) { values = _mm256_fmadd_ps(a.values, b.values, values); }
  [[nodiscard]] __m512 wide() const { return _mm512_zextps256_ps512(values); }
};

template <>
struct GroupFloats<16> {
  __m512 values = _mm512_setzero_ps();

  static GroupFloats load(const float* from) { return {_mm512_loadu_ps(from)}; }
  static GroupFloats all(float value) { return {_mm512_set1_ps(value)}; }
  [[nodiscard]] GroupFloats times(GroupFloats b) const { return {_mm512_mul_ps(values, b.values)}; }
  void addProduct(GroupFloats a, GroupFloats b) { values = _mm512_fmadd_ps(a.values, b.values, values); }
  [[nodiscard]] __m512 wide() const { return values; }
};

template <Type T>
using Groups = GroupFloats<unitGroups(T)>;

/** Of every group of a unit: its scale, and what is subtracted for every weight. */
template <Type T>
struct Factors {
  Groups<T> scales;
  Groups<T> minimums;
};

/** The factors of a format without minimums, whose zero points are so many scales. */
template <Type T>
inline Factors<T> aboveZero(Groups<T> scales) {
  return {scales, scales.times(Groups<T>::all(static_cast<float>(formatOf(T).zeroPoint)))};
}

}  // namespace
}  // namespace hearth
