#pragma once
#include "half.hpp"
#include "type.hpp"

/**
 * The quantized blocks taken apart: weight i of a block is
 *   scale·scales[i/16]·quants[i] − minimum·minimums[i/16],
 * each product rounded to single precision as ggml's dequantization rounds it. The layouts are public facts of the file
 * format; engine/gguf describes what each byte means. In an unnamed namespace because every instruction set compiles
 * its own copy.
 */
namespace hearth {
namespace {

template <std::size_t N>
struct Unpacked {
  std::int8_t quants[N];
  std::int8_t scales[N / 16];
  std::uint8_t minimums[N / 16];
  float scale;
  float minimum;
};

template <std::size_t N>
inline void setScales(Unpacked<N>& out, std::int8_t scale, std::uint8_t minimum) {
  for (std::size_t group = 0; group < N / 16; group++) {
    out.scales[group] = scale;
    out.minimums[group] = minimum;
  }
}

/** quants[32·chunk + i] = weight(chunk, i) for all of a superblock; a chunk's shifts are constants to the compiler. */
template <class F>
inline void forChunks(Unpacked<256>& out, F weight) {
#if defined(__clang__)
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 8
#endif
  for (int chunk = 0; chunk < 8; chunk++) {
    for (int i = 0; i < 32; i++) out.quants[32 * chunk + i] = static_cast<std::int8_t>(weight(chunk, i));
  }
}

inline constexpr std::int8_t iq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

inline void unpackQ8_0(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  setScales(out, 1, 0);
  __builtin_memcpy(out.quants, block + 2, 32);
}

/** Sixteen bytes in a register: from loops compilers would take them apart one by one, which is ten times slower. */
using Sixteen = std::uint8_t __attribute__((vector_size(16)));

struct Nibbles {
  Sixteen low;
  Sixteen high;
};

/** Sixteen packed bytes as 32 numbers, the low nibbles before the high ones. */
inline Nibbles nibblesAt(const std::uint8_t* packed) {
  Sixteen bytes;
  __builtin_memcpy(&bytes, packed, sizeof bytes);
  return {bytes & 15, bytes >> 4};
}

inline void storeHalves(Sixteen low, Sixteen high, Unpacked<32>& out) {
  __builtin_memcpy(out.quants, &low, sizeof low);
  __builtin_memcpy(out.quants + 16, &high, sizeof high);
}

inline void unpackQ4_0(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  setScales(out, 1, 0);
  const Nibbles nibbles = nibblesAt(block + 2);
  storeHalves(nibbles.low - 8, nibbles.high - 8, out);
}

inline void unpackIQ4_NL(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  setScales(out, 1, 0);
  const Nibbles nibbles = nibblesAt(block + 2);
  for (int i = 0; i < 16; i++) {
    out.quants[i] = iq4Values[nibbles.low[i]];
    out.quants[i + 16] = iq4Values[nibbles.high[i]];
  }
}

/** Bit i of two bytes as byte i, 16 or 0. */
inline Sixteen fifthBits(const std::uint8_t* high) {
  constexpr Sixteen bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  Sixteen bytes{};
  for (int i = 0; i < 16; i++) bytes[i] = high[i / 8];
  return static_cast<Sixteen>((bytes & bit) != 0) & 16;
}

/** Low four bits from packed nibbles, the fifth from bit i of `high`. */
inline void unpackFiveBits(const std::uint8_t* packed, const std::uint8_t* high, std::uint8_t offset,
                           Unpacked<32>& out) {
  const Nibbles nibbles = nibblesAt(packed);
  storeHalves((nibbles.low | fifthBits(high)) - offset, (nibbles.high | fifthBits(high + 2)) - offset, out);
}

inline void unpackQ5_0(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = 0;
  setScales(out, 1, 0);
  unpackFiveBits(block + 6, block + 2, 16, out);
}

inline void unpackQ5_1(const std::uint8_t* block, Unpacked<32>& out) {
  out.scale = loadHalf(block);
  out.minimum = -loadHalf(block + 2);
  setScales(out, 1, 1);
  unpackFiveBits(block + 8, block + 4, 0, out);
}

inline void unpackQ2_K(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block + 80);
  out.minimum = loadHalf(block + 82);
  for (int group = 0; group < 16; group++) {
    out.scales[group] = static_cast<std::int8_t>(block[group] & 15);
    out.minimums[group] = block[group] >> 4;
  }
  forChunks(out, [block](int chunk, int i) { return block[16 + chunk / 4 * 32 + i] >> (chunk % 4 * 2) & 3; });
}

inline void unpackQ3_K(const std::uint8_t* block, Unpacked<256>& out) {
  const std::uint8_t* quants = block + 32;
  const std::uint8_t* packed = block + 96;
  out.scale = loadHalf(block + 108);
  out.minimum = 0;
  for (int group = 0; group < 16; group++) {
    const int low = group < 8 ? packed[group] & 15 : packed[group - 8] >> 4;
    const int high = packed[8 + group % 4] >> (group / 4 * 2) & 3;
    out.scales[group] = static_cast<std::int8_t>((low | high << 4) - 32);
    out.minimums[group] = 0;
  }
  forChunks(out, [block, quants](int chunk, int i) {
    const int low = quants[chunk / 4 * 32 + i] >> (chunk % 4 * 2) & 3;
    return (low | (block[i] >> chunk & 1) << 2) - 4;
  });
}

/** Eight 6-bit scales and eight 6-bit minimums in the twelve bytes of Q4_K and Q5_K, each for 32 weights. */
inline void unpackSixBitScales(const std::uint8_t* packed, Unpacked<256>& out) {
  for (int group = 0; group < 8; group++) {
    int scale = 0;
    int minimum = 0;
    if (group < 4) {
      scale = packed[group] & 63;
      minimum = packed[group + 4] & 63;
    } else {
      scale = (packed[group + 4] & 15) | packed[group - 4] >> 6 << 4;
      minimum = packed[group + 4] >> 4 | packed[group] >> 6 << 4;
    }
    for (int half = 0; half < 2; half++) {
      out.scales[2 * group + half] = static_cast<std::int8_t>(scale);
      out.minimums[2 * group + half] = static_cast<std::uint8_t>(minimum);
    }
  }
}

inline void unpackQ4_K(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block);
  out.minimum = loadHalf(block + 2);
  unpackSixBitScales(block + 4, out);
  forChunks(out, [block](int chunk, int i) { return block[16 + chunk / 2 * 32 + i] >> (chunk % 2 * 4) & 15; });
}

