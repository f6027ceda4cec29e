#pragma once
#include "../shared/for_each.hpp"
#include "quant_rows.hpp"

/**
 * A tile of superblocks, whose activations have a unit. The products of a group are added up in whole numbers and
 * multiplied with a multiple of the weights' scale, which each token picks by a permutation; those of the superblock with
 * the unit, at its end. Multiplications, fused or not, run in the execution units of dot products, permutations and
 * conversions in others. 256 columns of 16 tokens take 64 dot products, 8 multiplications (16 with groups of 16), one
 * for the unit, and 5 for minimums: at most 88 % of the peak of dot products alone, 82 % with minimums, 79 % with groups
 * of 16.
 */
namespace hearth {
namespace {

/** Starting value of a superblock's products, in units of activations: minus those of its minimums. */
template <std::size_t Group, bool Minimums>
inline __m512 superblockStart(const Superblock<Group, Minimums>& row, const SuperblockPack& pack,
                              std::size_t superblock) {
  if constexpr (Minimums) {
    constexpr std::size_t pairs = 256 / Group / 2;
    __m512i sum = _mm512_setzero_si512();
    forEach<pairs>([&](auto pair) {
      const __m512i sums = load512(pack.sums + (superblock * pairs + pair) * 2 * packLanes);
      sum = dotWords(sum, sums, _mm512_set1_epi32(row.minimums[pair]));
    });
    return _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(-row.unit));
  }
  return _mm512_setzero_ps();
}

/** Picks, from a scale's multiples, the one of each token. */
inline __m512 pickScale(const float* scales, __m512i multiples) {
  return _mm512_permutexvar_ps(multiples, _mm512_broadcast_f32x8(_mm256_loadu_ps(scales)));
}

/** out[row][lane of V packs] += the products of one superblock of N rows. Not inlined: that spills registers. */
template <std::size_t N, std::size_t V, std::size_t Group, bool Minimums>
[[gnu::noinline]] void superblockTile(const Superblock<Group, Minimums>* rows, std::size_t superblock,
                                      const SuperblockPack (&packs)[2], float* out) {
  constexpr std::size_t groups = 256 / Group;
  __m512 sums[N][V];
  forEach<N>([&](auto r) {
    forEach<V>([&](auto v) { sums[r][v] = superblockStart(rows[r], packs[v], superblock); });
  });
  for (std::size_t g = 0; g < groups; g++) {
    const std::size_t at = (superblock * groups + g) * packLanes;
    __m512i dots[N][V];
    forEach<V>([&](auto v) {
      const __m512i start = Minimums ? _mm512_setzero_si512() : load512(packs[v].starts + at);
      forEach<N>([&](auto r) { dots[r][v] = start; });
    });
    forEach<Group / 4>([&](auto four) {
      __m512i tokens[V];
      forEach<V>([&](auto v) { tokens[v] = load512(packs[v].quants + at * Group + 4 * four * packLanes); });
      forEach<N>([&](auto r) {
        const __m512i weights = _mm512_set1_epi32(static_cast<int>(load32(rows[r].quants + g * Group + 4 * four)));
        forEach<V>([&](auto v) { dots[r][v] = _mm512_dpbusd_epi32(dots[r][v], weights, tokens[v]); });
      });
    });
    forEach<V>([&](auto v) {
      const __m512i multiples = load512(packs[v].multiples + at);
      forEach<N>([&](auto r) {
        const __m512 scale = pickScale(rows[r].scales[g], multiples);
        sums[r][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[r][v]), scale, sums[r][v]);
      });
    });
  }
  forEach<V>([&](auto v) {
    const __m512 unit = _mm512_loadu_ps(packs[v].units + superblock * packLanes);
    forEach<N>([&](auto r) {
      float* own = out + (r * 2 + v) * packLanes;
      _mm512_storeu_ps(own, _mm512_fmadd_ps(sums[r][v], unit, _mm512_loadu_ps(own)));
    });
  });
}

}  // namespace
}  // namespace hearth
