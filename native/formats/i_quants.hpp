#pragma once
#include "unpacked.hpp"

/** The I-quants: each quant is an index into a table of levels. */
namespace hearth {
namespace {

inline constexpr std::int8_t iq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/** 32 levels from sixteen packed bytes. */
inline void unpackLevels(const std::int8_t (&levels)[16], const std::uint8_t* packed, std::int8_t* quants) {
  const Nibbles nibbles = nibblesAt(packed);
  storeHalves(lookUp(levels, nibbles.low), lookUp(levels, nibbles.high), quants);
}

template <>
inline void unpack<Type::IQ4_NL>(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  setScales(out, 1, 0);
  unpackLevels(iq4Levels, block + 2, out.quants);
}

template <>
inline void unpack<Type::IQ4_XS>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  for (int group = 0; group < 8; group++) {
    const int low = block[4 + group / 2] >> (group % 2 * 4) & 15;
    const int high = block[2 + group / 4] >> (group % 4 * 2) & 3;
    setGroup(out, group, (low | high << 4) - 32);
    unpackLevels(iq4Levels, block + 8 + 16 * group, out.quants + 32 * group);
  }
}

/** Twice the numbers of two bits of exponent and one of fraction (E2M1), so that they are whole. */
inline constexpr std::int8_t fp4Levels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/** Half of the power of two that a byte stands for (E8M0), as levels are doubled: 2^(bits − 128), exactly. */
inline float halfPowerOfTwo(std::uint8_t bits) {
  return bitsToFloat(bits < 2 ? 0x00200000u << bits : static_cast<std::uint32_t>(bits - 1) << 23);
}

template <>
inline void unpack<Type::MXFP4>(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = halfPowerOfTwo(block[0]);
  out.minimum = 0;
  setScales(out, 1, 0);
  unpackLevels(fp4Levels, block + 1, out.quants);
}

}  // namespace
}  // namespace hearth
