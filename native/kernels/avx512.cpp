#include "tables.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    defined(__AVX512VNNI__)
#include "avx512/blocks.hpp"
#include "avx512/matmul.hpp"
#include "avx512/simd.hpp"
#include "avx512/superblocks.hpp"

#include "shared/make_table.hpp"

namespace hearth {
namespace {

template <Type T>
void setMany(KernelTable& table) {
  table.manyTokens[static_cast<std::size_t>(T)] = {quantPackBytes<T>, packQuants<T>, quantScratchBytes<T>,
                                                   matmulQuantized<T>};
}

template <Type T>
void setBlocks(KernelTable& table) {
  table.matvec[static_cast<std::size_t>(T)] = matvecBlocks<T>;
  table.matvecBytes[static_cast<std::size_t>(T)] = matvecBlocks<T>;
  setMany<T>(table);
}

template <Type T>
void setSuperblocks(KernelTable& table) {
  table.matvec[static_cast<std::size_t>(T)] = matvecSuperblocks<T, Rounding::word>;
  if constexpr (isArithmeticBound(T)) {
    table.matvecBytes[static_cast<std::size_t>(T)] = matvecSuperblocks<T, Rounding::byte>;
  }
  setMany<T>(table);
}

void activateAvx512(Type type, Rounding rounding, const float* x, std::size_t columns, std::byte* out) {
  activateToken<true>(type, rounding, x, columns, out);
  if (isSuperblock(type)) orderChunks(type, activationsAt(out, columns), columns);
}

KernelTable makeAvx512Table() {
  KernelTable table = makeTable<Avx512, true>("avx512");
  table.activate = activateAvx512;
  setBlocks<Type::Q8_0>(table);
  setBlocks<Type::Q4_0>(table);
  setBlocks<Type::Q5_0>(table);
  setBlocks<Type::IQ4_NL>(table);
  setMany<Type::Q5_1>(table);
  setSuperblocks<Type::Q2_K>(table);
  setSuperblocks<Type::Q3_K>(table);
  setSuperblocks<Type::Q4_K>(table);
  setSuperblocks<Type::Q5_K>(table);
  setSuperblocks<Type::Q6_K>(table);
  return table;
}

}  // namespace

const KernelTable* avx512Table() {
  static const KernelTable table = makeAvx512Table();
  return &table;
}

}  // namespace hearth

#else

namespace hearth {
const KernelTable* avx512Table() { return nullptr; }
}  // namespace hearth

#endif
