#pragma once
#include "../../formats/formats.hpp"
#include "simd.hpp"

/**
 * The order in which kernels for few tokens have weights. Columns are taken in units of 256: a superblock, or eight
 * blocks of 32. Four registers hold the weights of a unit. Their dot products are added to the same 16 sums of integers:
 * of every group of 32 weights each register has eight, for two sums; of every group of 16, four for one.
 */
namespace hearth {
namespace {

inline constexpr std::size_t unitColumns = 256;

/**
 * Rows that a unit holds side by side: several of those up to 128 columns wide. What they are multiplied with is
 * repeated, and each has its lanes of the sums (NarrowRows). A program gives kernels multiples of eight rows.
 */
constexpr std::size_t rowsPerUnit(std::size_t columns) {
  if (columns <= unitColumns / 4) return 4;
  return columns <= unitColumns / 2 ? 2 : 1;
}
inline constexpr std::size_t mostRowsPerUnit = rowsPerUnit(32);

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

/** Whether halves of a byte are weights 16 apart. */
constexpr bool isNibblePair(Type type) {
  return type == Type::IQ4_XS || (formatOf(type).block == 32 && type != Type::Q8_0);
}

/** Whether all weights are pairs of bits, of which every byte has those of four chunks. */
constexpr bool isPairs(Type type) { return type == Type::Q2_K || type == Type::TQ2_0; }

/** The chunk of 32 weights of which two sums are in each eighth of a register. */
constexpr ChunkOrder unitOrder(Type type) {
  if (isPairs(type) || type == Type::TQ1_0) return {{0, 1, 2, 3, 4, 5, 6, 7}};
  if (type == Type::Q4_K || type == Type::Q5_K) return {{0, 2, 4, 6, 1, 3, 5, 7}};
  if (isNibblePair(type)) return {{0, 4, 1, 5, 2, 6, 3, 7}};
  const ChunkOrder order = chunkOrder(type);
  const std::uint8_t(&chunk)[8] = order.chunk;
  return {{chunk[0], chunk[2], chunk[1], chunk[3], chunk[4], chunk[6], chunk[5], chunk[7]}};
}

/** The groups of a unit's sums, and the first columns of the fours of weights of which they are sums. */
struct UnitOrder {
  alignas(64) std::int32_t groups[16];
  std::uint8_t columns[4][16];
};
constexpr UnitOrder orderOf(Type type) {
  UnitOrder order{};
  for (std::size_t sum = 0; sum < 16; sum++) {
    std::size_t first = 32 * unitOrder(type).chunk[sum / 2] + 4 * (sum % 2);
    std::size_t step = 8;
    if (scaleWeights(type) == 16 && isPairs(type)) {
      first = 16 * sum;
      step = 4;
    } else if (scaleWeights(type) == 16) {
      // Sums of the four registers by turns; each has four groups.
      const std::size_t group = sum / 4;
      first = std::size_t{32} * chunkOrder(type).chunk[2 * (sum % 4) + group / 2] + 16 * (group % 2);
      step = 4;
    }
    order.groups[sum] = static_cast<std::int32_t>(first / scaleWeights(type));
    for (std::size_t part = 0; part < 4; part++) order.columns[part][sum] = static_cast<std::uint8_t>(first + part * step);
  }
  return order;
}

/**
 * The groups of the lanes of two units' sums, one of each: by turns two of the first unit and two of the second, whose
 * groups are 8 to 15. For formats with groups of 32 weights.
 */
struct PairOrder {
  alignas(64) std::int32_t groups[16];
};
constexpr PairOrder pairOrder(Type type) {
  PairOrder order{};
  for (std::size_t lane = 0; lane < 16; lane++) {
    order.groups[lane] = unitOrder(type).chunk[lane / 4 * 2 + lane % 2] + (lane % 4 < 2 ? 0 : 8);
  }
  return order;
}

/** Floats of the groups of a unit: eight or sixteen. */
template <std::size_t Groups>
struct GroupFloats;

template <>
struct GroupFloats<8> {
  __m256 values = _mm256_setzero_ps();

  static GroupFloats load(const float* from) { return {_mm256_loadu_ps(from)}; }
  static GroupFloats all(float value) { return {_mm256_set1_ps(value)}; }
  [[nodiscard]] GroupFloats first(std::size_t count) const {
    return {_mm256_maskz_mov_ps(static_cast<__mmask8>((1u << count) - 1), values)};
  }
  [[nodiscard]] GroupFloats times(GroupFloats b) const { return {_mm256_mul_ps(values, b.values)}; }
  void addProduct(GroupFloats a, GroupFloats b) { values = _mm256_fmadd_ps(a.values, b.values, values); }
  [[nodiscard]] __m512 wide() const { return _mm512_zextps256_ps512(values); }
  /** The value of its group for every sum of a unit. */
  [[nodiscard]] __m512 spread(__m512i groups) const {
    return _mm512_permutexvar_ps(groups, _mm512_castps256_ps512(values));
  }
};

template <>
struct GroupFloats<16> {
  __m512 values = _mm512_setzero_ps();

  static GroupFloats load(const float* from) { return {_mm512_loadu_ps(from)}; }
  static GroupFloats all(float value) { return {_mm512_set1_ps(value)}; }
  [[nodiscard]] GroupFloats first(std::size_t count) const {
    return {_mm512_maskz_mov_ps(static_cast<__mmask16>((1u << count) - 1), values)};
  }
  [[nodiscard]] GroupFloats times(GroupFloats b) const { return {_mm512_mul_ps(values, b.values)}; }
  void addProduct(GroupFloats a, GroupFloats b) { values = _mm512_fmadd_ps(a.values, b.values, values); }
  [[nodiscard]] __m512 wide() const { return values; }
  [[nodiscard]] __m512 spread(__m512i groups) const { return _mm512_permutexvar_ps(groups, values); }
};

template <Type T>
using Groups = GroupFloats<unitGroups(T)>;

/** Factors of every group of a unit: its scale, and what is subtracted for every weight. */
template <Type T>
struct Factors {
  Groups<T> scales;
  Groups<T> minimums;

  /** Takes the other groups for zeros, whatever stands there. */
  void keepFirst(std::size_t groups) {
    scales = scales.first(groups);
    minimums = minimums.first(groups);
  }
};

/** Factors of a format without minimums; its zero points are multiples of its scales. */
template <Type T>
inline Factors<T> aboveZero(Groups<T> scales) {
  return {scales, scales.times(Groups<T>::all(static_cast<float>(formatOf(T).zeroPoint)))};
}

}  // namespace
}  // namespace hearth
