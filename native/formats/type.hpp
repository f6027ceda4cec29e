#pragma once
#include <cstddef>
#include <cstdint>

namespace hearth {

/** The number formats of weights, numbered as engine/kernels/native/codes.ts does. */
enum class Type : std::uint8_t { F32, F16, BF16, Q8_0, Q4_0, Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL };
inline constexpr std::size_t typeCount = 13;

/** `block` values share `bytes` bytes. */
struct Format {
  std::size_t block;
  std::size_t bytes;
};

inline constexpr Format formats[typeCount] = {
    {1, 4},     {1, 2},     {1, 2},     {32, 34},   {32, 18},   {32, 22},   {32, 24},
    {256, 84},  {256, 110}, {256, 144}, {256, 176}, {256, 210}, {32, 18},
};

constexpr Format formatOf(Type type) { return formats[static_cast<std::size_t>(type)]; }

/** Plain floating point, multiplied with exact activations; the others may round activations (shared/activations.hpp). */
constexpr bool isFloat(Type type) { return type == Type::F32 || type == Type::F16 || type == Type::BF16; }

/** Blocks of 256 weights; their activations share one scale per 256 instead of one per 32. */
constexpr bool isSuperblock(Type type) { return formatOf(type).block == 256; }

/**
 * Whether products with one token's activations wait for arithmetic rather than for memory, so that rounding activations to
 * a byte is worth while.
 */
constexpr bool isArithmeticBound(Type type) { return isSuperblock(type) && type != Type::Q6_K; }

/** Bytes of a row of `columns` weights, a whole number of blocks. */
constexpr std::size_t rowBytes(Type type, std::size_t columns) {
  return columns / formatOf(type).block * formatOf(type).bytes;
}

}  // namespace hearth
