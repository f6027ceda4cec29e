#pragma once
#include "unpacked.hpp"

/** The K-quants: superblocks of 256 weights, in groups of 16 or 32 with integer scales and minimums of their own. */
namespace hearth {
namespace {

/** quants[32·chunk + i] = weight(chunk, i) for a whole superblock; unrolled, so that a chunk's shifts are constants. */
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

template <>
inline void unpack<Type::Q2_K>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block + 80);
  out.minimum = loadHalf(block + 82);
  for (int group = 0; group < 16; group++) {
    out.scales[group] = static_cast<std::int8_t>(block[group] & 15);
    out.minimums[group] = block[group] >> 4;
  }
  forChunks(out, [block](int chunk, int i) { return block[16 + chunk / 4 * 32 + i] >> (chunk % 4 * 2) & 3; });
}

template <>
inline void unpack<Type::Q3_K>(const std::uint8_t* block, Unpacked<256>& out) {
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

template <>
inline void unpack<Type::Q4_K>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block);
  out.minimum = loadHalf(block + 2);
  unpackSixBitScales(block + 4, out);
  forChunks(out, [block](int chunk, int i) { return block[16 + chunk / 2 * 32 + i] >> (chunk % 2 * 4) & 15; });
}

template <>
inline void unpack<Type::Q5_K>(const std::uint8_t* block, Unpacked<256>& out) {
  out.scale = loadHalf(block);
  out.minimum = loadHalf(block + 2);
  unpackSixBitScales(block + 4, out);
  forChunks(out, [block](int chunk, int i) {
    const int low = block[48 + chunk / 2 * 32 + i] >> (chunk % 2 * 4) & 15;
    return low | (block[16 + i] >> chunk & 1) << 4;
  });
}

template <>
inline void unpack<Type::Q6_K>(const std::uint8_t* block, Unpacked<256>& out) {
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

}  // namespace
}  // namespace hearth
