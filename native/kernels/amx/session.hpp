#pragma once
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

/** The eight tile registers: 0 to 3 hold sums, 4 and 5 weights, 6 and 7 activations. */
namespace hearth {
namespace {

/**
 * Everything is stored before tiles read it. GCC 12's intrinsics don't say what they read: of a configuration its first 8
 * bytes alone, so that stores to the others are left out, and nothing of a tile's rows.
 */
[[gnu::always_inline]] inline void storeFor(const void* read) { asm volatile("" : : "r"(read) : "memory"); }

/** Configures the tiles, and releases them on destruction: until then they are saved at every thread switch. */
class TileSession {
 public:
  /** @param depth bytes of a row of weights: activations have as many rows as those have fours of bytes */
  explicit TileSession(std::uint16_t depth = 64) {
    // Layout: Intel's Software Developer's Manual, LDTILECFG; palette 1, row lengths, rows.
    struct alignas(64) Configuration {
      std::uint8_t palette;
      std::uint8_t startRow;
      std::uint8_t reserved[14];
      std::uint16_t rowBytes[16];
      std::uint8_t rows[16];
    } configuration{};
    configuration.palette = 1;
    for (int tile = 0; tile < 8; tile++) {
      const bool weights = tile == 4 || tile == 5;
      const bool activations = tile >= 6;
      configuration.rowBytes[tile] = weights ? depth : 64;
      configuration.rows[tile] = static_cast<std::uint8_t>(activations ? depth / 4 : 16);
    }
    storeFor(&configuration);
    _tile_loadconfig(&configuration);
  }
  ~TileSession() { _tile_release(); }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
};

}  // namespace
}  // namespace hearth
