#include "tables.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    defined(__AVX512VNNI__)
#include "avx512/dot_blocks.hpp"
#include "avx512/matmul.hpp"
#include "avx512/simd.hpp"
#include "avx512/dot_k_quants.hpp"
#include "avx512/dot_levels.hpp"

#include "shared/make_table.hpp"

namespace hearth {
namespace {

template <Type T, Rounding R>
void setDecoded(FewTokens& few, ManyTokens& many) {
  if constexpr (isSuperblock(T)) {
    few = {matvecSuperblocks<T, R>, matvecsSuperblocks<T, R>};
  } else {
    few = {matvecBlocks<T, R>, matvecsBlocks<T, R>};
  }
  many = {quantPackBytes<T, R>, packQuants<T, R>, quantScratchBytes<T>, matmulQuantized<T, R>};
}

void activateAvx512(Type type, Rounding rounding, const float* x, std::size_t columns, std::byte* out) {
  activateToken<true>(type, rounding, x, columns, out);
  if (isSuperblock(type)) orderChunks(type, rounding, activationsAt(out, columns), columns);
}

KernelTable makeAvx512Table() {
  KernelTable table = makeTable<Avx512, true>("avx512");
  table.activate = activateAvx512;
  forEachType([&table]<Type T>() {
    constexpr auto i = static_cast<std::size_t>(T);
    if constexpr (HasDecoder<T>) {
      setDecoded<T, Rounding::word>(table.fewTokens[i], table.manyTokens[i]);
      setDecoded<T, Rounding::byte>(table.fewTokensBytes[i], table.manyTokensBytes[i]);
    }
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
