#pragma once
#include "table.hpp"

namespace hearth {

/** Each returns its table, or null if the addon wasn't compiled for its processor family. */
const KernelTable* scalarTable();
const KernelTable* avx2Table();
const KernelTable* avxVnniTable();
const KernelTable* avx512Table();
const KernelTable* avx512Bf16Table();
const KernelTable* amxTable();
const KernelTable* amxInt8Table();
const KernelTable* neonTable();

}  // namespace hearth
