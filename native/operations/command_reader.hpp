#pragma once
#include <span>

#include "commands.hpp"
#include "operands.hpp"
#include "program.hpp"

namespace hearth {

/**
 * Reads commands (commands.hpp) and appends their operations to a program. Every operand is checked against what the
 * engine owns, so that no command can touch memory beyond it.
 */
class CommandReader {
 public:
  CommandReader(const Operands& operands, std::span<const double> commands) : operands_(operands), left_(commands) {}
  [[nodiscard]] bool atEnd() const { return left_.empty(); }
  /** Reads the next command. Throws std::invalid_argument, before appending anything, if it is invalid. */
  void read(Program& program);

 private:
  double number();
  std::size_t count();
  std::span<float> slice();
  std::span<float> optionalSlice();
  const MatrixView& matrix();
  const CacheView& cache();
  /** Tokens of `routes`, [tokens][used][expert, weight]. */
  static std::size_t tokensOfRoutes(std::span<const float> routes, std::size_t used);
  Way readWay();
  std::ptrdiff_t readWindow();

  void readEmbed(Program& program);
  void readRmsNorm(Program& program);
  void readMultiply(Program& program);
  void readRope(Program& program);
  void readStore(Program& program);
  void readAttention(Program& program);
  void readAttendPages(Program& program);
  void readDivideRows(Program& program);
  void readGate(Program& program);
  void readSoftmax(Program& program);
  void readAdd(Program& program);
  void readTopK(Program& program);
  void readScale(Program& program);
  void readSoftCap(Program& program);
  void readRoute(Program& program);
  void readMultiplyExperts(Program& program);
  void readCombineExperts(Program& program);
  void readGateRows(Program& program);
  void readScaleExperts(Program& program);
  void readCopyColumns(Program& program);
  void readConvolve(Program& program);
  void readDeltaRule(Program& program);
  void readSelectiveScan(Program& program);

  const Operands& operands_;
  std::span<const double> left_;
};

}  // namespace hearth
