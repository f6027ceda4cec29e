#include "tables.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    defined(__AVX512VNNI__)
#include "avx512/dot_blocks.hpp"
#include "avx512/matmul.hpp"
#include "avx512/simd.hpp"
#include "avx512/dot_k_quants.hpp"

#include "shared/make_table.hpp"

namespace hearth {
namespace {

template <Type T>
void setDecoded(KernelTable& table) {
  constexpr auto i = static_cast<std::size_t>(T);
  if constexpr (isSuperblock(T)) {
    table.matvec[i] = matvecSuperblocks<T, Rounding::word>;
    table.matvecs[i] = matvecsSuperblocks<T, Rounding::word>;
    if constexpr (formatOf(T).isArithmeticBound) {
      table.matvecBytes[i] = matvecSuperblocks<T, Rounding::byte>;
      table.matvecsBytes[i] = matvecsSuperblocks<T, Rounding::byte>;
    }
  } else if constexpr (!formatOf(T).hasMinimum) {
    table.matvec[i] = matvecBlocks<T>;
    table.matvecs[i] = matvecsBlocks<T>;
    table.matvecsBytes[i] = matvecsBlocks<T>;
    table.matvecBytes[i] = matvecBlocks<T>;
  }
  table.manyTokens[i] = {quantPackBytes<T>, packQuants<T>, quantScratchBytes<T>, matmulQuantized<T>};
}

void activateAvx512(Type type, Rounding rounding, const float* x, std::size_t columns, std::byte* out) {
  activateToken<true>(type, rounding, x, columns, out);
  if (isSuperblock(type)) orderChunks(type, activationsAt(out, columns), columns);
}

KernelTable makeAvx512Table() {
  KernelTable table = makeTable<Avx512, true>("avx512");
  table.activate = activateAvx512;
  forEachType([&table]<Type T>() {
    if constexpr (HasDecoder<T>) setDecoded<T>(table);
  });
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
