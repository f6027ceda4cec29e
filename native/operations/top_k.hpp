#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace hearth {

/**
 * The largest values of `x`, largest first, ties by the lower place; NaN is never among them. `y` is the number of
 * values that aren't finite, then pairs of place and value, which are kept in order as values are seen; places are −1
 * where there are no more.
 */
inline void topK(std::span<const float> x, std::span<float> y) noexcept {
  std::fill(y.begin(), y.end(), -1.0F);
  float* const pairs = y.data() + 1;
  const std::size_t most = y.size() / 2;
  std::size_t found = 0;
  std::size_t notFinite = 0;
  for (std::size_t place = 0; place < x.size(); place++) {
    const float value = x[place];
    if (!std::isfinite(value)) notFinite++;
    // Ties go to the earlier place, which is already there.
    if (std::isnan(value) || (found == most && !(value > pairs[2 * most - 1]))) continue;
    if (found < most) found++;
    std::size_t at = found - 1;
    for (; at > 0 && value > pairs[2 * at - 1]; at--) {
      pairs[2 * at] = pairs[2 * at - 2];
      pairs[2 * at + 1] = pairs[2 * at - 1];
    }
    pairs[2 * at] = static_cast<float>(place);
    pairs[2 * at + 1] = value;
  }
  y[0] = static_cast<float>(notFinite);
}

}  // namespace hearth
