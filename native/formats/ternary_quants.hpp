#pragma once
#include "unpacked.hpp"

/** The ternary formats: weights −d, 0 and d. */
namespace hearth {
namespace {

/** `Bytes` bytes with `Count` ternary digits each, the n-th digits of all before the next: see TQ1_0 of engine/gguf. */
template <int Bytes, int Count>
inline void unpackTernary(const std::uint8_t* packed, std::int8_t* quants) {
  constexpr int width = Bytes < 16 ? Bytes : 16;
  for (int begin = 0; begin < Bytes; begin += width) {
    Sixteen rest{};
    __builtin_memcpy(&rest, packed + begin, width);
    for (int n = 0; n < Count; n++) {
      // The digit is the upper byte of the product, the rest the lower one. Comparisons give −1 for true.
      const Sixteen digits = -static_cast<Sixteen>(rest > 85) - static_cast<Sixteen>(rest > 170) - 1;
      __builtin_memcpy(quants + Bytes * n + begin, &digits, width);
      rest = rest + rest + rest;
    }
  }
}

template <>
inline void unpack<Type::TQ1_0>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block + 52);
  out.minimum = 0;
  setScales(out, 1, 0);
  unpackTernary<32, 5>(block, out.quants);
  unpackTernary<16, 5>(block + 32, out.quants + 160);
  unpackTernary<4, 4>(block + 48, out.quants + 240);
}

template <>
inline void unpack<Type::TQ2_0>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block + 64);
  out.minimum = 0;
  setScales(out, 1, 0);
  for (int chunk = 0; chunk < 8; chunk++) {
    for (int j = 0; j < 32; j++) {
      const int quant = block[chunk / 4 * 32 + j] >> (chunk % 4 * 2) & 3;
      out.quants[32 * chunk + j] = static_cast<std::int8_t>(quant - 1);
    }
  }
}

}  // namespace
}  // namespace hearth
