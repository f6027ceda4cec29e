#include "tables.hpp"

#if defined(__AVX512BF16__) && defined(__AVX512VNNI__)
#include "bf16/matmul.hpp"
#include "bf16/vectors.hpp"

namespace hearth {
namespace {

/** Products at full speed: the limit of quantized products (see shared/limits.hpp). */
double bf16Products(std::size_t rounds, float& result) {
  constexpr std::size_t chains = 12;
  __m512 sums[chains];
  for (__m512& sum : sums) sum = _mm512_set1_ps(result);
  const __m512bh zeros = bf16Of(_mm512_setzero_si512());
  for (std::size_t i = 0; i < rounds; i++) {
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, zeros, zeros);
  }
  for (const __m512& sum : sums) result += _mm512_cvtss_f32(sum);
  return 2.0 * 32 * chains * static_cast<double>(rounds);
}

/** AVX-512, and products of bfloat16 for quantized rows times many tokens. */
KernelTable makeAvx512Bf16Table() {
  KernelTable table = *avx512Table();
  table.name = "avx512bf16";
  // A multiple of the blocks of these products and of those of float matrices.
  table.tileRows = 48;
  setAllBf16<VectorMultiplier>(table);
  table.byteDots = bf16Products;
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
