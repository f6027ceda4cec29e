#pragma once
#include <type_traits>
#include <utility>

namespace hearth {
namespace {

/** Calls `visit` with 0, 1, … N − 1 as constants, so that what it computes from them are constants too. */
template <int N, class Visit>
[[gnu::always_inline]] inline void forEach(const Visit& visit) {
  [&visit]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (visit(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

}  // namespace
}  // namespace hearth
