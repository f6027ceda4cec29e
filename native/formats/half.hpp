#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

/**
 * Half precision (IEEE binary16) and bfloat16 to single precision and back, exactly, subnormals included.
 * In an unnamed namespace because every instruction set compiles its own copy.
 */
namespace hearth {
namespace {

inline float bitsToFloat(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline std::uint32_t floatToBits(float value) { return __builtin_bit_cast(std::uint32_t, value); }

inline float halfToFloat(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t rest = half & 0x7fffu;
  if (rest >= 0x7c00u) {
    // Like the hardware, this makes a signalling NaN quiet.
    const std::uint32_t quiet = rest > 0x7c00u ? 0x00400000u : 0u;
    return bitsToFloat(sign | 0x7f800000u | (rest & 0x3ffu) << 13 | quiet);
  }
  // The bits, shifted to their place in single precision, times 2^112: the multiplication normalises subnormals.
  return bitsToFloat(sign | floatToBits(bitsToFloat(rest << 13) * 0x1p112f));
}

/** Rounds to nearest, ties to even; overflow gives infinity. */
inline std::uint16_t floatToHalf(float value) {
  const std::uint32_t bits = floatToBits(value);
  const std::uint16_t sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | (rest >> 13 & 0x1ffu));
  if (rest >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (rest < 0x38800000u) {
    // Subnormal: adding 0.5 rounds, and leaves the half's bits at the end of the mantissa.
    const float shifted = bitsToFloat(rest) + 0.5f;
    return static_cast<std::uint16_t>(sign | (floatToBits(shifted) - 0x3f000000u));
  }
  const std::uint32_t odd = rest >> 13 & 1u;
  return static_cast<std::uint16_t>(sign | ((rest - 0x38000000u + 0xfffu + odd) >> 13));
}

inline float bf16ToFloat(std::uint16_t bits) { return bitsToFloat(static_cast<std::uint32_t>(bits) << 16); }

/** Unaligned little-endian reads of a file's bytes. */
inline std::uint16_t load16(const std::uint8_t* bytes) {
  std::uint16_t value;
  __builtin_memcpy(&value, bytes, sizeof value);
  return value;
}
inline std::uint32_t load32(const std::uint8_t* bytes) {
  std::uint32_t value;
  __builtin_memcpy(&value, bytes, sizeof value);
  return value;
}
inline float loadHalf(const std::uint8_t* bytes) { return halfToFloat(load16(bytes)); }

}  // namespace
}  // namespace hearth
