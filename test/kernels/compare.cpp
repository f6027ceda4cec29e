#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../../native/formats/half.hpp"
#include "../../native/kernels/tables.hpp"

/**
 * Every format's products, one token and many, by the kernels of table FOUND and by those of EXPECTED, with the same
 * ROUNDING and from the same random bytes. Prints what differs by more than the rounding of sums, or of quantized formats
 * with SAME_BITS at all; exits with 1 then.
 */
namespace hearth {
const KernelTable* EXPECTED();
const KernelTable* FOUND();
}  // namespace hearth

using namespace hearth;

namespace {

/** More than two tiles of rows and two packs of tokens of every instruction set, and a part of the next. */
constexpr std::size_t rowCount = 37;
constexpr std::size_t tokenCount = 35;

/** Three superblocks, or a number that is no multiple of what kernels take at once. */
constexpr std::size_t columnsOf(Type type) {
  if (isSuperblock(type)) return 768;
  return isFloat(type) ? 781 : 800;
}

#ifdef SAME_BITS
constexpr bool sameBits = true;
#else
constexpr bool sameBits = false;
#endif

/** Offsets at which blocks keep scale and minimum in half precision; the second is 0 where there is none. */
struct Scales {
  Type type;
  std::size_t scale;
  std::size_t minimum;
};
constexpr Scales layouts[] = {
    {Type::Q8_0, 0, 0},   {Type::Q4_0, 0, 0}, {Type::Q4_1, 0, 2}, {Type::Q5_0, 0, 0},   {Type::Q5_1, 0, 2},
    {Type::Q2_K, 80, 82}, {Type::Q3_K, 108, 0}, {Type::Q4_K, 0, 2}, {Type::Q5_K, 0, 2}, {Type::Q6_K, 208, 0},
    {Type::IQ4_NL, 0, 0}, {Type::IQ4_XS, 0, 0}, {Type::MXFP4, 0, 0},
    {Type::TQ1_0, 52, 0}, {Type::TQ2_0, 64, 0}, {Type::IQ2_XXS, 0, 0}, {Type::IQ2_XS, 0, 0}, {Type::IQ2_S, 0, 0},
    {Type::IQ3_XXS, 0, 0}, {Type::IQ3_S, 0, 0}, {Type::IQ1_S, 0, 0}, {Type::IQ1_M, 0, 0},
    {Type::F32, 0, 0}, {Type::F16, 0, 0}, {Type::BF16, 0, 0}};
static_assert(sizeof layouts / sizeof layouts[0] == typeCount);

struct AlignedBytes {
  explicit AlignedBytes(std::size_t bytes)
      : data(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))) {}
  ~AlignedBytes() { std::free(data); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  std::byte* data;
};

float randomValue() { return static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX) - 0.5f; }

std::vector<std::uint8_t> randomRows(const Scales& layout) {
  const Format format = formatOf(layout.type);
  std::vector<std::uint8_t> bytes(rowCount * rowBytes(layout.type, columnsOf(layout.type)));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(std::rand());
  if (isFloat(layout.type)) {
    for (std::size_t at = 0; at < bytes.size(); at += format.bytes) {
      const float value = randomValue();
      const std::uint32_t bits = layout.type == Type::F16    ? floatToHalf(value)
                                 : layout.type == Type::BF16 ? floatToBits(value) >> 16
                                                             : floatToBits(value);
      std::memcpy(bytes.data() + at, &bits, format.bytes);
    }
    return bytes;
  }
  const std::uint16_t scale = floatToHalf(0.01f);
  for (std::size_t block = 0; block < bytes.size(); block += format.bytes) {
    // The scale of MXFP4 is a power of two in one byte, that of IQ1_M four bits in each of four numbers.
    if (layout.type == Type::MXFP4) {
      bytes[block] = 121;
    } else if (layout.type == Type::IQ1_M) {
      for (std::size_t part = 0; part < 4; part++) {
        std::uint8_t& byte = bytes[block + 49 + 2 * part];
        byte = static_cast<std::uint8_t>((byte & 15) | (scale >> (4 * part) & 15) << 4);
      }
    } else {
      std::memcpy(bytes.data() + block + layout.scale, &scale, 2);
    }
    if (layout.minimum > 0) std::memcpy(bytes.data() + block + layout.minimum, &scale, 2);
  }
  return bytes;
}

/** [token][row], tokens one by one or all at once. */
std::vector<float> products(const KernelTable& table, Type type, const Rows& rows, const std::vector<float>& x,
                            bool atOnce) {
  constexpr auto wanted = hearth::Rounding::ROUNDING;
  const std::size_t columns = rows.columns;
  std::vector<float> y(tokenCount * rowCount);
  if (atOnce) {
    const ManyTokens& many = manyTokensOf(table, type, roundingOfMany(table, type, wanted));
    const std::size_t packs = (tokenCount + table.tokenLanes - 1) / table.tokenLanes;
    const AlignedBytes packed(packs * many.packBytes(columns));
    for (std::size_t pack = 0; pack < packs; pack++) {
      const std::size_t begin = pack * table.tokenLanes;
      const std::size_t count = tokenCount - begin < table.tokenLanes ? tokenCount - begin : table.tokenLanes;
      many.pack(x.data() + begin * columns, count, columns, packed.data + pack * many.packBytes(columns));
    }
    const AlignedBytes scratch(many.scratchBytes(rowCount, columns, tokenCount));
    many.multiply({rows, packed.data, tokenCount, y.data(), rowCount, scratch.data});
    return y;
  }
  const auto rounding = roundingOfFew(table, type, wanted);
  const AlignedBytes activations(table.activationBytes(type, columns));
  for (std::size_t t = 0; t < tokenCount; t++) {
    table.activate(type, rounding, x.data() + t * columns, columns, activations.data);
    fewTokensOf(table, type, rounding).matvec(rows, activations.data, y.data() + t * rowCount);
  }
  return y;
}

}  // namespace

int main() {
  bool same = true;
  for (const Scales& layout : layouts) {
    const std::vector<std::uint8_t> bytes = randomRows(layout);
    const Rows rows{bytes.data(), rowCount, columnsOf(layout.type)};
    std::vector<float> x(tokenCount * rows.columns);
    for (auto& value : x) value = randomValue();
    for (const bool atOnce : {false, true}) {
      const std::vector<float> expected = products(*EXPECTED(), layout.type, rows, x, atOnce);
      const std::vector<float> found = products(*FOUND(), layout.type, rows, x, atOnce);
      double size = 0;
      double error = 0;
      for (std::size_t i = 0; i < found.size(); i++) {
        size += double{expected[i]} * double{expected[i]};
        error += (double{found[i]} - double{expected[i]}) * (double{found[i]} - double{expected[i]});
      }
      // Both round activations alike, and so differ by the order of their sums alone.
      if (!(error <= (sameBits && !isFloat(layout.type) ? 0 : 1e-11 * size))) {
        same = false;
        std::printf("format %d, %s: NMSE %g\n", static_cast<int>(layout.type), atOnce ? "at once" : "one by one",
                    error / size);
      }
    }
  }
  return same ? 0 : 1;
}
