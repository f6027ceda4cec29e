#pragma once
#include <algorithm>

#include "operation.hpp"

namespace hearth {

/** Bytes of weights, keys and values, and states that an operation's tokens read at most, each for itself. */
struct ReadBytes {
  std::size_t operator()(const MatvecOperation& o) const { return of(o.matrix); }
  std::size_t operator()(const MatmulOperation& o) const { return o.tokens * of(o.matrix); }
  std::size_t operator()(const MatvecExpertsOperation& o) const { return o.routes.size() / 2 * of(o.experts); }
  std::size_t operator()(const MatmulExpertsOperation& o) const { return o.groups.count() * of(o.experts); }
  std::size_t operator()(const AttentionOperation& o) const { return tokensOf(o) * of(o.cache, o.window); }
  std::size_t operator()(const AttendPagesOperation& o) const {
    std::size_t bytes = 0;
    for (const CachePage& page : o.pages) bytes += tokensOf(o) * of(page.cache, o.window);
    return bytes;
  }
  std::size_t operator()(const DeltaRuleOperation& o) const { return o.strength.size() / o.valueHeads * of(o.state); }
  std::size_t operator()(const SelectiveScanOperation& o) const { return o.step.size() / o.heads * of(o.state); }
  std::size_t operator()(const auto&) const { return 0; }

  /** Bytes of keys and values, in whole blocks; a window may begin and end in the middle of one. */
  static std::size_t of(const CacheView& cache, std::ptrdiff_t window) {
    const std::size_t positions = std::min(cache.capacity, static_cast<std::size_t>(window) + 2 * positionBlock);
    return 2 * positions * (cache.bytes() / cache.capacity);
  }
  static std::size_t of(std::span<const float> state) { return state.size_bytes(); }
  static std::size_t of(const MatrixView& matrix) { return matrix.rows * rowBytes(matrix.type, matrix.columns); }
  /** Bytes of one expert. */
  static std::size_t of(const Experts& experts) {
    return experts.rows * rowBytes(experts.matrix.type, experts.matrix.columns);
  }
};

}  // namespace hearth
