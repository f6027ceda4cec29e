#pragma once
#include "../../formats/half.hpp"
#include "../../formats/type.hpp"

/**
 * Activations rounded to 8 bits as llama.cpp rounds them, so that its results are met closely:
 * - for formats of 32 weights per block: scale = max|x|/127 of 32 values, kept in half precision;
 * - for superblocks: scale = 1/(127/max|x|) of 256 values, kept in single precision.
 * Ties go to even. A NaN or infinity makes the scale NaN or infinite, and so the result.
 */
namespace hearth {
namespace {

constexpr std::size_t roundUp64(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
constexpr std::size_t scaleGroup(Type type) { return isSuperblock(type) ? 256 : 32; }

/** Value that a block's unsigned quants stand above zero by; kernels that multiply unsigned by signed correct for it. */
constexpr int quantOffset(Type type) {
  switch (type) {
    case Type::Q8_0:
    case Type::IQ4_NL:
      return 128;
    case Type::Q6_K:
      return 32;
    case Type::Q5_0:
      return 16;
    case Type::Q4_0:
      return 8;
    case Type::Q3_K:
      return 4;
    default:
      return 0;
  }
}

/** Where one token's rounded activations lie. */
struct Activations {
  std::int8_t* quants;
  /** One per scaleGroup. */
  float* scales;
  /** Σ quants of every 16. */
  std::int16_t* sums;
  /** Σ quants of every 32. */
  std::int16_t* pairSums;
  /** −quantOffset·Σ quants of every 4: the correction, in the lane in which a four-byte dot product adds it. */
  std::int32_t* corrections;
};

inline std::size_t quantizedActivationBytes(std::size_t columns) {
  return roundUp64(columns) + roundUp64(columns / 32 * 4) + roundUp64(columns / 16 * 2) + roundUp64(columns / 32 * 2) +
         roundUp64(columns);
}

template <class Byte>
inline Activations activationsAt(Byte* base, std::size_t columns) {
  auto* bytes = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(base));
  Activations parts{};
  parts.quants = reinterpret_cast<std::int8_t*>(bytes);
  bytes += roundUp64(columns);
  parts.scales = reinterpret_cast<float*>(bytes);
  bytes += roundUp64(columns / 32 * 4);
  parts.sums = reinterpret_cast<std::int16_t*>(bytes);
  bytes += roundUp64(columns / 16 * 2);
  parts.pairSums = reinterpret_cast<std::int16_t*>(bytes);
  bytes += roundUp64(columns / 32 * 2);
  parts.corrections = reinterpret_cast<std::int32_t*>(bytes);
  return parts;
}

/** Rounds to the nearest integer, ties to even, for |value| < 2^22; any bits for NaN, but never undefined behaviour. */
inline std::int32_t roundToEven(float value) {
  return static_cast<std::int32_t>((floatToBits(value + 12582912.0f) & 0x007fffffu)) - 0x00400000;
}

inline void quantizeGroup(const float* x, std::size_t count, bool superblock, std::int8_t* quants, float& scale) {
  // The largest absolute value as an integer: among bits without sign NaN is above infinity, and so isn't lost.
  std::int32_t largestBits = 0;
  for (std::size_t i = 0; i < count; i++) {
    const auto bits = static_cast<std::int32_t>(floatToBits(x[i]) & 0x7fffffffu);
    largestBits = bits > largestBits ? bits : largestBits;
  }
  const float largest = bitsToFloat(static_cast<std::uint32_t>(largestBits));
  float inverse = 0;
  if (superblock) {
    inverse = largest == 0 ? 0 : 127.0f / largest;
    scale = largest == 0 ? 0 : 1 / inverse;
  } else {
    const float exact = largest / 127.0f;
    inverse = exact == 0 ? 0 : 1 / exact;
    scale = halfToFloat(floatToHalf(exact));
  }
  for (std::size_t i = 0; i < count; i++) {
    std::int32_t quant = roundToEven(x[i] * inverse);
    quant = quant < -127 ? -127 : quant;
    quants[i] = static_cast<std::int8_t>(quant > 127 ? 127 : quant);
  }
}

template <bool Corrections>
inline void quantizeActivations(Type type, const float* x, std::size_t columns, std::byte* out) {
  const Activations parts = activationsAt(out, columns);
  const std::size_t group = scaleGroup(type);
  if (group == 256) {
    for (std::size_t i = 0; i < columns / 256; i++) {
      quantizeGroup(x + 256 * i, 256, true, parts.quants + 256 * i, parts.scales[i]);
    }
  } else {
    for (std::size_t i = 0; i < columns / 32; i++) {
      quantizeGroup(x + 32 * i, 32, false, parts.quants + 32 * i, parts.scales[i]);
    }
  }
  for (std::size_t i = 0; i < columns / 16; i++) {
    std::int32_t sum = 0;
    for (std::size_t j = 0; j < 16; j++) sum += parts.quants[16 * i + j];
    parts.sums[i] = static_cast<std::int16_t>(sum);
  }
  for (std::size_t i = 0; i < columns / 32; i++) {
    parts.pairSums[i] = static_cast<std::int16_t>(parts.sums[2 * i] + parts.sums[2 * i + 1]);
  }
  if constexpr (Corrections) {
    const int offset = quantOffset(type);
    for (std::size_t i = 0; i < columns / 4; i++) {
      const std::int8_t* four = parts.quants + 4 * i;
      parts.corrections[i] = -offset * (four[0] + four[1] + four[2] + four[3]);
    }
  }
}

}  // namespace
}  // namespace hearth
