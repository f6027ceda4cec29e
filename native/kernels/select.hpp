#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "table.hpp"

namespace hearth {

/** The instruction sets compiled in that this processor has, the fastest first; "scalar" is always the last. */
std::vector<const KernelTable*> availableTables();

/** The named one, or the fastest for "auto". Throws std::invalid_argument that lists what there is. */
const KernelTable& selectTable(std::string_view name);

}  // namespace hearth
