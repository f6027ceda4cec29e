#pragma once
#include "unpacked.hpp"

/** The I-quants: each quant is an index into a table of levels. */
namespace hearth {
namespace {

inline constexpr std::int8_t iq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

template <>
inline void unpack<Type::IQ4_NL>(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  setScales(out, 1, 0);
  const Nibbles nibbles = nibblesAt(block + 2);
  for (int i = 0; i < 16; i++) {
    out.quants[i] = iq4Levels[nibbles.low[i]];
    out.quants[i + 16] = iq4Levels[nibbles.high[i]];
  }
}

}  // namespace
}  // namespace hearth
