#pragma once
#include "lattice_points.hpp"
#include "unpacked.hpp"

/**
 * The I-quants of less than four bits: several quants are a point of a lattice, stored as its number. A group's scale is
 * 2 s + 1 of a unit; those of IQ1_S and IQ1_M are in eighths, so that quants are whole numbers.
 */
namespace hearth {
namespace {

/** Eight signs from seven: the eighth makes the number of negative ones even. */
inline std::uint32_t evenSigns(std::uint32_t seven) {
  return seven | static_cast<std::uint32_t>(__builtin_parity(seven)) << 7;
}

/** Two numbers of eight bytes in a register: through memory, a load of both would wait for the two stores. */
inline Sixteen besides(std::uint64_t first, std::uint64_t second) {
  using Two = std::uint64_t __attribute__((vector_size(16)));
  return reinterpret_cast<Sixteen>(Two{first, second});
}

/** Sixteen quants, two points of eight values or four of four, from their magnitudes and signs. */
inline void storePoints(std::uint64_t first, std::uint64_t second, std::uint32_t signs, std::int8_t* quants) {
  constexpr Sixteen bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  constexpr std::uint64_t each = 0x0101010101010101u;
  const Sixteen spread = besides((signs & 255) * each, (signs >> 8) * each);
  const auto negative = static_cast<Sixteen>((spread & bit) == bit);
  const Sixteen result = (besides(first, second) ^ negative) - negative;
  __builtin_memcpy(quants, &result, sizeof result);
}
inline std::uint64_t twoPoints(std::uint32_t first, std::uint32_t second) {
  return first | std::uint64_t{second} << 32;
}

inline int oddScale(int s) { return 2 * s + 1; }

template <>
inline void unpack<Type::IQ2_XXS>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = 0.125f * loadHalf(block);
  out.minimum = 0;
  for (int group = 0; group < 8; group++) {
    const std::uint8_t* points = block + 2 + 8 * group;
    const std::uint32_t rest = load32(points + 4);
    setGroup(out, group, oddScale(static_cast<int>(rest >> 28)));
    for (int half = 0; half < 2; half++) {
      const std::uint32_t signs = evenSigns(rest >> (14 * half) & 127) | evenSigns(rest >> (14 * half + 7) & 127) << 8;
      storePoints(iq2XxsPoints[points[2 * half]], iq2XxsPoints[points[2 * half + 1]], signs,
                  out.quants + 32 * group + 16 * half);
    }
  }
}

template <>
inline void unpack<Type::IQ2_XS>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = 0.125f * loadHalf(block);
  out.minimum = 0;
  for (int group = 0; group < 16; group++) {
    const std::uint32_t first = load16(block + 2 + 4 * group);
    const std::uint32_t second = load16(block + 4 + 4 * group);
    out.scales[group] = static_cast<std::int8_t>(oddScale(block[66 + group / 2] >> (group % 2 * 4) & 15));
    out.minimums[group] = 0;
    storePoints(iq2XsPoints[first & 511], iq2XsPoints[second & 511],
                evenSigns(first >> 9) | evenSigns(second >> 9) << 8, out.quants + 16 * group);
  }
}

template <>
inline void unpack<Type::IQ2_S>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = 0.125f * loadHalf(block);
  out.minimum = 0;
  for (int group = 0; group < 16; group++) {
    const int high = block[66 + group / 2] >> (group % 2 * 4);
    const int first = block[2 + 2 * group] | (high & 3) << 8;
    const int second = block[3 + 2 * group] | (high >> 2 & 3) << 8;
    out.scales[group] = static_cast<std::int8_t>(oddScale(block[74 + group / 2] >> (group % 2 * 4) & 15));
    out.minimums[group] = 0;
    storePoints(iq2SPoints[first], iq2SPoints[second], load16(block + 34 + 2 * group), out.quants + 16 * group);
  }
}

