#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include "operation.hpp"

namespace hearth {

/** The expert of a choice; 0 if the routes have none of its numbers, so that no weights beyond a matrix are read. */
inline std::size_t expertOf(std::span<const float> routes, std::size_t choice, std::size_t experts) noexcept {
  const float expert = routes[2 * choice];
  return expert >= 0 && expert < static_cast<float>(experts) ? static_cast<std::size_t>(expert) : 0;
}

/**
 * Sorts choices by their experts, by counting. Routes are read once: others may write to them meanwhile.
 * @param lanes choices of a pack
 */
inline void groupChoices(std::span<const float> routes, std::size_t lanes, const ChoiceGroups& groups) noexcept {
  const auto begins = groups.begins();
  const auto packs = groups.packs();
  const auto expertOfChoice = groups.expertOfChoice();
  std::fill(begins.begin(), begins.end(), 0);
  for (std::size_t choice = 0; choice < groups.count(); choice++) {
    expertOfChoice[choice] = expertOf(routes, choice, groups.experts);
    begins[expertOfChoice[choice] + 1]++;
  }
  packs[0] = 0;
  for (std::size_t expert = 0; expert < groups.experts; expert++) {
    packs[expert + 1] = packs[expert] + (begins[expert + 1] + lanes - 1) / lanes;
    begins[expert + 1] += begins[expert];
  }
  for (std::size_t choice = 0; choice < groups.count(); choice++) {
    groups.choices()[begins[expertOfChoice[choice]]++] = choice;
  }
  // Each begin has moved to its end, which is the next one's begin.
  std::copy_backward(begins.begin(), begins.end() - 1, begins.end());
  begins[0] = 0;
}

}  // namespace hearth
