#pragma once
#include "../../formats/half.hpp"
#include "../../formats/formats.hpp"
#include "../table.hpp"

/**
 * Activations rounded to bytes, or to 15 bits.
 *
 * Rounding::byte: x = scale·high, 32 of them with a scale of max|x|/127; of superblocks times many tokens with AVX-512
 * that scale is the next of eight (avx512/quant_packs.hpp).
 *
 * Rounding::word: x = scale·(128·high + low), low from −64 to 63, two bytes each. 32 of them share a scale for formats
 * of 32 weights per block, 256 for superblocks: max|x|/16256 (127·128). The second byte costs a second dot product and
 * removes the rounding error from the result.
 *
 * Ties round to even. A NaN or infinity makes the scale, and so the result, NaN or infinite.
 *
 * NMSE of the logits against double precision, the largest of five quantized models and two prompts, with a KV cache in
 * F16: llama.cpp's rounding 3.2e-3 (8 bits, a scale for every 256 with superblocks); 8 bits with a scale for every 32
 * 1.6e-3, with one of eight scales 1.8e-3; 15 bits 3.3e-6, most of it from the cache: with a cache in F32 2.2e-7.
 */
namespace hearth {
namespace {

constexpr std::size_t roundUp64(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
constexpr std::size_t scaleGroup(Type type) { return isSuperblock(type) ? 256 : 32; }

/** The value of one step of the high byte, and the largest number that both bytes represent. */
inline constexpr std::int32_t highStep = 128;
inline constexpr std::int32_t largestQuant = 127 * highStep;
/** Activations below this count as zero: their inverse would overflow. */
inline constexpr float leastActivation = 1e-30f;

/** Activations that share a scale. */
constexpr std::size_t scaleGroup(Type type, Rounding rounding) {
  return rounding == Rounding::byte ? 32 : scaleGroup(type);
}

/** One token's rounded activations. */
struct Activations {
  std::int8_t* high;
  /** Lower bytes, with Rounding::word only. */
  std::int8_t* low;
  /** One per scaleGroup. */
  float* scales;
  /** Rounding::byte: the scales in the lanes of an instruction set's products, if it wants them so; 32 per 256. */
  float* laneScales;
  /** scale·Σ quants of every 16: the factors of minimums and zero points. */
  float* sums;
  /** scale·Σ quants of every 32. */
  float* pairSums;
  /** −zeroPoint·Σ quants of every 4: the correction, in the lane in which a four-byte dot product adds it. */
  std::int32_t* corrections;
};

inline std::size_t quantizedActivationBytes(std::size_t columns) {
  return 3 * roundUp64(columns) + 2 * roundUp64(columns / 32 * 4) + roundUp64(columns / 16 * 4) +
         roundUp64(columns / 8 * 4);
}

template <class Byte>
inline Activations activationsAt(Byte* base, std::size_t columns) {
  auto* bytes = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(base));
  const auto take = [&bytes](std::size_t count) {
    std::uint8_t* part = bytes;
    bytes += roundUp64(count);
    return part;
  };
  Activations parts{};
  parts.high = reinterpret_cast<std::int8_t*>(take(columns));
  parts.low = reinterpret_cast<std::int8_t*>(take(columns));
  parts.scales = reinterpret_cast<float*>(take(columns / 32 * 4));
  parts.sums = reinterpret_cast<float*>(take(columns / 16 * 4));
  parts.pairSums = reinterpret_cast<float*>(take(columns / 32 * 4));
  parts.corrections = reinterpret_cast<std::int32_t*>(take(columns));
  parts.laneScales = reinterpret_cast<float*>(take(columns / 8 * 4));
  return parts;
}

/** Tokens that a row, unpacked once, is multiplied with: their activations stay in the first-level cache. */
inline constexpr std::size_t tokensSideBySide = 4;

/**
 * All products, a few tokens at a time.
 * @param dotRow (row, distance in bytes of the row to prefetch, the tokens' activations, where their products go)
 */
template <class DotRow>
inline void byTokens(const Matvecs& p, const DotRow& dotRow, std::size_t stride) {
  std::size_t token = 0;
  const auto forAll = [&]<std::size_t Tokens>() {
    Activations x[Tokens];
    for (std::size_t t = 0; t < Tokens; t++) {
      x[t] = activationsAt(p.activations + (token + t) * p.activationBytes, p.rows.columns);
    }
    for (std::size_t r = 0; r < p.rows.count; r++) {
      dotRow(p.rows.data + r * stride, stride, x, p.out + token * p.outStride + r);
    }
    token += Tokens;
  };
  while (p.tokens - token >= tokensSideBySide) forAll.template operator()<tokensSideBySide>();
  if (p.tokens - token == 3) forAll.template operator()<3>();
  if (p.tokens - token == 2) forAll.template operator()<2>();
  if (p.tokens - token == 1) forAll.template operator()<1>();
}

/** Rounds to the nearest integer, ties to even, for |value| < 2^22; any bits for NaN, but never undefined behaviour. */
inline std::int32_t roundToEven(float value) {
  return static_cast<std::int32_t>((floatToBits(value + 12582912.0f) & 0x007fffffu)) - 0x00400000;
}

constexpr std::int32_t largestRounded(Rounding rounding) { return rounding == Rounding::byte ? 127 : largestQuant; }

/** The largest absolute value: found by its bits, among which NaN is above infinity and so isn't lost. */
inline float largestOf(const float* x, std::size_t count) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < count; i++) {
    const auto bits = static_cast<std::int32_t>(floatToBits(x[i]) & 0x7fffffffu);
    largest = bits > largest ? bits : largest;
  }
  return bitsToFloat(static_cast<std::uint32_t>(largest));
}

