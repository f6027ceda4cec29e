#pragma once
#include "unpacked.hpp"

/** The formats older than the K-quants: 32 weights per block, with one scale and at most one minimum. */
namespace hearth {
namespace {

template <>
inline void unpack<Type::Q8_0>(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  setScales(out, 1, 0);
  __builtin_memcpy(out.quants, block + 2, 32);
}

template <>
inline void unpack<Type::Q4_0>(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  setScales(out, 1, 0);
  const Nibbles nibbles = nibblesAt(block + 2);
  storeHalves(nibbles.low - 8, nibbles.high - 8, out.quants);
}

/** The file stores the smallest value, which is added: its negative is the minimum that is subtracted. */
template <>
inline void unpack<Type::Q4_1>(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = -loadHalf(block + 2);
  setScales(out, 1, 1);
  const Nibbles nibbles = nibblesAt(block + 4);
  storeHalves(nibbles.low, nibbles.high, out.quants);
}

/** Bit i of two bytes as byte i, 16 or 0. */
inline Sixteen fifthBits(const std::uint8_t* high) {
  constexpr Sixteen bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  Sixteen bytes{};
  for (int i = 0; i < 16; i++) bytes[i] = high[i / 8];
  return static_cast<Sixteen>((bytes & bit) != 0) & 16;
}

/** Low four bits from packed nibbles, the fifth from bit i of `high`. */
inline void unpackFiveBits(const std::uint8_t* packed, const std::uint8_t* high, std::uint8_t zeroPoint,
                           Unpacked<32>& out) {
  const Nibbles nibbles = nibblesAt(packed);
  storeHalves((nibbles.low | fifthBits(high)) - zeroPoint, (nibbles.high | fifthBits(high + 2)) - zeroPoint,
              out.quants);
}

template <>
inline void unpack<Type::Q5_0>(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  setScales(out, 1, 0);
  unpackFiveBits(block + 6, block + 2, 16, out);
}

/** As for Q4_1, the smallest value is added. */
template <>
inline void unpack<Type::Q5_1>(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = -loadHalf(block + 2);
  setScales(out, 1, 1);
  unpackFiveBits(block + 8, block + 4, 0, out);
}

}  // namespace
}  // namespace hearth
