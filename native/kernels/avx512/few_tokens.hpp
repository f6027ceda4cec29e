#pragma once
#include "dot_narrow.hpp"

/** Products of quantized rows with one token, or with several as each has them alone. */
namespace hearth {
namespace {

/** Tokens that are multiplied with at once: with more, their sums would not stay in registers. */
inline constexpr std::size_t mostTokens = 8;

template <Type T, Rounding R>
void matvecsUnits(const Matvecs& p) {
  const auto multiply = [&p]<std::size_t Tokens>(std::size_t token) {
    if constexpr (!isSuperblock(T)) {
      if (p.rows.columns <= unitColumns) return multiplyNarrowRows<T, R, Tokens>(p, token);
    }
    multiplyUnits<T, R, Tokens>(p, token);
  };
  const auto multiplyFew = [&multiply]<std::size_t... less>(std::size_t token, std::size_t tokens,
                                                            std::index_sequence<less...>) {
    ((tokens == less + 1 ? multiply.template operator()<less + 1>(token) : void()), ...);
  };
  // In groups of about the same size.
  std::size_t token = 0;
  for (std::size_t groups = (p.tokens + mostTokens - 1) / mostTokens; groups > 0; groups--) {
    const std::size_t tokens = (p.tokens - token + groups - 1) / groups;
    multiplyFew(token, tokens, std::make_index_sequence<mostTokens>{});
    token += tokens;
  }
}

template <Type T, Rounding R>
void matvecUnits(const Rows& rows, const std::byte* activations, float* y) {
  matvecsUnits<T, R>({rows, activations, 0, 1, y, 0});
}

}  // namespace
}  // namespace hearth