/** Rounds x·inverse to whole numbers from −most to most. */
inline void roundGroup(const float* x, std::size_t count, float inverse, std::int32_t most, std::int16_t* quants) {
  for (std::size_t i = 0; i < count; i++) {
    std::int32_t quant = roundToEven(x[i] * inverse);
    quant = quant < -most ? -most : quant;
    quants[i] = static_cast<std::int16_t>(quant > most ? most : quant);
  }
}

/** Rounds `count` values that share a scale. Returns the scale. */
inline float quantizeGroup(const float* x, std::size_t count, std::int16_t* quants, Rounding rounding) {
  const float largest = largestOf(x, count);
  const bool zero = largest < leastActivation;
  const std::int32_t most = largestRounded(rounding);
  roundGroup(x, count, zero ? 0 : static_cast<float>(most) / largest, most, quants);
  return zero ? 0 : largest / static_cast<float>(most);
}

/** Splits quants into 128·high + low. */
inline void splitQuants(const std::int16_t* quants, std::size_t count, std::int8_t* high, std::int8_t* low) {
  for (std::size_t i = 0; i < count; i++) {
    const int upper = (quants[i] + highStep / 2) >> 7;
    high[i] = static_cast<std::int8_t>(upper);
    low[i] = static_cast<std::int8_t>(quants[i] - highStep * upper);
  }
}

template <bool Corrections>
inline void quantizeActivations(Type type, Rounding rounding, const float* x, std::size_t columns, std::byte* out) {
  const Activations parts = activationsAt(out, columns);
  const std::size_t group = scaleGroup(type, rounding);
  std::int16_t quants[256];
  for (std::size_t begin = 0; begin < columns; begin += group) {
    const float scale = quantizeGroup(x + begin, group, quants, rounding);
    parts.scales[begin / group] = scale;
    if (rounding == Rounding::word) {
      splitQuants(quants, group, parts.high + begin, parts.low + begin);
    } else {
      for (std::size_t i = 0; i < group; i++) parts.high[begin + i] = static_cast<std::int8_t>(quants[i]);
    }
    for (std::size_t i = 0; i < group; i += 32) {
      std::int32_t sums[2]{};
      for (std::size_t half = 0; half < 2; half++) {
        for (std::size_t j = 0; j < 16; j++) sums[half] += quants[i + 16 * half + j];
        parts.sums[(begin + i) / 16 + half] = scale * static_cast<float>(sums[half]);
      }
      parts.pairSums[(begin + i) / 32] = scale * static_cast<float>(sums[0] + sums[1]);
    }
    if constexpr (Corrections) {
      const int zeroPoint = formatOf(type).zeroPoint;
      for (std::size_t i = 0; i < group; i += 4) {
        const std::int16_t* four = quants + i;
        parts.corrections[(begin + i) / 4] = -zeroPoint * (four[0] + four[1] + four[2] + four[3]);
      }
    }
  }
}

}  // namespace
}  // namespace hearth
