#include "../../../native/kernels/bf16/matmul.hpp"
#include "../../../native/kernels/bf16/vectors.hpp"
#include "../../../native/kernels/tables.hpp"

namespace hearth {

/** Expected results of tiles of bfloat16: the same products by vectors, for every format. */
const KernelTable* bf16VectorsTable() {
  static const KernelTable table = [] {
    KernelTable vectors = *avx512Table();
    setHalvesBf16<VectorMultiplier>(vectors);
    setQuantizedBf16<VectorMultiplier>(vectors);
    forEachType([]<Type T>() { static_assert(isFloat(T) || HasDecoder<T>, "else tiles leave it to AVX-512"); });
    return vectors;
  }();
  return &table;
}

}  // namespace hearth
