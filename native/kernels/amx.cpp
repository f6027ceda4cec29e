#include "tables.hpp"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__AVX512BF16__) && \
    defined(__AVX512VNNI__)
#include "amx/bf16_tiles.hpp"
#include "amx/byte_tiles.hpp"
#include "words/attention.hpp"
#include "bf16/matmul.hpp"

namespace hearth {
namespace {

/** Products of tiles at full speed: the limit of quantized products (see shared/limits.hpp). */
template <bool Bytes>
double tileProducts(std::size_t rounds, float& result) {
  alignas(64) std::byte zeros[1024]{};
  storeFor(zeros);
  const TileSession session;
  _tile_loadd(4, zeros, 64);
  _tile_loadd(6, zeros, 64);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::size_t i = 0; i < rounds; i++) {
    if constexpr (Bytes) {
      _tile_dpbssd(0, 4, 6);
      _tile_dpbssd(1, 4, 6);
      _tile_dpbssd(2, 4, 6);
      _tile_dpbssd(3, 4, 6);
    } else {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 6);
      _tile_dpbf16ps(2, 4, 6);
      _tile_dpbf16ps(3, 4, 6);
    }
  }
  _tile_stored(0, zeros, 64);
  result += static_cast<float>(zeros[0]);
  return 2.0 * 4 * 16 * 16 * (Bytes ? 64 : 32) * static_cast<double>(rounds);
}

/** AVX-512, and tiles for rows times many tokens: of quantized weights in bfloat16 or in bytes. */
template <bool Bytes>
KernelTable makeAmxTable(const char* name) {
  KernelTable table = *avx512Table();
  table.name = name;
  // A multiple of the tiles of these products and of those of float matrices.
  table.tileRows = 48;
  setHalvesBf16<TileMultiplier>(table);
  setAttentionWords(table);
  if constexpr (Bytes) {
    setQuantizedByteTiles(table);
  } else {
    setQuantizedBf16<TileMultiplier>(table);
  }
  table.byteDots = tileProducts<Bytes>;
  return table;
}

}  // namespace

const KernelTable* amxTable() {
  static const KernelTable table = makeAmxTable<false>("amx");
  return &table;
}

const KernelTable* amxInt8Table() {
  static const KernelTable table = makeAmxTable<true>("amxint8");
  return &table;
}

}  // namespace hearth

#else

namespace hearth {
const KernelTable* amxTable() { return nullptr; }
const KernelTable* amxInt8Table() { return nullptr; }
}  // namespace hearth

#endif
