#pragma once
#include <algorithm>

#include "product_units.hpp"

/** Units of attention: which tokens and heads they are of, and how their rows lie side by side. */
namespace hearth {

/** The tokens of a unit of attention and the query heads that share a KV head. */
struct AttendedUnit {
  std::size_t kvHead;
  /** First token and number of tokens. */
  std::size_t token;
  std::size_t tokens;
  /** Heads of a KV head, and of a token. */
  std::size_t group;
  std::size_t heads;
  std::size_t headSize;

  [[nodiscard]] std::size_t rows() const { return tokens * group; }
  /** The first head, counted over all tokens. */
  [[nodiscard]] std::size_t headOf(std::size_t ofToken) const {
    return (token + ofToken) * heads + kvHead * group;
  }
};

/** As many as the kernels process together, or fewer, so that units are alike. */
inline std::size_t unitTokens(const Attention& attention, const auto& o) {
  const std::size_t tokens = tokensOf(o);
  return ceilDivide(tokens, ceilDivide(tokens, attention.tokens(o.heads / cacheOf(o).kvHeads)));
}

inline std::size_t attentionUnits(const Attention& attention, const auto& o) {
  return ceilDivide(tokensOf(o), unitTokens(attention, o)) * cacheOf(o).kvHeads;
}

/** The last tokens see the most positions: they go first, so that threads finish together. */
inline AttendedUnit attendedUnit(const Attention& attention, const auto& o, std::size_t unit) {
  const auto& cache = cacheOf(o);
  const std::size_t tokens = unitTokens(attention, o);
  const std::size_t last = ceilDivide(tokensOf(o), tokens) - 1;
  const std::size_t token = (last - unit / cache.kvHeads) * tokens;
  return {unit % cache.kvHeads,     token,   std::min(tokens, tokensOf(o) - token),
          o.heads / cache.kvHeads, o.heads, cache.headSize};
}

/** Floats of a unit's attention: the kernel's, then queries, largest scores, totals and sums of its rows side by side. */
inline std::size_t attentionFloats(const Attention& attention, const auto& o) {
  const std::size_t group = o.heads / cacheOf(o).kvHeads;
  const std::size_t tokens = unitTokens(attention, o);
  const std::size_t size = cacheOf(o).headSize;
  return attention.scratchFloats(tokens, group, size) + tokens * group * (2 * size + 2);
}

/** Sinks of a unit's heads; null: none. */
inline const float* sinksOf(const auto& o, const AttendedUnit& unit) {
  return o.sinks.empty() ? nullptr : o.sinks.data() + unit.kvHead * unit.group;
}

/** Copies the values of a unit's heads, `width` each, between their places and rows side by side. */
inline void gather(const AttendedUnit& unit, const float* from, std::size_t width, float* rows) {
  for (std::size_t t = 0; t < unit.tokens; t++) {
    std::copy_n(from + unit.headOf(t) * width, unit.group * width, rows + t * unit.group * width);
  }
}
inline void scatter(const AttendedUnit& unit, const float* rows, std::size_t width, float* to) {
  for (std::size_t t = 0; t < unit.tokens; t++) {
    std::copy_n(rows + t * unit.group * width, unit.group * width, to + unit.headOf(t) * width);
  }
}

}  // namespace hearth
