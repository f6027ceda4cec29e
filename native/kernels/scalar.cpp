#include "shared/portable_simd.hpp"

#include "shared/make_table.hpp"
#include "tables.hpp"

namespace hearth {

const KernelTable* scalarTable() {
  static const KernelTable table = makeTable<PortableSimd, false>("scalar");
  return &table;
}

}  // namespace hearth
