#pragma once
#include "../shared/make_table.hpp"
#include "dot_lattices.hpp"
#include "dot_minimums.hpp"
#include "dot_order.hpp"
#include "dot_ternary.hpp"

/** Activations as dot products of bytes read them, in addition to the fields that every instruction set has. */
namespace hearth {
namespace {

/** Writes the sizes of activations where their second bytes would be. */
inline void setSizes(const Activations& x, std::size_t columns) {
  for (std::size_t c = 0; c < columns; c += 32) store256(x.low + c, _mm256_abs_epi8(load256(x.high + c)));
}

/** The sums of sixteen groups of activations, as words. */
inline void setWordSums(const std::int8_t* quants, void* out) {
  alignas(32) std::int16_t sums[16];
  for (std::size_t group = 0; group < 16; group++) {
    std::int32_t sum = 0;
    for (std::size_t c = 0; c < 16; c++) sum += quants[16 * group + c];
    sums[group] = static_cast<std::int16_t>(sum);
  }
  store256(out, load256(sums));
}

/** Writes what superblock_sums.hpp reads of laneScales. */
inline void setLanes(Type type, const Activations& x, std::size_t columns) {
  for (std::size_t i = 0; i < columns / 256; i++) {
    float* lanes = x.laneScales + 32 * i;
    const float* scales = x.scales + 8 * i;
    if (isHalved(type)) {
      for (std::size_t lane = 0; lane < 8; lane++) lanes[lane] = scales[laneGroups[lane]];
    } else if (hasWordScales(type)) {
      // Two times eight scales, in the lanes of groups, and the groups' sums as whole numbers.
      for (std::size_t lane = 0; lane < 16; lane++) {
        const std::size_t chunk = lane / 8 * 4 + lane % 4;
        lanes[lane] = scales[chunk] * (isRaised(type) && chunk % 2 == 1 ? 0.25f : 1);
      }
      setWordSums(x.high + 256 * i, lanes + 16);
    } else if (scaleWeights(type) == 16) {
      // The scales of eight groups, then their sums, in their lanes.
      for (std::size_t lane = 0; lane < 16; lane++) {
        const std::size_t group = lane / 8 * 8 + laneGroups[lane % 8];
        lanes[lane / 8 * 16 + lane % 8] = scales[group / 2];
        lanes[lane / 8 * 16 + 8 + lane % 8] = x.sums[16 * i + group];
      }
    }
  }
}

/** Moves the first halves of every two chunks before the second ones. */
inline void swapHalves(const Activations& x, std::size_t columns) {
  for (std::size_t c = 0; c < columns; c += 64) {
    const __m128i second = load128(x.high + c + 16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(x.high + c + 16), load128(x.high + c + 32));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(x.high + c + 32), second);
  }
}

inline void activateAvx2(Type type, Rounding rounding, const float* x, std::size_t columns, std::byte* out) {
  activateToken<true>(type, rounding, x, columns, out);
  if (isFloat(type) || rounding == Rounding::word) return;
  const Activations rounded = activationsAt(out, columns);
  if (isHalved(type)) swapHalves(rounded, columns);
  if (isSigned(type) && !isLattice(type)) setSizes(rounded, columns);
  if (isTernary(type)) {
    setWholeScales(type, rounded, columns);
  } else if (isLattice(type)) {
    setChunkScales(rounded, columns);
    if (isMoved(type)) setPointSums(rounded, columns);
  } else if (isSuperblock(type)) {
    setLanes(type, rounded, columns);
  } else if (hasBlockMinimum(type)) {
    setScalesAndSums(rounded, columns);
  }
}

}  // namespace
}  // namespace hearth