template <>
inline void unpack<Type::IQ3_XXS>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = 0.25f * loadHalf(block);
  out.minimum = 0;
  for (int group = 0; group < 8; group++) {
    const std::uint32_t rest = load32(block + 66 + 4 * group);
    setGroup(out, group, oddScale(static_cast<int>(rest >> 28)));
    for (int half = 0; half < 2; half++) {
      const std::uint8_t* points = block + 2 + 8 * group + 4 * half;
      const std::uint32_t signs = evenSigns(rest >> (14 * half) & 127) | evenSigns(rest >> (14 * half + 7) & 127) << 8;
      storePoints(twoPoints(iq3XxsPoints[points[0]], iq3XxsPoints[points[1]]),
                  twoPoints(iq3XxsPoints[points[2]], iq3XxsPoints[points[3]]), signs,
                  out.quants + 32 * group + 16 * half);
    }
  }
}

template <>
inline void unpack<Type::IQ3_S>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  for (int group = 0; group < 8; group++) {
    setGroup(out, group, oddScale(block[106 + group / 2] >> (group % 2 * 4) & 15));
    for (int half = 0; half < 2; half++) {
      const std::uint8_t* points = block + 2 + 8 * group + 4 * half;
      const int high = block[66 + group] >> (4 * half);
      const auto at = [points, high](int i) { return iq3SPoints[points[i] | (high >> i & 1) << 8]; };
      storePoints(twoPoints(at(0), at(1)), twoPoints(at(2), at(3)), load16(block + 74 + 4 * group + 2 * half),
                  out.quants + 32 * group + 16 * half);
    }
  }
}

/** A point whose values are moved by one up or down, in all eight bytes at once. */
inline std::uint64_t moved(std::uint64_t point, bool down) {
  // The lower seven bits are added; in the eighth, bits of both and the carry.
  constexpr std::uint64_t sevens = 0x7f7f7f7f7f7f7f7fu;
  // Without a branch, which would be mispredicted.
  const std::uint64_t step = 0x0101010101010101u * (std::uint64_t{1} + 254 * std::uint64_t{down});
  return ((point & sevens) + (step & sevens)) ^ ((point ^ step) & ~sevens);
}

inline void storeMoved(std::uint64_t first, std::uint64_t second, std::int8_t* quants) {
  const Sixteen both = besides(first, second);
  __builtin_memcpy(quants, &both, sizeof both);
}

template <>
inline void unpack<Type::IQ1_S>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = 0.125f * loadHalf(block);
  out.minimum = 0;
  for (int group = 0; group < 8; group++) {
    const int rest = load16(block + 34 + 2 * group);
    setGroup(out, group, oddScale(rest >> 12 & 7));
    const auto point = [block, group, rest](int i) {
      return moved(iq1Points[block[2 + 4 * group + i] | (rest >> (3 * i) & 7) << 8], rest >> 15 != 0);
    };
    storeMoved(point(0), point(1), out.quants + 32 * group);
    storeMoved(point(2), point(3), out.quants + 32 * group + 16);
  }
}

/** The block's scale in half precision, four bits of which are at the end of each of four numbers of 16 bits. */
inline std::uint16_t scatteredHalf(const std::uint8_t* numbers) {
  return static_cast<std::uint16_t>(numbers[1] >> 4 | numbers[3] >> 4 << 4 | numbers[5] >> 4 << 8 |
                                    numbers[7] >> 4 << 12);
}

template <>
inline void unpack<Type::IQ1_M>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = 0.125f * halfToFloat(scatteredHalf(block + 48));
  out.minimum = 0;
  for (int group = 0; group < 16; group++) {
    const int scales = load16(block + 48 + group / 4 * 2);
    out.scales[group] = static_cast<std::int8_t>(oddScale(scales >> (group % 4 * 3) & 7));
    out.minimums[group] = 0;
    const auto point = [block, group](int i) {
      const int rest = block[32 + group] >> (4 * i) & 15;
      return moved(iq1Points[block[2 * group + i] | (rest & 7) << 8], (rest & 8) != 0);
    };
    storeMoved(point(0), point(1), out.quants + 16 * group);
  }
}

}  // namespace
}  // namespace hearth
