#pragma once
#include "../../formats/half.hpp"

/** The primitives of the shared kernels, one float at a time, without vector instructions. */
namespace hearth {
namespace {

struct PortableSimd {
  using Floats = float;
  static constexpr std::size_t width = 1;
  static constexpr std::size_t tileRows = 4;
  static constexpr std::size_t floatStreams = 4;
  /** FewTokens::most of floats. */
  static constexpr std::size_t mostFloatTokens = 7;

  static Floats load(const float* p) {
    // Weights of a file may be unaligned.
    Floats v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(float* p, Floats v) { *p = v; }
  static Floats loadHalf(const std::uint8_t* p) { return hearth::loadHalf(p); }
  static void storeHalf(std::uint8_t* p, Floats v) {
    const std::uint16_t half = floatToHalf(v);
    __builtin_memcpy(p, &half, sizeof half);
  }
  static Floats loadBf16(const std::uint8_t* p) { return bf16ToFloat(load16(p)); }
  /** Signed bytes. */
  static Floats loadBytes(const std::uint8_t* p) { return static_cast<float>(static_cast<std::int8_t>(*p)); }
  /** The low or the high four bits of bytes, less 8. */
  static Floats loadLowNibbles(const std::uint8_t* p) { return static_cast<float>((*p & 15) - 8); }
  static Floats loadHighNibbles(const std::uint8_t* p) { return static_cast<float>((*p >> 4) - 8); }
  static Floats set(float v) { return v; }
  static Floats add(Floats a, Floats b) { return a + b; }
  static Floats subtract(Floats a, Floats b) { return a - b; }
  static Floats multiply(Floats a, Floats b) { return a * b; }
  static Floats divide(Floats a, Floats b) { return a / b; }
  static Floats multiplyAdd(Floats a, Floats b, Floats c) { return a * b + c; }
  static Floats maximum(Floats a, Floats b) { return a > b ? a : b; }
  static Floats minimum(Floats a, Floats b) { return a < b ? a : b; }
  /** 2^n for integral n in [−126, 127]. */
  static Floats powerOfTwo(Floats n) {
    // By bits rather than by conversion, which is undefined for NaN.
    return bitsToFloat((floatToBits(n + 12582912.0f) + 127) << 23);
  }
  static float sum(Floats v) { return v; }
  static float largest(Floats v) { return v; }

  /** The sum of the products of four bytes with four bytes. */
  using Integers = std::int32_t;
  static Integers setBytes(int value) { return value * 0x01010101; }
  static Integers dotBytes(Integers sum, Integers a, Integers b) {
    for (int byte = 0; byte < 32; byte += 8) sum += (a >> byte & 127) * (b >> byte & 127);
    // Otherwise the compiler would optimise away the loop that measures this.
    asm volatile("" : "+r"(sum));
    return sum;
  }
  static std::int32_t anyLane(Integers sum) { return sum; }

  /**
   * Lanes whose sum is Σ over groups of 16 of scales[group]·Σ weights·(128·high + low); `count` is a multiple of 32.
   */
  static Floats dotGroups(const std::int8_t* weights, const std::int8_t* high, const std::int8_t* low,
                          const std::int8_t* scales, std::size_t count) {
    std::int32_t sums[2]{};
    for (std::size_t group = 0; group < count / 16; group++) {
      std::int32_t dots[2]{};
      for (std::size_t i = 16 * group; i < 16 * group + 16; i++) {
        dots[0] += weights[i] * high[i];
        dots[1] += weights[i] * low[i];
      }
      for (int term = 0; term < 2; term++) sums[term] += scales[group] * dots[term];
    }
    return 128.0f * static_cast<float>(sums[0]) + static_cast<float>(sums[1]);
  }
};

}  // namespace
}  // namespace hearth
