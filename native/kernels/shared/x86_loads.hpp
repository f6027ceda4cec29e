#pragma once
#include <immintrin.h>

#include "../../formats/half.hpp"

/** Unaligned loads from blocks, for processors with AVX2. */
namespace hearth {
namespace {

inline __m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
/** A half-precision number, by the conversion instruction. */
inline float halfAt(const std::uint8_t* at) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(load16(at)))); }

}  // namespace
}  // namespace hearth
