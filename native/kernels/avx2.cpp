#include "tables.hpp"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "avx2/activations.hpp"
#include "avx2/dot.hpp"
#include "avx2/matmul.hpp"
#include "avx2/simd.hpp"

#include "shared/make_table.hpp"

namespace hearth {
namespace {

KernelTable makeAvx2Table() {
  KernelTable table = makeTable<Avx2, true>("avx2");
  table.activate = activateAvx2;
  // A multiple of the tiles of both kinds of products.
  table.tileRows = 48;
  forEachType([&table]<Type T>() {
    if constexpr (!isFloat(T)) {
      constexpr auto i = static_cast<std::size_t>(T);
      table.fewTokensBytes[i] = {matvecBytes<T>, matvecsBytes<T>};
      // 8 tokens of K-quants and of weights of eight bits take 0.8 to 1.06 of the time of a pack, the others' 4 0.75 to 1.1.
      constexpr bool isKQuant = isSuperblock(T) && !isTernary(T) && !isLattice(T);
      table.fewTokensBytes[i].most = isWide(T) || isKQuant ? 8 : 4;
      table.manyTokensBytes[i] = manyTokensInBytes<PairDots, T>;
    }
  });
  return table;
}

}  // namespace

const KernelTable* avx2Table() {
  static const KernelTable table = makeAvx2Table();
  return &table;
}

}  // namespace hearth

#else

namespace hearth {
const KernelTable* avx2Table() { return nullptr; }
}  // namespace hearth

#endif
