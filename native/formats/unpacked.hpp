#pragma once
#include "formats.hpp"
#include "half.hpp"

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

/** Sixteen bytes in a register: compilers would process loops over them byte by byte, which is ten times slower. */
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

}  // namespace
}  // namespace hearth
