#pragma once
#include <immintrin.h>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/**
 * AMX by ordinary instructions (Intel, Software Developer's Manual, volume 1, chapter 18, and the instructions'
 * pages): included before a source, which is compiled without AMX. What raises an exception on a processor ends the
 * program with status 3 and a sentence on standard error; so do tiles that are still configured at a thread's end, which
 * a processor allows.
 */
#define __AMX_TILE__ 1
#define __AMX_BF16__ 1
#define __AMX_INT8__ 1

namespace emulatedTiles {

inline constexpr int tileCount = 8;
inline constexpr std::size_t mostRows = 16;
inline constexpr std::size_t mostRowBytes = 64;

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "emulated tiles: %s\n", what);
  std::_Exit(3);
}
inline void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

struct Tile {
  std::size_t rows;
  std::size_t rowBytes;
  std::uint8_t data[mostRows][mostRowBytes];

  template <class Number>
  [[nodiscard]] Number at(std::size_t row, std::size_t column) const {
    Number number;
    std::memcpy(&number, data[row] + column * sizeof number, sizeof number);
    return number;
  }
  template <class Number>
  void put(std::size_t row, std::size_t column, Number number) {
    std::memcpy(data[row] + column * sizeof number, &number, sizeof number);
  }
};

struct Tiles {
  bool configured = false;
  Tile tiles[tileCount]{};
  ~Tiles() { require(!configured, "tiles are still configured at the end of a thread"); }
};
inline thread_local Tiles state;

inline Tile& tileOf(int number) {
  require(state.configured, "used without a configuration");
  Tile& tile = state.tiles[number];
  require(tile.rows > 0, "a tile is used that is not configured");
  return tile;
}

/** 64 bytes: palette, start row, 14 zeros, 16 row lengths of two bytes, 16 numbers of rows. */
inline void loadConfig(const void* memory) {
  std::uint8_t bytes[64];
  std::memcpy(bytes, memory, sizeof bytes);
  require(bytes[0] <= 1, "unknown palette");
  for (int i = 2; i < 16; i++) require(bytes[i] == 0, "reserved bytes of a configuration are not zero");
  for (auto& tile : state.tiles) tile = {};
  state.configured = bytes[0] == 1;
  if (!state.configured) return;
  for (int i = 0; i < 16; i++) {
    const std::size_t rowBytes = bytes[16 + 2 * i] | static_cast<std::size_t>(bytes[17 + 2 * i]) << 8;
    const std::size_t rows = bytes[48 + i];
    if (i >= tileCount) {
      require(rowBytes == 0 && rows == 0, "more than eight tiles");
      continue;
    }
    require(rows <= mostRows, "more than 16 rows");
    require(rowBytes <= mostRowBytes, "rows of more than 64 bytes");
    require((rows == 0) == (rowBytes == 0), "a tile of rows without bytes, or of bytes without rows");
    state.tiles[i].rows = rows;
    state.tiles[i].rowBytes = rowBytes;
  }
}

inline void release() {
  for (auto& tile : state.tiles) tile = {};
  state.configured = false;
}

inline void zero(int number) {
  Tile& tile = tileOf(number);
  std::memset(tile.data, 0, sizeof tile.data);
}

inline void load(int number, const void* base, std::ptrdiff_t stride) {
  Tile& tile = tileOf(number);
  std::memset(tile.data, 0, sizeof tile.data);
  const auto* from = static_cast<const std::uint8_t*>(base);
  for (std::size_t row = 0; row < tile.rows; row++) {
    std::memcpy(tile.data[row], from + static_cast<std::ptrdiff_t>(row) * stride, tile.rowBytes);
  }
}

inline void store(int number, void* base, std::ptrdiff_t stride) {
  const Tile& tile = tileOf(number);
  auto* to = static_cast<std::uint8_t*>(base);
  for (std::size_t row = 0; row < tile.rows; row++) {
    std::memcpy(to + static_cast<std::ptrdiff_t>(row) * stride, tile.data[row], tile.rowBytes);
  }
}