inline void unpackQ5_K(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block);
  out.minimum = loadHalf(block + 2);
  unpackSixBitScales(block + 4, out);
  forChunks(out, [block](int chunk, int i) {
    const int low = block[48 + chunk / 2 * 32 + i] >> (chunk % 2 * 4) & 15;
    return low | (block[16 + i] >> chunk & 1) << 4;
  });
}

inline void unpackQ6_K(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block + 208);
  out.minimum = 0;
  for (int group = 0; group < 16; group++) {
    out.scales[group] = static_cast<std::int8_t>(block[192 + group]);
    out.minimums[group] = 0;
  }
  forChunks(out, [block](int chunk, int i) {
    const int low = block[chunk / 4 * 64 + chunk % 2 * 32 + i] >> (chunk % 4 / 2 * 4) & 15;
    const int high = block[128 + chunk / 4 * 32 + i] >> (chunk % 4 * 2) & 3;
    return (low | high << 4) - 32;
  });
}

/** The right function for a format known at compile time. */
template <Type T>
inline void unpack(const std::uint8_t* block, Unpacked<formatOf(T).block>& out) {
  if constexpr (T == Type::Q8_0) unpackQ8_0(block, out);
  if constexpr (T == Type::Q4_0) unpackQ4_0(block, out);
  if constexpr (T == Type::Q5_0) unpackQ5_0(block, out);
  if constexpr (T == Type::Q5_1) unpackQ5_1(block, out);
  if constexpr (T == Type::IQ4_NL) unpackIQ4_NL(block, out);
  if constexpr (T == Type::Q2_K) unpackQ2_K(block, out);
  if constexpr (T == Type::Q3_K) unpackQ3_K(block, out);
  if constexpr (T == Type::Q4_K) unpackQ4_K(block, out);
  if constexpr (T == Type::Q5_K) unpackQ5_K(block, out);
  if constexpr (T == Type::Q6_K) unpackQ6_K(block, out);
}

}  // namespace
}  // namespace hearth
