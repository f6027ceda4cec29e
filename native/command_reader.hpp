#pragma once
#include <span>

#include "engine.hpp"

namespace hearth {

/** The operations' numbers, as engine/kernels/native/codes.ts has them. */
enum class Code { Embed, RmsNorm, Multiply, Rope, Store, Attention, Swiglu, Softmax, Add, AttendPages, DivideRows };

/**
 * Reads commands: numbers one after another, each command its code and operands. A vector's operand is its number,
 * offset and length; a missing one has number −1. Everything is checked against what the engine owns, so that no
 * command can touch memory beyond it.
 */
class CommandReader {
 public:
  CommandReader(const Engine& engine, std::span<const double> commands) : engine_(engine), left_(commands) {}
  [[nodiscard]] bool atEnd() const { return left_.empty(); }
  void read(Program& program);

 private:
  double number();
  std::size_t count();
  std::span<float> slice();
  std::span<float> optionalSlice();
  const MatrixView& matrix();
  const CacheView& cache();

  void readEmbed(Program& program);
  void readRmsNorm(Program& program);
  void readMultiply(Program& program);
  void readRope(Program& program);
  void readStore(Program& program);
  void readAttention(Program& program);
  void readAttendPages(Program& program);
  void readDivideRows(Program& program);
  void readElementwise(Program& program, Code code);

  const Engine& engine_;
  std::span<const double> left_;
};

}  // namespace hearth