/** The operands of a product: sums [m][n] += a [m][k]·b [k][n], by groups of four bytes. */
struct Operands {
  Tile& sums;
  const Tile& a;
  const Tile& b;

  Operands(int sumsAt, int aAt, int bAt) : sums(tileOf(sumsAt)), a(tileOf(aAt)), b(tileOf(bAt)) {
    require(sumsAt != aAt && sumsAt != bAt && aAt != bAt, "a product of tiles that are not three");
    require(sums.rowBytes % 4 == 0 && a.rowBytes % 4 == 0 && b.rowBytes % 4 == 0, "rows of a product are no whole fours");
    require(sums.rows == a.rows, "sums and first factor have different rows");
    require(sums.rowBytes == b.rowBytes, "sums and second factor have different row lengths");
    require(a.rowBytes / 4 == b.rows, "the factors' depths differ");
  }
};

/** A denormal counts as zero, as a factor and as a sum. */
inline float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value; }
inline float floatOf(std::uint16_t bf16) {
  const std::uint32_t bits = static_cast<std::uint32_t>(bf16) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return flushed(value);
}

/** Products of even and of odd columns are summed apart, each fused and rounded to the nearest, then added to the sum. */
inline void addBf16(int sumsAt, int aAt, int bAt) {
  const Operands tiles(sumsAt, aAt, bAt);
  const int rounding = std::fegetround();
  std::fesetround(FE_TONEAREST);
  for (std::size_t m = 0; m < tiles.sums.rows; m++) {
    for (std::size_t n = 0; n < tiles.sums.rowBytes / 4; n++) {
      float halves[2]{};
      for (std::size_t k = 0; k < tiles.b.rows; k++) {
        for (std::size_t i = 0; i < 2; i++) {
          const float a = floatOf(tiles.a.at<std::uint16_t>(m, 2 * k + i));
          const float b = floatOf(tiles.b.at<std::uint16_t>(k, 2 * n + i));
          halves[i] = flushed(std::fma(a, b, halves[i]));
        }
      }
      const float both = flushed(halves[0] + halves[1]);
      tiles.sums.put(m, n, flushed(flushed(tiles.sums.at<float>(m, n)) + both));
    }
  }
  std::fesetround(rounding);
}

/** Sums of 32 bits that wrap around. */
template <class First, class Second>
inline void addBytes(int sumsAt, int aAt, int bAt) {
  const Operands tiles(sumsAt, aAt, bAt);
  for (std::size_t m = 0; m < tiles.sums.rows; m++) {
    for (std::size_t n = 0; n < tiles.sums.rowBytes / 4; n++) {
      auto sum = tiles.sums.at<std::uint32_t>(m, n);
      for (std::size_t k = 0; k < tiles.b.rows; k++) {
        for (std::size_t i = 0; i < 4; i++) {
          const int product = tiles.a.at<First>(m, 4 * k + i) * tiles.b.at<Second>(k, 4 * n + i);
          sum += static_cast<std::uint32_t>(product);
        }
      }
      tiles.sums.put(m, n, sum);
    }
  }
}

}  // namespace emulatedTiles

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbusd
#undef _tile_dpbssd
#define _tile_loadconfig(memory) emulatedTiles::loadConfig(memory)
#define _tile_release() emulatedTiles::release()
#define _tile_zero(tile) emulatedTiles::zero(tile)
#define _tile_loadd(tile, base, stride) emulatedTiles::load(tile, base, static_cast<std::ptrdiff_t>(stride))
#define _tile_stored(tile, base, stride) emulatedTiles::store(tile, base, static_cast<std::ptrdiff_t>(stride))
#define _tile_dpbf16ps(sums, a, b) emulatedTiles::addBf16(sums, a, b)
#define _tile_dpbusd(sums, a, b) (emulatedTiles::addBytes<std::uint8_t, std::int8_t>(sums, a, b))
#define _tile_dpbssd(sums, a, b) (emulatedTiles::addBytes<std::int8_t, std::int8_t>(sums, a, b))
