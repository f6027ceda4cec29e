#pragma once
#include <cstddef>
#include <stdexcept>

namespace hearth {

/** Checks of commands' operands, which throw std::invalid_argument. */
inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

/** `whole` divided by `part`. Throws unless that is a whole number of at least 1. */
inline std::size_t times(std::size_t whole, std::size_t part, const char* what) {
  require(part > 0 && whole >= part && whole % part == 0, what);
  return whole / part;
}

}  // namespace hearth
