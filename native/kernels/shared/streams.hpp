#pragma once
#include <cstddef>

/** How many streams of memory a thread reads at once. */
namespace hearth {
namespace {

inline constexpr std::size_t sideBySide = 4;

/**
 * Whether weights come faster as several streams side by side, each asked for ahead, than one after another. A core of
 * Intel's Sapphire Rapids reads 7 to 9 GB/s as one stream and 11 to 13 as four: its hardware looks ahead within a page
 * only. AMD's Zen 4 follows one stream at full speed and several at half of it. Others: as Zen 4 until measured.
 */
inline bool fasterSideBySide() {
#ifdef __x86_64__
  __builtin_cpu_init();
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

}  // namespace
}  // namespace hearth
