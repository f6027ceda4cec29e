#pragma once
#include <cstddef>

namespace hearth {

/**
 * The commands that JavaScript sends, one row each: name, operands. A command is an array of numbers: its code, which
 * is its place in this list, then its operands:
 *   matrix, cache: its number; vector: number, offset and length; vector?: the same, number −1 if there is none;
 *   number, count, flag: one number; tokens: how many, then each; pages: how many, then cache, first and count of each.
 * engine/kernels/native/commands.ts has the same list for TypeScript, and a test compares the two.
 */
#define HEARTH_COMMANDS(X)                                                                                        \
  X(Embed, "embed", "matrix vector tokens")                                                                       \
  X(RmsNorm, "rms-norm", "vector vector vector number count")                                                      \
  X(Multiply, "multiply", "matrix vector vector vector? flag count flag")                                         \
  X(Rope, "rope", "vector vector count count flag")                                                               \
  X(Store, "store", "cache vector vector count")                                                                  \
  X(Attention, "attention", "cache vector vector count count number count count vector?")                         \
  X(Gate, "gate", "vector vector vector count")                                                                   \
  X(Softmax, "softmax", "vector vector count")                                                                    \
  X(Add, "add", "vector vector number")                                                                           \
  X(AttendPages, "attend-pages", "pages vector vector vector vector count count number flag count count vector?") \
  X(DivideRows, "divide-rows", "vector vector")                                                                   \
  X(TopK, "top-k", "vector vector count")                                                                         \
  X(Scale, "scale", "vector number")                                                                              \
  X(SoftCap, "soft-cap", "vector number")                                                                         \
  X(Route, "route", "vector vector? vector? vector count count count flag number count count")                    \
  X(MultiplyExperts, "multiply-experts", "matrix count count vector count vector vector vector? count")           \
  X(CombineExperts, "combine-experts", "vector vector count vector flag")                                         \
  X(GateRows, "gate-rows", "vector vector")                                                                       \
  X(CopyColumns, "copy-columns", "vector count count vector count count count count")                             \
  X(Convolve, "convolve", "vector vector count vector? vector vector flag")                                       \
  X(DeltaRule, "delta-rule", "vector vector vector vector vector vector vector count count count flag number")    \
  X(SelectiveScan, "selective-scan", "vector vector vector vector vector vector vector count count count count")  \
  X(ScaleExperts, "scale-experts", "vector vector vector? vector")

#define HEARTH_CODE(code, ...) code,
enum class Code { HEARTH_COMMANDS(HEARTH_CODE) };
#undef HEARTH_CODE

struct Command {
  const char* name;
  const char* operands;
};

#define HEARTH_ROW(code, ...) {__VA_ARGS__},
inline constexpr Command commands[] = {HEARTH_COMMANDS(HEARTH_ROW)};
#undef HEARTH_ROW

inline constexpr std::size_t commandCount = sizeof commands / sizeof commands[0];

}  // namespace hearth
