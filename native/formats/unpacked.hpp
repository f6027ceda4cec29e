#pragma once
#include "formats.hpp"
#include "half.hpp"

#if defined(__SSSE3__)
#include <tmmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/**
 * A quantized block taken apart: weight i is
 *   scale·scales[i/16]·quants[i] − minimum·minimums[i/16],
 * each product rounded to single precision as ggml's dequantization rounds it. The layouts are public facts of the file
 * format; engine/gguf/formats describes what each byte means. In an unnamed namespace because every instruction set
 * compiles its own copy.
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

/** Takes a block of format T apart; each quantized format has a specialisation in one of the files below. */
template <Type T>
void unpack(const std::uint8_t* block, Unpacked<formatOf(T).block>& out) = delete;

template <std::size_t N>
inline void setScales(Unpacked<N>& out, std::int8_t scale, std::uint8_t minimum) {
  for (std::size_t group = 0; group < N / 16; group++) {
    out.scales[group] = scale;
    out.minimums[group] = minimum;
  }
}

/** The scale of the 32 weights of a group, in a format without minimums. */
inline void setGroup(Unpacked<256>& out, int group, int scale) {
  for (int half = 0; half < 2; half++) {
    out.scales[2 * group + half] = static_cast<std::int8_t>(scale);
    out.minimums[2 * group + half] = 0;
  }
}

/** Sixteen bytes in a register: compilers would process loops over them byte by byte, which is ten times slower. */
using Sixteen = std::uint8_t __attribute__((vector_size(16)));

/** table[index] of sixteen indexes from 0 to 15, by one instruction where there is one. */
inline Sixteen lookUp(const std::int8_t (&table)[16], Sixteen index) {
  Sixteen levels;
  __builtin_memcpy(&levels, table, sizeof levels);
#if defined(__SSSE3__)
  return reinterpret_cast<Sixteen>(
      _mm_shuffle_epi8(reinterpret_cast<__m128i>(levels), reinterpret_cast<__m128i>(index)));
#elif defined(__aarch64__)
  return reinterpret_cast<Sixteen>(
      vqtbl1q_u8(reinterpret_cast<uint8x16_t>(levels), reinterpret_cast<uint8x16_t>(index)));
#else
  Sixteen found{};
  for (int i = 0; i < 16; i++) found[i] = levels[index[i]];
  return found;
#endif
}

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

/** 32 quants, the low nibbles before the high ones. */
inline void storeHalves(Sixteen low, Sixteen high, std::int8_t* quants) {
  __builtin_memcpy(quants, &low, sizeof low);
  __builtin_memcpy(quants + 16, &high, sizeof high);
}

}  // namespace
}  // namespace hearth
