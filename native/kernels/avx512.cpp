#include "tables.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    defined(__AVX512VNNI__)
#include "avx512/few_tokens.hpp"
#include "avx512/matmul.hpp"
#include "avx512/simd.hpp"

#include "shared/make_table.hpp"

namespace hearth {
namespace {

template <Type T, Rounding R>
void setDecoded(FewTokens& few, ManyTokens& many) {
  few = {matvecUnits<T, R>, matvecsUnits<T, R>};
  // 16 tokens take 0.6 to 0.96 of the time of a pack, points of a lattice 1.0 to 1.3; 8 take 0.3 to 0.7.
  few.most = isLattice(T) ? mostTokens : 2 * mostTokens;
  if constexpr (!isSuperblock(T)) {
    few.unpackedBytes = unpackedBytes<T>;
    few.unpack = unpackRows<T>;
    few.matvecUnpacked = matvecUnpacked<T, R>;
  }
  many = manyTokensQuantized<T, R>();
}

std::size_t activationBytesAvx512(Type type, std::size_t columns) {
  return isFloat(type) ? roundUp64(columns * sizeof(float)) : unitActivationBytes(columns);
}

void activateAvx512(Type type, Rounding rounding, const float* x, std::size_t columns, std::byte* out) {
  if (isFloat(type)) {
    __builtin_memcpy(out, x, columns * sizeof(float));
    return;
  }
  forEachType([&]<Type T>() {
    if constexpr (!isFloat(T)) {
      if (T != type) return;
      if (rounding == Rounding::byte) activateUnits<T>(x, columns, reinterpret_cast<UnitActivations<Rounding::byte>*>(out));
      if (rounding == Rounding::word) activateUnits<T>(x, columns, reinterpret_cast<UnitActivations<Rounding::word>*>(out));
    }
  });
}

KernelTable makeAvx512Table() {
  KernelTable table = makeTable<Avx512, true, false>("avx512");
  table.activationBytes = activationBytesAvx512;
  table.activate = activateAvx512;
  forEachType([&table]<Type T>() {
    constexpr auto i = static_cast<std::size_t>(T);
    static_assert(isFloat(T) || HasDecoder<T>);
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
