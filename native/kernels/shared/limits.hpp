#pragma once
#include "../../formats/half.hpp"
#include "streams.hpp"
#include "vector_math.hpp"

/** Loops that only read or only compute, with an instruction set's widest instructions: its limits. */
namespace hearth {
namespace {

using Line = std::uint64_t __attribute__((vector_size(64)));

/** Bytes of a stream: a page. */
inline constexpr std::size_t streamBytes = 4096;
/** GB/s of one core from huge pages with one, four and eight streams: 8, 18 and 23 (Zen 4). */
inline constexpr std::size_t probeStreams = 8;

/** Reads whole lines of 64 bytes, as kernels read rows; the result only keeps the reads from being optimised away. */
inline std::uint64_t readLines(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t block = probeStreams * streamBytes;
  const auto* lines = reinterpret_cast<const std::uint8_t*>(data);
  Line sums[4]{};
  for (std::size_t begin = 0; begin + block <= bytes; begin += block) {
    for (std::size_t i = 0; i < streamBytes; i += sizeof(Line)) {
      for (std::size_t stream = 0; stream < probeStreams; stream++) {
        const std::uint8_t* at = lines + begin + i + stream * streamBytes;
        prefetchLines(at + block, sizeof(Line));
        Line value;
        __builtin_memcpy(&value, at, sizeof value);
        sums[stream % 4] ^= value;
      }
    }
  }
  const Line all = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  std::uint64_t result = 0;
  for (int i = 0; i < 8; i++) result ^= all[i];
  return result;
}

/** Independent sums: more than latency times instructions per cycle of any processor tested. */
inline constexpr std::size_t independentSums = 12;

/**
 * Multiplications and additions in single precision; `result` keeps them from being optimised away. Returns their
 * number.
 */
template <class S>
double multiplyAdds(std::size_t rounds, float& result) {
  typename S::Floats sums[independentSums];
  for (auto& sum : sums) sum = S::set(result);
  const auto factor = S::set(0.5f);
  for (std::size_t i = 0; i < rounds; i++) {
    for (auto& sum : sums) sum = S::multiplyAdd(sum, factor, factor);
  }
  for (const auto& sum : sums) result += S::sum(sum);
  return 2.0 * static_cast<double>(rounds * independentSums * S::width);
}

/** The same with bytes and 32-bit sums. */
template <class S>
double byteDots(std::size_t rounds, float& result) {
  typename S::Integers sums[independentSums];
  for (auto& sum : sums) sum = S::setBytes(static_cast<int>(result));
  const auto factor = S::setBytes(1);
  for (std::size_t i = 0; i < rounds; i++) {
    for (auto& sum : sums) sum = S::dotBytes(sum, factor, factor);
  }
  for (const auto& sum : sums) result += static_cast<float>(S::anyLane(sum));
  return 8.0 * static_cast<double>(rounds * independentSums * S::width);
}

}  // namespace
}  // namespace hearth
