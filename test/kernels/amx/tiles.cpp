#include "emulated-tiles.hpp"

/**
 * The emulated tiles themselves: `tiles` checks results that are known, and exits with 1 if one is not as it must be;
 * `tiles N` does the N-th thing that a processor refuses, which must not return.
 */
namespace {

struct Configuration {
  std::uint8_t bytes[64]{1};

  Configuration& tile(int number, int rows, int rowBytes) {
    bytes[16 + 2 * number] = static_cast<std::uint8_t>(rowBytes & 255);
    bytes[17 + 2 * number] = static_cast<std::uint8_t>(rowBytes >> 8);
    bytes[48 + number] = static_cast<std::uint8_t>(rows);
    return *this;
  }
  Configuration& byte(int at, int value) {
    bytes[at] = static_cast<std::uint8_t>(value);
    return *this;
  }
  void load() const { _tile_loadconfig(bytes); }
};

bool same = true;
void expect(const char* what, double found, double expected) {
  if (found == expected) return;
  same = false;
  std::printf("%s: %a instead of %a\n", what, found, expected);
}

/** sum + Σ a·b of one row and one column. */
template <class Sum, class Number, class Multiply>
Sum product(Sum sum, const Number (&a)[4], const Number (&b)[4], const Multiply& multiply) {
  constexpr int bytes = 4 * sizeof(Number);
  Configuration().tile(0, 1, 4).tile(1, 1, bytes).tile(2, bytes / 4, 4).load();
  _tile_loadd(0, &sum, 4);
  _tile_loadd(1, a, 64);
  _tile_loadd(2, b, 4);
  multiply();
  _tile_stored(0, &sum, 4);
  _tile_release();
  return sum;
}
float bf16Product(float sum, const std::uint16_t (&a)[4], const std::uint16_t (&b)[4]) {
  return product(sum, a, b, [] { _tile_dpbf16ps(0, 1, 2); });
}

void results() {
  // 2^10 + 2^−14 is a tie, whose even neighbour is 2^10.
  constexpr std::uint16_t one = 0x3f80;
  expect("rounding", bf16Product(0, {0x4480, 0, 0, 0x3880}, {one, one, one, one}), 1024);
  expect("the sum last", bf16Product(1, {0x4b80, 0, 0xcb80, 0}, {one, one, one, one}), 1);
  expect("a denormal factor", bf16Product(0, {0x0040, 0, 0, 0}, {0x7f00, 0, 0, 0}), 0);
  expect("a denormal sum", bf16Product(1e-40f, {0, 0, 0, 0}, {0, 0, 0, 0}), 0);
  expect("a denormal product", bf16Product(0, {0x1000, 0, 0, 0}, {0x2b80, 0, 0, 0}), 0);

  constexpr std::uint8_t bytes[4] = {255, 128, 1, 0};
  constexpr std::uint8_t factors[4] = {128, 127, 2, 9};
  constexpr std::uint8_t second[4] = {0, 1, 0, 0};
  expect("unsigned times signed", product(5, bytes, factors, [] { _tile_dpbusd(0, 1, 2); }), 5 - 255 * 128 + 128 * 127 + 2);
  expect("signed times signed", product(5, bytes, factors, [] { _tile_dpbssd(0, 1, 2); }), 5 + 128 - 128 * 127 + 2);
  expect("no saturation", product(INT32_MAX, bytes, second, [] { _tile_dpbusd(0, 1, 2); }), INT32_MIN + 127.0);

  // Rows are read and written at the stride, and not beyond their length.
  Configuration().tile(3, 2, 3).load();
  const std::uint8_t from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::uint8_t to[8]{};
  _tile_loadd(3, from, 4);
  _tile_stored(3, to, 5);
  _tile_release();
  const std::uint8_t expected[8] = {1, 2, 3, 0, 0, 5, 6, 7};
  expect("a part of memory", std::memcmp(to, expected, sizeof to), 0);
}

void misuse(int number) {
  alignas(64) std::uint8_t memory[1024]{};
  const Configuration full = Configuration().tile(0, 16, 64).tile(1, 16, 64).tile(2, 16, 64);
  const auto multiply = [](Configuration& configuration) {
    configuration.load();
    _tile_dpbusd(0, 1, 2);
  };
  switch (number) {
    case 0: return _tile_zero(0);
    case 1: return Configuration().byte(0, 2).load();
    case 2: return Configuration().byte(7, 1).load();
    case 3: return Configuration().tile(0, 17, 64).load();
    case 4: return Configuration().tile(0, 16, 65).load();
    case 5: return Configuration().tile(0, 16, 256).load();
    case 6: return Configuration().tile(0, 16, 0).load();
    case 7: return Configuration().tile(0, 0, 64).load();
    case 8: return Configuration().tile(8, 16, 64).load();
    case 9: full.load(); return _tile_loadd(3, memory, 64);
    case 10: full.load(); return _tile_dpbusd(0, 1, 1);
    case 11: full.load(); return _tile_dpbf16ps(0, 0, 1);
    case 12: return multiply(Configuration().tile(0, 16, 64).tile(1, 16, 32).tile(2, 16, 64));
    case 13: return multiply(Configuration().tile(0, 16, 64).tile(1, 8, 64).tile(2, 16, 64));
    case 14: return multiply(Configuration().tile(0, 16, 32).tile(1, 16, 64).tile(2, 16, 64));
    case 15: return multiply(Configuration().tile(0, 16, 62).tile(1, 16, 64).tile(2, 16, 62));
    case 16: full.load(); _tile_release(); return _tile_stored(0, memory, 64);
    // The thread's end.
    case 17: return full.load();
    default: std::exit(9);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
    misuse(std::atoi(arguments[1]));
  } else {
    results();
  }
  return same ? 0 : 1;
}
