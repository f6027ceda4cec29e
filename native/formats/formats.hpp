#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace hearth {

/**
 * The number formats of weights, one row each:
 * name, number in a GGUF file (ggml_type), weights per block, bytes per block, weights per scale, whether a minimum is
 *   subtracted, zero point (the number that stands for zero where a block's quants are read as unsigned).
 * Everything that depends on the format follows from this table; `unpack` (unpack.hpp) gives the layout of a block.
 * engine/model/quantization.ts has the same table for TypeScript, and a test compares the two.
 */
#define HEARTH_FORMATS(X)                            \
  /* name  number  block bytes scale minimum zero */ \
  X(F32,     0,      1,    4,    1, false,     0) \
  X(F16,     1,      1,    2,    1, false,     0) \
  X(BF16,   30,      1,    2,    1, false,     0) \
  X(Q8_0,    8,     32,   34,   32, false,   128) \
  X(Q4_0,    2,     32,   18,   32, false,     8) \
  X(Q4_1,    3,     32,   20,   32, true,      0) \
  X(Q5_0,    6,     32,   22,   32, false,    16) \
  X(Q5_1,    7,     32,   24,   32, true,      0) \
  X(Q2_K,   10,    256,   84,   16, true,      0) \
  X(Q3_K,   11,    256,  110,   16, false,     4) \
  X(Q4_K,   12,    256,  144,   32, true,      0) \
  X(Q5_K,   13,    256,  176,   32, true,      0) \
  X(Q6_K,   14,    256,  210,   16, false,    32) \
  X(IQ4_NL, 20,     32,   18,   32, false,   128) \
  X(IQ4_XS, 23,    256,  136,   32, false,   128) \
  X(MXFP4,  39,     32,   17,   32, false,    12) \
  X(TQ1_0,  34,    256,   54,   32, false,     1) \
  X(TQ2_0,  35,    256,   66,   32, false,     1) \
  X(IQ2_XXS, 16,   256,   66,   32, false,    64) \
  X(IQ2_XS, 17,    256,   74,   16, false,    64) \
  X(IQ2_S,  22,    256,   82,   16, false,    64) \
  X(IQ3_XXS, 18,   256,   98,   32, false,    64) \
  X(IQ3_S,  21,    256,  110,   32, false,    16) \
  X(IQ1_S,  19,    256,   50,   32, false,    16) \
  X(IQ1_M,  29,    256,   56,   16, false,    16)

#define HEARTH_NAME(name, ...) name,
enum class Type : std::uint8_t { HEARTH_FORMATS(HEARTH_NAME) };
#undef HEARTH_NAME

/** A row of the table. */
struct Format {
  const char* name;
  /** Number of the format in a GGUF file. */
  std::size_t ggmlType;
  /** `block` weights share `bytes` bytes. */
  std::size_t block;
  std::size_t bytes;
  /** Weights that share a scale (and minimum). */
  std::size_t scaleWeights;
  bool hasMinimum;
  int zeroPoint;
};

#define HEARTH_ROW(name, ...) {#name, __VA_ARGS__},
inline constexpr Format formats[] = {HEARTH_FORMATS(HEARTH_ROW)};
#undef HEARTH_ROW

inline constexpr std::size_t typeCount = sizeof formats / sizeof formats[0];

constexpr const Format& formatOf(Type type) { return formats[static_cast<std::size_t>(type)]; }

/**
 * Plain floating point, multiplied with exact activations; the others may round activations (shared/activations.hpp).
 */
constexpr bool isFloat(Type type) { return formatOf(type).block == 1; }

/** Blocks of 256 weights (the K-quants); their activations share one scale per 256 instead of one per 32. */
constexpr bool isSuperblock(Type type) { return formatOf(type).block == 256; }

/** Formats whose weights are points of a lattice, which are looked up. */
constexpr bool isLattice(Type type) {
  switch (type) {
    case Type::IQ2_XXS:
    case Type::IQ2_XS:
    case Type::IQ2_S:
    case Type::IQ3_XXS:
    case Type::IQ3_S:
    case Type::IQ1_S:
    case Type::IQ1_M:
      return true;
    default:
      return false;
  }
}

/** Weights that share a scale. */
constexpr std::size_t scaleWeights(Type type) { return formatOf(type).scaleWeights; }

/** Bytes of a row of `columns` weights, a whole number of blocks. */
constexpr std::size_t rowBytes(Type type, std::size_t columns) {
  return columns / formatOf(type).block * formatOf(type).bytes;
}

/** Calls `visit.operator()<T>()` for every format T, in the order of the table. */
template <class Visit>
constexpr void forEachType(Visit visit) {
  [&visit]<std::size_t... I>(std::index_sequence<I...>) {
    (visit.template operator()<static_cast<Type>(I)>(), ...);
  }(std::make_index_sequence<typeCount>{});
}

}  // namespace hearth
