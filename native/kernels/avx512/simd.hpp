#pragma once
#include "../shared/portable_simd.hpp"
#include "../shared/vector_math.hpp"
#include "../shared/x86_loads.hpp"

namespace hearth {
namespace {

/** The primitives of the shared kernels with AVX-512 (F, BW, DQ, VL, VNNI). */
struct Avx512 {
  using Floats = __m512;
  static constexpr std::size_t width = 16;
  /** 12·2 sums, 2 vectors of x and one weight of 32 registers. */
  static constexpr std::size_t tileRows = 12;
  /**
   * Rows of floating-point weights multiplied at once. A single row is limited by the latency of its sum, 8 cycles per
   * line, which is as fast as a core reads memory. With more rows the products' own reads delay the prefetches for
   * later rows: F16 with one row is 9 % faster than with four on one core, 2 % on two.
   */
  static constexpr std::size_t floatStreams = 1;
  /** FewTokens::most of floats. */
  static constexpr std::size_t mostFloatTokens = 16;

  static Floats load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Floats v) { _mm512_storeu_ps(p, v); }
  static Floats loadHalf(const std::uint8_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void storeHalf(std::uint8_t* p, Floats v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  static Floats loadBf16(const std::uint8_t* p) {
    return widenBf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Floats loadBytes(const std::uint8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static Floats loadLowNibbles(const std::uint8_t* p) {
    return fromEight(_mm512_and_si512(widenedBytes(p), _mm512_set1_epi32(15)));
  }
  static Floats loadHighNibbles(const std::uint8_t* p) { return fromEight(_mm512_srli_epi32(widenedBytes(p), 4)); }
  static __m512i widenedBytes(const std::uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static Floats fromEight(__m512i numbers) {
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(numbers, _mm512_set1_epi32(8)));
  }
  static Floats widenBf16(__m256i bits) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  template <Type T>
    requires(T == Type::F16 || T == Type::BF16)
  static Pair<Avx512> loadPair(const std::uint8_t* p) {
    __m512i both = _mm512_loadu_si512(p);
    // Otherwise the compiler splits this into two loads.
    asm("" : "+v"(both));
    const __m256i halves[2] = {_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64(both, 1)};
    if constexpr (T == Type::F16) return {_mm512_cvtph_ps(halves[0]), _mm512_cvtph_ps(halves[1])};
    return {widenBf16(halves[0]), widenBf16(halves[1])};
  }
  static Floats set(float v) { return _mm512_set1_ps(v); }
  static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
  static Floats multiplyAdd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats maximum(Floats a, Floats b) { return _mm512_max_ps(a, b); }
  static Floats minimum(Floats a, Floats b) { return _mm512_min_ps(a, b); }
  static Floats powerOfTwo(Floats n) {
    const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
  }
  static float sum(Floats v) { return _mm512_reduce_add_ps(v); }
  static float largest(Floats v) { return _mm512_reduce_max_ps(v); }

  using Integers = __m512i;
  static Integers setBytes(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }
  static Integers dotBytes(Integers sum, Integers a, Integers b) { return _mm512_dpbusd_epi32(sum, a, b); }
  static std::int32_t anyLane(Integers sum) { return _mm512_cvtsi512_si32(sum); }
};

inline __m512i load512(const void* p) { return _mm512_loadu_si512(p); }
/** sum + the products of pairs of words. */
inline __m512i dotWords(__m512i sum, __m512i a, __m512i b) {
  // GCC 12 spills every sum of the intrinsic to memory.
  asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}
/** Two halves of 32 bytes side by side. */
inline __m512i join(__m256i low, __m256i high) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

}  // namespace
}  // namespace hearth
