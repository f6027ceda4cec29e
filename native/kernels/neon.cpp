#include "tables.hpp"

#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>

#include "shared/portable_simd.hpp"

#include "shared/make_table.hpp"

namespace hearth {
namespace {

struct Neon {
  using Floats = float32x4_t;
  static constexpr std::size_t width = 4;
  static constexpr std::size_t floatStreams = 4;
  /** FewTokens::most of floats. */
  static constexpr std::size_t mostFloatTokens = 7;
  /** 12·2 sums, 2 vectors of x and one weight of 32 registers. */
  static constexpr std::size_t tileRows = 12;

  static Floats load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, Floats v) { vst1q_f32(p, v); }
  static Floats loadHalf(const std::uint8_t* p) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p))); }
  static void storeHalf(std::uint8_t* p, Floats v) { vst1_u8(p, vreinterpret_u8_f16(vcvt_f16_f32(v))); }
  static Floats loadBf16(const std::uint8_t* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p)), 16));
  }
  static Floats loadBytes(const std::uint8_t* p) {
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(fourBytes(p))))));
  }
  static Floats loadLowNibbles(const std::uint8_t* p) { return fromEight(vand_u8(fourBytes(p), vdup_n_u8(15))); }
  static Floats loadHighNibbles(const std::uint8_t* p) { return fromEight(vshr_n_u8(fourBytes(p), 4)); }
  static uint8x8_t fourBytes(const std::uint8_t* p) { return vreinterpret_u8_u32(vdup_n_u32(load32(p))); }
  static Floats fromEight(uint8x8_t numbers) {
    const int16x8_t wide = vreinterpretq_s16_u16(vmovl_u8(numbers));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vsubq_s16(wide, vdupq_n_s16(8)))));
  }
  static Floats set(float v) { return vdupq_n_f32(v); }
  static Floats add(Floats a, Floats b) { return vaddq_f32(a, b); }
  static Floats subtract(Floats a, Floats b) { return vsubq_f32(a, b); }
  static Floats multiply(Floats a, Floats b) { return vmulq_f32(a, b); }
  static Floats divide(Floats a, Floats b) { return vdivq_f32(a, b); }
  static Floats multiplyAdd(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }
  static Floats maximum(Floats a, Floats b) { return vmaxq_f32(a, b); }
  static Floats minimum(Floats a, Floats b) { return vminq_f32(a, b); }
  static Floats powerOfTwo(Floats n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23));
  }
  static float sum(Floats v) { return vaddvq_f32(v); }
  static float largest(Floats v) { return vmaxvq_f32(v); }

  using Integers = int32x4_t;
  static Integers setBytes(int value) { return vreinterpretq_s32_s8(vdupq_n_s8(static_cast<std::int8_t>(value))); }
  static Integers dotBytes(Integers sum, Integers a, Integers b) {
    return vdotq_s32(sum, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b));
  }
  static std::int32_t anyLane(Integers sum) { return vgetq_lane_s32(sum, 0); }

  static Floats dotGroups(const std::int8_t* weights, const std::int8_t* high, const std::int8_t* low,
                          const std::int8_t* scales, std::size_t count) {
    int32x4_t sums[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
    for (std::size_t i = 0; i < count; i += 16) {
      const int8x16_t w = vld1q_s8(weights + i);
      const std::int8_t* terms[2] = {high + i, low + i};
      for (int term = 0; term < 2; term++) {
        const int32x4_t dot = vdotq_s32(vdupq_n_s32(0), w, vld1q_s8(terms[term]));
        sums[term] = vmlaq_n_s32(sums[term], dot, scales[i / 16]);
      }
    }
    return vfmaq_n_f32(vcvtq_f32_s32(sums[1]), vcvtq_f32_s32(sums[0]), 128);
  }
};

}  // namespace

const KernelTable* neonTable() {
  static const KernelTable table = makeTable<Neon, false>("neon");
  return &table;
}

}  // namespace hearth

#else

namespace hearth {
const KernelTable* neonTable() { return nullptr; }
}  // namespace hearth

#endif
