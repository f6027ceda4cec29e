#include "tables.hpp"

// The test of these kernels compiles them for AVX-512, whose instruction on 256 bits is the same.
#if defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(HEARTH_VNNI_BY_AVX512))
#include "avx2/matmul.hpp"
#include "shared/limits.hpp"

namespace hearth {
namespace {

/** The sum of the products of four unsigned bytes and four signed ones is added to each of eight sums of 32 bits. */
inline __m256i addQuads(__m256i sums, __m256i weights, __m256i x) {
#if defined(__AVXVNNI__)
  return _mm256_dpbusd_avx_epi32(sums, weights, x);
#else
  return _mm256_dpbusd_epi32(sums, weights, x);
#endif
}

/** Sums of 32 bits, one for every four columns, to which an instruction adds four products, whatever the weights' size. */
struct QuadDots {
  static constexpr bool narrow = false;
  static __m256i multiply(__m256i weights, __m256i x) { return addQuads(_mm256_setzero_si256(), weights, x); }
  static __m256i add(__m256i sums, __m256i weights, __m256i x) { return addQuads(sums, weights, x); }
  static std::int32_t start(std::int32_t first, std::int32_t second) { return first + second; }
  static __m256i scale(__m256i number) { return number; }
  static __m256i scaled(__m256i sums, __m256i scale) { return _mm256_mullo_epi32(sums, scale); }
  static __m256i widened(__m256i sums) { return sums; }
};

struct AvxVnni : Avx2 {
  static Integers dotBytes(Integers sum, Integers a, Integers b) { return addQuads(sum, a, b); }
};

/** AVX2, and quantized rows times many tokens by dot products of bytes. */
KernelTable makeAvxVnniTable() {
  KernelTable table = *avx2Table();
  table.name = "avxvnni";
  forEachType([&table]<Type T>() {
    if constexpr (!isFloat(T)) {
      constexpr auto i = static_cast<std::size_t>(T);
      table.manyTokensBytes[i] = manyTokensInBytes<QuadDots, T>;
      // Weights of eight bits gain most by these dot products: 4 tokens take 0.9 to 1.04 of the time of a pack.
      if constexpr (isWide(T)) table.fewTokensBytes[i].most = 4;
    }
  });
  table.byteDots = byteDots<AvxVnni>;
  return table;
}

}  // namespace

const KernelTable* avxVnniTable() {
  static const KernelTable table = makeAvxVnniTable();
  return &table;
}

}  // namespace hearth

#else

namespace hearth {
const KernelTable* avxVnniTable() { return nullptr; }
}  // namespace hearth

#endif
