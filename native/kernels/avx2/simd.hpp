#pragma once
#include "../shared/portable_simd.hpp"
#include "../shared/x86_loads.hpp"

namespace hearth {
namespace {

/** The primitives of the shared kernels with AVX2, FMA and F16C. */
struct Avx2 {
  using Floats = __m256;
  static constexpr std::size_t width = 8;
  /** 6·2 sums, 2 vectors of x and one weight of 16 registers. */
  static constexpr std::size_t tileRows = 6;
  static constexpr std::size_t floatStreams = 4;
  /** FewTokens::most of floats. */
  static constexpr std::size_t mostFloatTokens = 12;

  static Floats load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Floats v) { _mm256_storeu_ps(p, v); }
  static Floats loadHalf(const std::uint8_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void storeHalf(std::uint8_t* p, Floats v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  static Floats loadBf16(const std::uint8_t* p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
  }
  static Floats loadBytes(const std::uint8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static Floats loadLowNibbles(const std::uint8_t* p) {
    return fromEight(_mm256_and_si256(widenedBytes(p), _mm256_set1_epi32(15)));
  }
  static Floats loadHighNibbles(const std::uint8_t* p) { return fromEight(_mm256_srli_epi32(widenedBytes(p), 4)); }
  static __m256i widenedBytes(const std::uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static Floats fromEight(__m256i numbers) {
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(numbers, _mm256_set1_epi32(8)));
  }
  static Floats set(float v) { return _mm256_set1_ps(v); }
  static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
  static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats divide(Floats a, Floats b) { return _mm256_div_ps(a, b); }
  static Floats multiplyAdd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats maximum(Floats a, Floats b) { return _mm256_max_ps(a, b); }
  static Floats minimum(Floats a, Floats b) { return _mm256_min_ps(a, b); }
  static Floats powerOfTwo(Floats n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }
  static float sum(Floats v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  static float largest(Floats v) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
  }

  using Integers = __m256i;
  static Integers setBytes(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }
  static Integers dotBytes(Integers sum, Integers a, Integers b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
  }
  static std::int32_t anyLane(Integers sum) { return _mm256_extract_epi32(sum, 0); }

  static Floats dotGroups(const std::int8_t* weights, const std::int8_t* high, const std::int8_t* low,
                          const std::int8_t* scales, std::size_t count) {
    __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (std::size_t i = 0; i < count; i += 32) {
      // Two half loads, as the halves may just have been stored: a wider load would wait for both stores.
      const __m256i w = _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(weights + i + 16),
                                            reinterpret_cast<const __m128i*>(weights + i));
      const __m256i size = _mm256_abs_epi8(w);
      const __m256i both = _mm256_set_m128i(_mm_set1_epi16(scales[i / 16 + 1]), _mm_set1_epi16(scales[i / 16]));
      const std::int8_t* terms[2] = {high + i, low + i};
      for (int term = 0; term < 2; term++) {
        const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(terms[term]));
        // |w|·(x with w's sign): the instruction multiplies unsigned by signed; two products stay below 2^15.
        const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(x, w));
        sums[term] = _mm256_add_epi32(sums[term], _mm256_madd_epi16(pairs, both));
      }
    }
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[0]), _mm256_set1_ps(128), _mm256_cvtepi32_ps(sums[1]));
  }
};

inline void store256(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
/** Two halves of 16 bytes side by side. */
inline __m256i join(__m128i low, __m128i high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

}  // namespace
}  // namespace hearth
