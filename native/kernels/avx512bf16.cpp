#include "tables.hpp"

#if defined(__AVX512BF16__) && defined(__AVX512VNNI__)
#include "words/attention.hpp"
#include "bf16/matmul.hpp"
#include "bf16/vectors.hpp"

namespace hearth {
namespace {

/** AVX-512, and products of bfloat16 for weights of 16 bits times many tokens. */
KernelTable makeAvx512Bf16Table() {
  KernelTable table = *avx512Table();
  table.name = "avx512bf16";
  // A multiple of the blocks of these products and of those of the others.
  table.tileRows = 48;
  setHalvesBf16<VectorMultiplier>(table);
  setAttentionWords(table);
  return table;
}

}  // namespace

const KernelTable* avx512Bf16Table() {
  static const KernelTable table = makeAvx512Bf16Table();
  return &table;
}

}  // namespace hearth

#else

namespace hearth {
const KernelTable* avx512Bf16Table() { return nullptr; }
}  // namespace hearth

#endif
