#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "table.hpp"

namespace hearth {

/** The compiled instruction sets that this processor has, the fastest first; "scalar" is always the last. */
std::vector<const KernelTable*> availableTables();

/** The named table, or the fastest for "auto". Throws std::invalid_argument that lists the available ones. */
const KernelTable& selectTable(std::string_view name);

}  // namespace hearth
