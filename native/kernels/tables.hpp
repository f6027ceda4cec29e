#pragma once
#include "table.hpp"

namespace hearth {

/** Each returns its table where the program was compiled for such a processor family, else null. */
const KernelTable* scalarTable();
const KernelTable* avx2Table();
const KernelTable* avx512Table();
const KernelTable* avx512Bf16Table();
const KernelTable* amxTable();
const KernelTable* neonTable();

}  // namespace hearth
